package kernel

import (
	"context"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/parts"
)

// The path of a launch. A call that is indented is made by the one above it; calls stand in their order.
//
//	Saxpy                   a generated launcher: asks its queue for context and grid (Queue.Launching), and gives it the error (Queue.Launched)
//	Kernel.Launch           calls one of four functions, depending on what the launch is made on:
//	  Kernel.launch           a stream: one part has all threads
//	  Split.launch            several devices: a part for each, or Kernel.launch on the first one
//	    Split.able              leaves out the devices that cannot run the kernel (split.go)
//	    launch.divide           cuts the grid, as the kernel's footprint allows (divide.go)
//	  Kernel.launchAmong      ranks: launch.share finds this rank's part (ranks.go), and Ranks.Exchange brings what it reads (comm/part)
//	  Step.launch             a recorded step: only records the launch (the head of step.go goes on from there)
//
// The first three get the compiled kernel of each device by Kernel.within (variant.go, device.go), and put the parts into a launch, which
// comes from a pool (state.go). Then they call run, in which all launches are alike:
//
//	launch.run              (run.go)
//	  launch.await            waits for devices that cannot wait for each other (split.go)
//	  parts.Cover             if the launch is divided: keeps other accesses away from its buffers
//	  part.reserve            for each part: takes its leases, which enqueues copies of what is stale, and makes the kernel's arguments
//	  layer.Launch            for each part but the first: checks the arguments, and launches nothing
//	  part.enqueue            for each part: launches its kernel, or those of a recorded step (recorded.go), or with checks (check.go)
//	  part.end                for each part: waits for what a kernel that checks itself reports, and ends the leases
//
// On a Split some launches are timed: trial.before and trial.after record events around part.enqueue, and Split.due reads the times when a
// later launch begins (trial.go).
//
// Before anything is enqueued, an error changes nothing. After that the elements that a failed part should have written are lost.

// Launch runs the kernel once for each thread of the grid, and does not wait for it. On a stream, it first takes leases on all buffers among
// the arguments, and waits for them until ctx ends. Then it enqueues the copies that make them current on the stream's device. The program
// is compiled if this is its first launch there.
//
// Launch checks number, kinds and sizes of the arguments as [hal.Stream.Launch] does, and refuses InOut and Out for a parameter that is
// declared const. A launch that is refused, for whatever reason, changes no element. If the grid is empty nothing is launched.
//
// On a [Split] the launch is divided among devices, and on a [Step] it is recorded.
func (k *Kernel) Launch(ctx context.Context, on Target, grid hal.Grid, args ...Arg) error {
	var failed func(error)
	if q, ok := on.(*parts.OnQueue); ok {
		on, failed = q.Target, q.Failed
	}
	switch on := on.(type) {
	case *hal.Stream:
		return k.launch(ctx, on, nil, failed, grid, args)
	case *Split:
		return on.launch(ctx, k, failed, grid, args)
	case *Step:
		return on.launch(ctx, k, nil, grid, args)
	case *parts.Ranks:
		if s, ok := on.Target.(*Step); ok {
			return s.launch(ctx, k, on, grid, args)
		}
		return k.launchAmong(ctx, on, grid, args)
	case nil:
		return k.launch(ctx, nil, nil, nil, grid, args)
	}
	return hal.Errorf("launch", hal.ErrInvalidArgument, "a launch is made on a stream, a Split, a Step or a queue, not on a %T", on)
}

// launch launches the kernel on a stream, which may be one of a team.
func (k *Kernel) launch(ctx context.Context, stream *hal.Stream, team []*hal.Stream, failed func(error), grid hal.Grid, args []Arg) error {
	if stream == nil {
		return hal.Errorf("launch", hal.ErrInvalidArgument, "nil stream")
	}
	if err := layer.Err(stream); err != nil {
		return err
	}
	on, err := k.within(ctx, stream.Device(), grid, args)
	if err != nil {
		return err
	}
	l := pooled.Get().(*launch)
	defer l.give()
	l.failed, l.team = failed, team
	p := &l.parts[0]
	p.stream, p.on, p.grid = stream, on, grid
	if p.wants, err = on.wants(p.wants, args); err != nil {
		return err
	}
	return l.run(ctx, args)
}

// launch launches a kernel on the devices of the split.
func (s *Split) launch(ctx context.Context, k *Kernel, failed func(error), grid hal.Grid, args []Arg) error {
	t, err := s.present()
	if err != nil {
		return err
	}
	l := pooled.Get().(*launch)
	defer l.give()
	l.failed, l.timed = failed, s.due(t, 1)
	if able := s.able(ctx, t, k); able != t {
		t, l.timed = able, false // measurements are of all devices
	}
	divided, err := l.divide(ctx, t, k, grid, args)
	if divided && checking.Load() {
		err = l.rehearse(ctx, k, args)
	}
	switch {
	case err != nil:
	case divided && !checking.Load():
		return s.run(ctx, t, l, args)
	default:
		err = k.launch(ctx, t.streams[0], t.streams, failed, grid, args)
	}
	if err != nil {
		_, _ = s.present() // leaves out a lost device from now on; err reports the loss already
	}
	return err
}

// run runs a launch whose parts are on devices of the split.
func (s *Split) run(ctx context.Context, t *team, l *launch, args []Arg) error {
	l.trial, l.team = s.begin(t, l.timed), t.streams
	err := l.run(ctx, args)
	s.timed(l.trial)
	if err != nil {
		_, _ = s.present()
	}
	return err
}

// launchAmong runs this rank's part of a launch.
func (k *Kernel) launchAmong(ctx context.Context, r *parts.Ranks, grid hal.Grid, args []Arg) (err error) {
	if k == nil || k.p == nil || layer.Empty(grid) {
		return k.Launch(ctx, r.OnQueue, grid, args...)
	}
	if err := k.divisible(r, args); err != nil {
		return err
	}
	if err := r.Enter(ctx); err != nil {
		return err
	}
	l := pooled.Get().(*launch)
	defer l.give()
	defer func() { r.Leave(err) }() // also if an observer of buffers panics
	l.failed = r.Failed
	t := &l.one
	stream, _ := r.Target.(*hal.Stream)
	t.streams, t.shares = append(t.streams[:0], stream), append(t.shares[:0], 1)
	split, divided := r.Target.(*Split)
	if divided {
		if t, err = split.present(); err != nil {
			return err
		}
		t = split.able(ctx, t, k)
	}
	at, err := l.share(ctx, t, k, r, inBlocks(grid, k.p.src.Kernels[k.name].Footprint.Cut, r.Size), args)
	if err != nil {
		return err
	}
	if err := r.Exchange(ctx, l.signature(k.name, at.dim), l.uses); err != nil {
		return err
	}
	return l.runShare(ctx, split, t, k, at, args)
}

// runShare runs this rank's part of a launch that was read.
func (d *launch) runShare(ctx context.Context, s *Split, t *team, k *Kernel, at share, args []Arg) error {
	if at.lo == at.hi {
		return nil
	}
	d.timed = s != nil && t == s.now() && s.due(t, 1) // measurements are of all devices
	d.cutShare(t, k, at, args)
	if s != nil {
		return s.run(ctx, t, d, args)
	}
	return d.run(ctx, args)
}
