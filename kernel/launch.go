package kernel

import (
	"cmp"
	"context"
	"sync"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/parts"
)

// A launch goes through these calls, in this order. What it is made on decides which parts it has; from run on all launches are alike.
//
//	Kernel.Launch         on a stream: Kernel.launch. On a Split: Split.launch. On a Step: Step.launch, which records it; on a Split it is
//	                      divided then (stepsplit.go). Among ranks: Kernel.launchAmong
//	  Kernel.within       finds the kernel that was compiled for a device and fits the arguments (device.go, variant.go)
//	  launch.divide       makes a part for each device, from the kernel's footprint (divide.go), and
//	  launch.share        finds this rank's part (ranks.go); on a stream one part has all threads
//	  launch.run          for all parts:
//	    launch.await        waits for devices that cannot wait for each other (split.go)
//	    parts.Cover         keeps other accesses away from the buffers of a launch that is divided
//	    part.reserve        takes the leases of the part, and makes the kernel's arguments
//	    part.enqueue        launches its kernel, or those of a recorded step (step.go), or with checks before and after (check.go)
//	    part.end            waits for what a kernel that checks itself reports, and ends the leases
//
// Before anything is enqueued, an error changes nothing. After that the elements that a failed part should have written are lost.

// Target is what a launch is made on: a [*hal.Stream], a [*Split], the [*Step] of a function of [Record], or what [Queue.On] returns.
type Target interface{ Device() *hal.Device }

// launch is one launch. It is used again for later ones.
type launch struct {
	parts  []part
	failed func(error)   // parts.OnQueue.Failed
	team   []*hal.Stream // of a Split, else nil
	division
}

// part is what one device does of a launch: one kernel, or those of a recorded step.
type part struct {
	stream *hal.Stream
	on     *onDevice
	grid   hal.Grid
	step   *launches // of a recorded step, else nil; on and grid are not set
	slice            // of a launch that was divided

	wants    []buffer.Want // if the part is all of a launch, one for each buffer among the arguments, else at least one
	leases   buffer.Leases // zero if there are no wants
	regions  []hal.Region
	args     []hal.Arg
	faults   *faults
	enqueued int   // kernels
	err      error // why what the part writes is lost, if that is known
}

var pooled = sync.Pool{New: func() any { return &launch{parts: make([]part, 1)} }}

// give returns the launch to the pool, with one part.
func (l *launch) give() {
	for i := range l.parts[:cap(l.parts)] {
		p := &l.parts[:cap(l.parts)][i]
		if p.stream == nil {
			continue
		}
		clear(p.wants)
		clear(p.regions)
		clear(p.args)
		*p = part{wants: p.wants[:0], regions: p.regions[:0], args: p.args[:0], slice: slice{touch: p.touch, first: p.first[:0]}}
	}
	if len(l.on) > 0 {
		l.division.clear()
	}
	l.parts, l.failed, l.team, l.cover = l.parts[:1], nil, nil, buffer.Leases{}
	pooled.Put(l)
}

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
		return on.launch(ctx, k, grid, args)
	case *parts.Ranks:
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

// run takes the leases of all parts, enqueues the parts, and ends the leases.
func (l *launch) run(ctx context.Context, args []Arg) (err error) {
	if p := l.parts[0].on; p != nil && p.prints != nil {
		if err := printed.begin(ctx, p); err != nil {
			return err
		}
		defer l.print(ctx)
	}
	l.await(ctx)
	if len(l.wants) > 0 { // it is divided
		if l.cover, err = parts.Cover(ctx, l.wants); err != nil {
			return l.on[0].unleased("launch", err, args, l.wants)
		}
	}
	enqueued := false // a kernel of the launch
	defer func() { err = cmp.Or(err, l.end(ctx, 0, enqueued)) }()
	for i := range l.parts {
		if err = l.parts[i].reserve(ctx, l, args); err != nil {
			return err
		}
	}
	l.count()
	for i := 1; i < len(l.parts); i++ { // the launch of the first part checks its arguments itself
		p := &l.parts[i]
		if p.step != nil {
			continue // they are checked
		}
		if err = layer.Launch(p.stream, p.on.kernel, p.grid, layer.How{Check: true}, p.args); err != nil {
			return err
		}
	}
	for i := range l.parts {
		p := &l.parts[i]
		if err != nil && !enqueued {
			break
		}
		if l.trial != nil {
			l.trial.before(p)
		}
		err = cmp.Or(err, p.enqueue(ctx, l, args))
		if l.trial != nil {
			l.trial.after(p)
		}
		enqueued = enqueued || p.enqueued > 0
	}
	return err
}

