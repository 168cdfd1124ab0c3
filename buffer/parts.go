package buffer

import (
	"slices"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/layer/slot"
)

// These are the functions that package internal/parts calls; they are documented there.
func init() {
	slot.OfBuffer = slot.Buffer[Want, Leases, *Buffer[byte], coherence.Mode, hal.Region]{
		Cover: cover, Of: Leases.part, Sub: Want.sub, Under: Leases.under, InTurn: inTurn, Key: Leases.key, Mark: Leases.mark,
		Copied: Leases.copied, Watched: Want.watched}
}

// part is parts.Of.
func (l Leases) part(i, lo, hi int, mode coherence.Mode) Want {
	return l.beneath(i, func(all *Want) Want { return all.cut(&all.part, lo, hi, mode) })
}

// under is parts.Under.
func (l Leases) under(i int, w Want) Want { return l.beneath(i, func(*Want) Want { return w }) }

// beneath returns a want as a part of the i-th one.
func (l Leases) beneath(i int, want func(all *Want) Want) (w Want) {
	live := false
	l.live(func() {
		live = true
		all := &l.g.wants[i]
		w = want(all)
		w.under = l.g.list[all.in].x
	})
	if !live {
		return NoWant(hal.Errorf("acquire", hal.ErrClosed, "the leases were released before"))
	}
	return w
}

// copied is parts.Copied.
func (l Leases) copied() (any bool) {
	l.live(func() { any = slices.ContainsFunc(l.g.list, func(m member) bool { return m.x.copied }) })
	return any
}

// key is parts.Key.
func (l Leases) key() uint64 {
	g := l.g
	if g == nil {
		return 0
	}
	g.of.Key = g.list[0].s.id
	for i := range g.list {
		if g.list[i].q.Writes() {
			g.of.Key = g.list[i].s.id
			break
		}
	}
	g.of.First = layer.Position(g.stream)
	return g.of.Key
}

// watched is parts.Watched.
func (w Want) watched(attach func(all *Buffer[byte], elem uint64) slot.Watcher) (by slot.Watcher, lo, hi, elem uint64) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	elem = uint64(w.elem)
	if w.s.watcher == nil {
		w.s.watcher = attach(&Buffer[byte]{s: w.s, hi: w.s.size, slice: true}, elem) // without an owner, so that it keeps nothing alive
	}
	return w.s.watcher, w.part.Lo, w.part.Hi, elem
}

// inTurn is parts.InTurn.
func inTurn(launches [][]Want) (all []Want, which []int, place []hal.Region) {
	var sets [][]part // the parts of each buffer, in the order of the launches; of one launch, those that it reads come first
	index := map[*storage]int{}
	for _, wants := range launches {
		first := len(which)
		for i := range wants {
			w := &wants[i]
			at, found := index[w.s]
			if !found {
				at = len(all)
				index[w.s] = at
				all, sets = append(all, *w), append(sets, nil)
				of := *w.region()
				all[at].of = &of
			}
			of, r := all[at].of, w.region()
			of.Lo, of.Hi = min(of.Lo, r.Lo), max(of.Hi, r.Hi)
			which = append(which, at)
		}
		for _, reads := range [...]bool{true, false} {
			for i := range wants {
				if p, at := wants[i].part, which[first+i]; p.Reads() == reads {
					sets[at] = append(sets[at], p)
				}
			}
		}
	}
	for i := range all {
		w := &all[i]
		switch w.parts = following(sets[i]); len(w.parts) {
		case 0: // all wants are empty
		case 1:
			w.part, w.parts = w.parts[0], nil
		default:
			w.part = hull(w.parts)
		}
	}
	for _, wants := range launches {
		for i := range wants {
			p := wants[i].region()
			place = append(place, hal.Region{Off: p.Lo - all[which[len(place)]].of.Lo, Len: p.Hi - p.Lo})
		}
	}
	return all, which, place
}

// mark is parts.Mark.
func (l Leases) mark() {
	l.live(func() { l.g.marks = append(l.g.marks, order.NewWork(l.g.stream)) })
}
