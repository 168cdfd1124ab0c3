package kernel

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/parts"
)

// Run enqueues the launches, and does not wait for them. It waits for leases on their buffers until ctx ends. If it fails before a launch
// is enqueued, no element changes.
func (s *Step) Run(ctx context.Context) (err error) {
	const op = "run"
	var l *launches
	if s != nil {
		l = s.state.Load()
	}
	if l == nil {
		return hal.Errorf(op, hal.ErrClosed, "the step is closed")
	}
	if ctx == nil {
		return layer.Ended(op, ctx)
	}
	switch {
	case s.ranks != nil:
		return s.among(ctx, l)
	case l.plain:
		return l.each(ctx, s.on, 0)
	case s.split != nil:
		return s.across(ctx, l)
	}
	if err := layer.Err(s.stream); err != nil {
		return err
	}
	all := pooled.Get().(*launch)
	defer all.give()
	all.failed = s.failed
	p := &all.parts[0]
	p.stream, p.step = s.stream, l
	if err = all.run(ctx, nil); len(l.wants) > 0 && p.leases == (buffer.Leases{}) && errors.Is(err, hal.ErrOutOfMemory) {
		return l.each(ctx, s.on, 0) // there may be room for the buffers of each
	}
	return err
}

// each makes the launches from one on, one after the other.
func (l *launches) each(ctx context.Context, on Target, from int) error {
	for i := from; i < len(l.list); i++ {
		one := &l.list[i]
		if err := one.k.Launch(ctx, on, one.grid, one.args...); err != nil {
			return err
		}
	}
	return nil
}

// across runs the step on its split.
func (s *Step) across(ctx context.Context, l *launches) error {
	p, err := l.planned(ctx, s.split)
	if err != nil {
		return err
	}
	from := 0
	if !p.plain && !l.due(s.split, p) {
		if from, err = p.run(ctx, s.failed, l, 0, len(l.list)); !errors.Is(err, errNoRoom) {
			if err != nil {
				_, _ = s.split.present() // as in Split.launch
			}
			return err
		}
	}
	return l.each(ctx, s.on, from) // there may be room for the buffers of each
}

// among runs this rank's share of the step.
func (s *Step) among(ctx context.Context, l *launches) (err error) {
	if err := s.ranks.Enter(ctx); err != nil {
		return err
	}
	defer func() { // also if an observer of buffers panics
		if err != nil && s.split != nil {
			_, _ = s.split.present() // as in Split.launch
		}
		s.ranks.Leave(err)
	}()
	for i := range l.wants {
		if err := l.wants[i].Err(); err != nil {
			return l.unleased(err)
		}
	}
	t, err := l.team(s.split)
	if err != nil {
		return err
	}
	single := l.plain || checking.Load()
	p := (*plan)(nil)
	if !single {
		if p, err = l.planned(ctx, s.split); err != nil {
			return err
		}
		single = p.plain || s.split != nil && l.due(s.split, p)
	}
	for _, x := range l.exchanges {
		from := x.First
		if err := x.Make(ctx); err != nil {
			return err
		}
		if !single {
			if from, err = p.run(ctx, s.failed, l, from, x.End); err == nil {
				continue
			} else if !errors.Is(err, errNoRoom) {
				return err
			}
		}
		for ; from < x.End; from++ {
			if err := l.list[from].runShare(ctx, s, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// runShare runs this rank's part of a launch.
func (one *recorded) runShare(ctx context.Context, s *Step, t *team) error {
	d := pooled.Get().(*launch)
	defer d.give()
	d.failed = s.failed
	if err := d.read(ctx, t, one.k, one.grid, one.args); err != nil {
		return err
	}
	return d.runShare(ctx, s.split, t, one.k, one.share, one.args)
}

// due reports whether the next run is to be made launch by launch, because one of them is to be timed.
func (l *launches) due(s *Split, p *plan) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.runs++; p.timed > 0 && p.runs >= untimed && s.due(p.team, p.timed) {
		p.runs = 0
		return true
	}
	s.mu.Lock()
	s.count += p.timed
	s.mu.Unlock()
	return false
}

// errNoRoom is the error of a run that a device has no room for, before the launches of a segment were enqueued.
var errNoRoom = errors.New("no room")

// run runs the segments that begin with the launches from one up to another. next is the first launch that was not enqueued if the error is
// errNoRoom.
func (p *plan) run(ctx context.Context, failed func(error), l *launches, from, to int) (next int, err error) {
	outside := func(s segment) bool { return s.first < from || s.first >= to }
	if !slices.ContainsFunc(p.segments, func(s segment) bool { return !outside(s) }) {
		return to, nil
	}
	var cover buffer.Leases
	if len(l.wants) > 0 {
		if cover, err = parts.Cover(ctx, l.wants); err != nil {
			return 0, l.unleased(err)
		}
		defer func() { err = cmp.Or(err, cover.Release()) }()
	}
	for i := range p.segments {
		if outside(p.segments[i]) {
			continue
		}
		if err := p.segments[i].run(ctx, p.team, cover, failed); err != nil {
			return p.segments[i].first, err
		}
	}
	return 0, nil
}

// run runs a segment of a step whose buffers cover covers.
func (s *segment) run(ctx context.Context, t *team, cover buffer.Leases, failed func(error)) error {
	all := pooled.Get().(*launch)
	defer all.give()
	all.failed, all.team, all.cover = failed, t.streams, cover
	all.parts = resized(all.parts, len(s.parts))
	for i, own := range s.parts {
		p := &all.parts[i]
		p.stream, p.step = own.stream, own
		for j, of := range own.under {
			p.wants = append(p.wants, parts.Under(cover, of, own.wants[j]))
		}
	}
	err := all.run(ctx, nil)
	if errors.Is(err, hal.ErrOutOfMemory) && !slices.ContainsFunc(all.parts, func(p part) bool { return p.enqueued > 0 || p.err != nil }) {
		return errNoRoom
	}
	return err
}
