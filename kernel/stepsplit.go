package kernel

import (
	"context"
	"math"
	"slices"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/parts"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// This file divides the launches of a step among the devices of a Split, or this rank's shares of them among the rank's devices; Step.Run
// runs them (steprun.go). Record divides them, once. Among ranks a segment ends at each exchange. Where a device uses what another one has
// written, or writes what another one has used, a segment ends. So within a segment no device waits for another, and each has launches of
// its own, which it runs as a step on one device. Between segments the elements move that are stale.

const (
	mostInSegment = 128 // launches: each is compared with those of the other devices
	untimed       = 8   // the least number of runs between two that are made launch by launch, to time a launch
)

// planned returns how the step runs on the split now. It is made again when the devices or their shares have changed.
func (l *launches) planned(ctx context.Context, s *Split) (*plan, error) {
	t, err := l.team(s)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	p := l.plan
	l.mu.Unlock()
	if p != nil && p.team == t {
		return p, nil
	}
	p = &plan{team: t}
	for i := range l.list {
		if err := p.add(ctx, s, l, i); err != nil {
			return nil, err
		}
	}
	for i := range p.segments {
		p.segments[i].complete(l)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.plan
	l.plan = p
	if l.closed {
		old = p
	}
	return p, old.close()
}

// team returns the devices of the step.
func (l *launches) team(s *Split) (*team, error) {
	if l.alone != nil {
		return l.alone, nil
	}
	return s.present()
}

// exchanged finds the exchanges of a step among ranks.
func (l *launches) exchanged(s *Step) (err error) {
	if s.split == nil {
		l.alone = &team{streams: []*hal.Stream{s.stream}, shares: []float64{1}}
	}
	list := make([]parts.Launch, len(l.list))
	for i := range l.list {
		one := &l.list[i]
		list[i] = parts.Launch{What: one.among.signature(one.k.name, one.share.dim), Uses: one.among.uses}
	}
	l.exchanges, err = s.ranks.Record(list)
	for n, x := range l.exchanges {
		for i := x.First; i < x.End; i++ {
			l.list[i].among, l.list[i].exchange = nil, n
		}
	}
	return err
}

// add divides the i-th launch.
func (p *plan) add(ctx context.Context, s *Split, l *launches, i int) error {
	one, divided, err := &l.list[i], true, error(nil)
	t := s.able(ctx, p.team, one.k)
	d := pooled.Get().(*launch)
	defer d.give()
	if len(l.exchanges) == 0 {
		divided, err = d.divide(ctx, t, one.k, one.grid, one.args)
	} else if err = d.read(ctx, t, one.k, one.grid, one.args); err == nil {
		d.cutShare(t, one.k, one.share, one.args)
	}
	if err != nil || divided && len(d.parts) == 0 {
		return err
	}
	if divided && t == p.team && s != nil {
		p.timed++
	}
	if !divided {
		d.parts = d.parts[:1]
		at := &d.parts[0]
		at.stream, at.grid, at.touch = t.streams[0], one.grid, resized(at.touch, len(one.wants))
		for n, i := range buffersOf(one.args) {
			all := buffer.Range{Hi: math.MaxInt}
			at.touch[n] = gridgen.Touch{Read: all, Write: all, Whole: one.args[i].mode == coherence.Overwrite}
		}
		if at.on, err = one.k.within(ctx, at.stream.Device(), one.grid, one.args); err != nil {
			return err
		}
	}
	mine := make([]recorded, len(d.parts))
	for j := range d.parts {
		at, k, more := &d.parts[j], one.k, []hal.Arg(nil)
		if divided {
			k, more = one.k.parts(), []hal.Arg{layer.Keep(hal.Struct(&at.origin))}
		}
		mine[j] = recorded{k: k, on: at.on, now: at.on, grid: at.grid, whole: one.grid, args: one.args, wants: one.wants, uses: at.uses(one)}
		if err := mine[j].check(at.stream, more...); err != nil {
			return err
		}
		p.plain = p.plain || at.on.sites != nil || at.on.prints != nil
	}
	last := len(p.segments) - 1
	if last < 0 || i-p.segments[last].first >= mostInSegment || l.list[p.segments[last].first].exchange != one.exchange ||
		p.segments[last].crosses(d.parts, mine) {
		p.segments = append(p.segments, segment{first: i})
		last++
	}
	seg := &p.segments[last]
	for j := range d.parts {
		stream := d.parts[j].stream
		at := slices.IndexFunc(seg.parts, func(l *launches) bool { return l.stream == stream })
		if at < 0 {
			at = len(seg.parts)
			seg.parts = append(seg.parts, &launches{stream: stream})
		}
		own := seg.parts[at]
		own.list, own.of = append(own.list, mine[j]), append(own.of, i)
	}
	return nil
}

// uses returns what a part of a launch uses, in the order of its arguments, with one at least of each.
func (p *part) uses(one *recorded) (list []use) {
	for n, i := range buffersOf(one.args) {
		eachSpan(&p.touch[n], one.args[i].mode, func(lo, hi int, mode coherence.Mode) {
			list = append(list, use{n, parts.Sub(one.wants[n], lo, hi, mode), mode != coherence.Read})
		})
	}
	return list
}

// crosses reports whether a part of a launch uses what another device writes in the segment, or writes what another one uses.
func (s *segment) crosses(list []part, mine []recorded) bool {
	for _, l := range s.parts {
		for j := range list {
			for i := 0; i < len(l.list) && list[j].stream != l.stream; i++ {
				for _, a := range l.list[i].uses {
					if slices.ContainsFunc(mine[j].uses, func(b use) bool { return (a.writes || b.writes) && a.want.Overlap(b.want) > 0 }) {
						return true
					}
				}
			}
		}
	}
	return false
}

// complete makes one want for each buffer of each part. The segment is one of the step l.
func (s *segment) complete(l *launches) {
	for _, p := range s.parts {
		var all [][]buffer.Want
		for i := range p.list {
			all = append(all, nil)
			for _, u := range p.list[i].uses {
				all[i] = append(all[i], u.want)
			}
		}
		wants, which, place := parts.InTurn(all)
		p.wants, p.under = wants, make([]int, len(wants))
		at := 0
		for i := range p.list {
			one := &p.list[i]
			for _, u := range one.uses {
				if u.arg == len(one.which) { // the first of the argument
					one.which, one.place = append(one.which, which[at]), append(one.place, place[at])
					p.under[which[at]] = l.list[p.of[i]].which[u.arg]
				}
				at++
			}
			one.uses = nil
		}
	}
}
