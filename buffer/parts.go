package buffer

import (
	"context"
	"slices"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/layer/slot"
	"github.com/go-halyard/halyard/internal/protocol"
)

// These are the functions that package internal/parts calls; they are documented there.
func init() {
	slot.OfBuffer = slot.Buffer[Want, Leases, *Buffer[byte], coherence.Mode, hal.Region]{
		Cover: cover, Of: Leases.part, Sub: Want.sub, Under: Leases.under, InTurn: inTurn, Key: Leases.key, Mark: Leases.mark,
		Copied: Leases.copied, Watched: Want.watched}
}

// cover admits accesses as acquireAll does, and ends there: they are of the host, at no place, and never committed.
func cover(ctx context.Context, wants []Want) (Leases, error) {
	op, err := checkWants("cover", wants)
	if err != nil {
		return Leases{}, err
	}
	g := groups.Get().(*group)
	g.op, g.stream, g.reserved = op, nil, true
	g.wants = append(g.wants[:0], wants...)
	g.arrange()
	ready := false
	defer func() {
		if !ready { // also if an observer panics
			g.abandon(nil)
			g.discard()
		}
	}()
	for i := range g.list {
		if err := g.list[i].cover(ctx); err != nil {
			return Leases{}, err
		}
	}
	ready = true
	return Leases{g, g.gen.Load()}, nil
}

func (m *member) cover(ctx context.Context) (err error) {
	m.s.mu.Lock()
	defer m.s.unlock()
	if m.x, err = m.s.admit(ctx, &m.q); err == nil {
		m.x.replica, m.x.place, m.x.grouped = nil, protocol.NoPlace, true
	}
	return err
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

// sub is parts.Sub.
func (w Want) sub(lo, hi int, mode coherence.Mode) Want {
	all := w.part
	return w.cut(&all, lo, hi, mode)
}

// cut returns the want for the elements from lo to hi of all.
func (w Want) cut(all *part, lo, hi int, mode coherence.Mode) Want {
	n := int((all.Hi - all.Lo) / uint64(max(w.elem, 1)))
	lo, hi = min(max(lo, 0), n), min(max(hi, 0), n)
	w.part = part{Lo: all.Lo + uint64(lo)*uint64(w.elem), Hi: all.Lo + uint64(max(lo, hi))*uint64(w.elem), Mode: protocol.Action(mode)}
	w.of = all
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
	var sets [][]part // of each buffer, in the order of launches, and of each launch first those that it reads
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

// region returns the elements that Leases.Regions has for the want.
func (w *Want) region() *part {
	if w.of != nil {
		return w.of
	}
	return &w.part
}

// following cuts accesses that come one after the other into parts that do not overlap. A byte is read if the first access reads it. There
// may be many thousands of accesses.
func following(list []part) (parts []part) {
	var cuts []uint64
	for _, p := range list {
		cuts = append(cuts, p.Lo, p.Hi)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	pieces := make([]struct { // between two cuts
		mode    protocol.Action // of the first access
		used    bool
		free    int    // if used: all pieces from this one up to piece free are used
		written uint64 // the end of the longest write that begins here
	}, len(cuts))
	free := func(i int) int { // the first piece from i on that no access has had
		for ; pieces[i].used; i = pieces[i].free {
			if next := &pieces[pieces[i].free]; next.used {
				pieces[i].free = next.free
			}
		}
		return i
	}
	for _, q := range list {
		lo, _ := slices.BinarySearch(cuts, q.Lo)
		hi, _ := slices.BinarySearch(cuts, q.Hi)
		if q.Writes() {
			pieces[lo].written = max(pieces[lo].written, q.Hi)
		}
		for i := free(lo); i < hi; i = free(i) {
			pieces[i].mode, pieces[i].used, pieces[i].free = q.Mode, true, i+1
		}
	}
	written := uint64(0)
	for i, p := range pieces {
		written = max(written, p.written)
		if p.mode == protocol.Read && written > cuts[i] {
			p.mode = protocol.ReadWrite
		}
		if p.used {
			parts = appendPart(parts, part{Lo: cuts[i], Hi: cuts[i+1], Mode: p.mode})
		}
	}
	return parts
}

// mark is parts.Mark.
func (l Leases) mark() {
	l.live(func() { l.g.marks = append(l.g.marks, order.NewWork(l.g.stream)) })
}