// end ends the parts from i on, and then the cover. If an observer of a buffer panics, the others end all the same.
func (l *launch) end(ctx context.Context, i int, enqueued bool) (err error) {
	if i == len(l.parts) {
		if len(l.wants) > 0 {
			err = l.cover.Release()
		}
		return err
	}
	defer func() { err = cmp.Or(err, l.end(ctx, i+1, enqueued)) }()
	return l.parts[i].end(ctx, enqueued)
}

// reserve takes the leases of a part, and makes its arguments.
func (p *part) reserve(ctx context.Context, l *launch, args []Arg) (err error) {
	wants := p.wants
	switch {
	case len(wants) > 0: // of a kernel, or of a segment of a step
	case p.step != nil:
		wants = p.step.wants
	case l.divided:
		p.wantSlice(l.cover, args)
		wants = p.wants
	}
	if len(wants) > 0 {
		if p.leases, err = buffer.ReserveAll(ctx, p.stream, wants...); err != nil {
			return p.unleased(err, args)
		}
		p.regions = p.leases.Regions(p.regions)
	}
	if p.step != nil {
		return nil // its arguments are made
	}
	n := 0
	for i := range args {
		if !args[i].buffer {
			p.args = append(p.args, args[i].arg)
			continue
		}
		at := n
		if l.divided {
			at = p.first[n]
		}
		p.args = append(p.args, hal.At(p.regions[at]))
		n++
	}
	p.args = p.on.sized(p.args, args)
	if p.faults, err = p.on.faultsOn(p.stream); err != nil {
		return err
	}
	if p.faults != nil {
		p.args = append(p.args, hal.At(p.faults.mem.All()))
	}
	if l.divided {
		p.args = append(p.args, hal.Struct(&p.origin))
	}
	return nil
}

// unleased returns the error of a part whose leases were refused. If that is due to an argument, the error names it.
func (p *part) unleased(err error, args []Arg) error {
	if p.step != nil {
		return p.step.unleased(err)
	}
	return p.on.unleased("launch", err, args, p.wants)
}

// enqueue launches the part's kernels.
func (p *part) enqueue(ctx context.Context, l *launch, args []Arg) error {
	how := layer.How{Key: parts.Key(p.leases), Failed: l.failed}
	switch {
	case p.step != nil:
		p.enqueued, p.err = p.step.enqueue(ctx, p, how)
	case checking.Load() && len(p.wants) > 0 && !l.divided && !layer.Empty(p.grid):
		return p.enqueueChecked(ctx, how, args)
	default:
		if p.err = layer.Launch(p.stream, p.on.kernel, p.grid, how, p.args); p.err == nil && !layer.Empty(p.grid) {
			p.enqueued = 1
		}
	}
	return p.err
}

// end ends the leases of a part. enqueued says that a kernel of the launch was enqueued, perhaps of another part.
func (p *part) end(ctx context.Context, enqueued bool) (err error) {
	if p.faults != nil {
		if p.enqueued > 0 && p.err == nil {
			err, p.err = p.faults.inspect(ctx, p.stream)
		}
		p.faults.close()
	}
	switch {
	case p.leases == buffer.Leases{}:
		return err
	case !enqueued:
		return cmp.Or(err, p.leases.Release())
	}
	err = cmp.Or(err, p.leases.Commit())
	// An error of the release would say only that the stream was closed since, and the launch counts.
	if bad := p.err; bad != nil { // the stream has told it, so its events do not tell it again
		_ = p.leases.ReleaseChecked(func() error { return bad })
	} else {
		_ = p.leases.Release()
	}
	return err
}
