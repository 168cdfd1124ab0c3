package kernel

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/parts"
)

// Step is launches that a program repeats. [Record] makes one; the checks of the launches are made there, once, and not by Run.
//
// To buffers a step is one launch: Run takes one lease on each of them, for all launches, and no other access comes between these. So Run
// sees what other calls have done to the buffers since, and copies what is stale; and if one of the launches fails, all elements that the
// step writes are lost.
//
// With HALYARD_CHECK, over several devices (see [Split]), and if a device has no room for all buffers of the step at once, Run makes the
// launches one after the other, as the program would.
//
// Several goroutines may use a Step at once.
type Step struct {
	on     Target                   // of Record
	stream *hal.Stream              // the first of on
	failed func(error)              // parts.OnQueue.Failed
	state  atomic.Pointer[launches] // nil before Record has returned, and after Close

	mu        sync.Mutex
	recording *launches // nil when the function of Record has returned
	refused   bool      // a launch of the function was refused
}

// launches is what a step does.
type launches struct {
	list  []recorded
	plain bool          // Run launches each by itself
	wants []buffer.Want // one for each buffer

	mu       sync.Mutex          // held while the launches are enqueued
	regions  []hal.Region        // of wants in the last run
	prepared bool                // for these regions, if that is possible
	run      func() (int, error) // enqueues what was prepared; nil if nothing was
	end      func() error        // frees it, or nil
	closed   bool
}

// recorded is a launch of a step.
type recorded struct {
	k     *Kernel
	on    *onDevice // when it was recorded
	grid  hal.Grid
	args  []Arg
	wants []buffer.Want // one for each buffer among the arguments
	which []int         // of these: the index in launches.wants
	place []hal.Region  // of these: the place in the region of that want

	// These belong to whom launches.mu belongs to.
	now   *onDevice // in the last run
	ready []hal.Arg // the arguments, with the regions of the last run
}

// Record calls fn, and returns the launches that fn makes on its argument as a step, which Run makes on a stream or a [Split]:
//
//	step, err := kernel.Record(ctx, stream, func(s *kernel.Step) error {
//		return k.Launch(ctx, s, hal.Over(n), kernel.In(x), kernel.InOut(y))
//	})
//	err = step.Run(ctx)
//
// These launches are checked and compiled, and nothing runs: no element changes, and nothing is copied. Numbers and structures are part of
// the step, with the values that they have now. What is to change from run to run belongs in a buffer.
//
// The step keeps the buffers reachable, but not open: once one is closed, Run fails. The step of an fn that launches nothing does nothing.
func Record(ctx context.Context, on Target, fn func(*Step) error) (*Step, error) {
	const op = "record"
	l := &launches{}
	s := &Step{on: on, recording: l}
	if q, ok := on.(*parts.OnQueue); ok {
		on, s.failed = q.Target, q.Failed
	}
	switch on := on.(type) {
	case *hal.Stream:
		s.stream = on
	case *Split:
		t := on.now()
		if t.gone != nil {
			return nil, t.gone
		}
		s.stream, l.plain = t.streams[0], true
	}
	switch {
	case fn == nil:
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "nil function")
	case s.stream == nil:
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "nil stream")
	case ctx == nil:
		return nil, layer.Ended(op, ctx)
	}
	err := func() error {
		defer func() {
			s.mu.Lock()
			s.recording = nil
			s.mu.Unlock()
		}()
		return fn(s)
	}()
	switch {
	case err != nil:
		return nil, err
	case s.refused:
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "a launch of the function was refused")
	}
	l.combine()
	s.state.Store(l)
	return s, nil
}

// Device returns the device of the stream, or of the first one.
func (s *Step) Device() *hal.Device {
	if s == nil || s.stream == nil {
		return nil
	}
	return s.stream.Device()
}

// launch records a launch.
func (s *Step) launch(ctx context.Context, k *Kernel, grid hal.Grid, args []Arg) error {
	if s == nil {
		return hal.Errorf("launch", hal.ErrInvalidArgument, "nil step")
	}
	one, err := s.checked(ctx, k, grid, args)
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.recording
	switch {
	case l == nil:
		return hal.Errorf("launch", hal.ErrInvalidArgument,
			"this is a step that was recorded before; launch on the stream or the queue itself, or call Run")
	case err != nil:
		s.refused = true
		return err
	}
	l.plain = l.plain || one.on.sites != nil || one.on.prints != nil || checking.Load()
	l.list = append(l.list, one)
	return nil
}

// checked makes the checks of a launch.
func (s *Step) checked(ctx context.Context, k *Kernel, grid hal.Grid, args []Arg) (one recorded, err error) {
	dev := s.Device()
	d, err := k.within(ctx, dev, grid, args)
	if err != nil {
		return one, err
	}
	wants, err := d.wants(nil, args)
	if err != nil {
		return one, err
	}
	for i := range wants {
		if err := wants[i].Err(); err != nil {
			return one, d.unleased("launch", err, args, wants)
		}
	}
	// A launch that does nothing checks the rest, with memory of no bytes for each buffer.
	none, err := dev.Alloc(hal.KindDevice, 0, 0)
	if err != nil {
		return one, err
	}
	one = recorded{k: k, on: d, now: d, grid: grid, wants: wants}
	for i := range args {
		a := args[i]
		if a.buffer {
			one.ready = append(one.ready, hal.At(none.All()))
		} else {
			a.arg = layer.Keep(a.arg)
			one.ready = append(one.ready, a.arg)
		}
		one.args = append(one.args, a)
	}
	one.ready = d.sized(one.ready, args)
	if d.sites != nil {
		one.ready = append(one.ready, hal.At(none.All()))
	}
	return one, errors.Join(layer.Launch(s.stream, d.kernel, grid, layer.How{Check: true}, one.ready), none.Close())
}

// combine makes one want for each buffer. Launches of empty grids are left out.
func (l *launches) combine() {
	var all [][]buffer.Want
	kept := l.list[:0]
	for _, one := range l.list {
		if !layer.Empty(one.grid) {
			kept = append(kept, one)
			all = append(all, one.wants)
		}
	}
	l.list = kept
	which, place := []int(nil), []hal.Region(nil)
	l.wants, which, place = parts.InTurn(all)
	for i := range l.list {
		one := &l.list[i]
		n := len(one.wants)
		one.which, one.place = which[:n], place[:n]
		which, place = which[n:], place[n:]
	}
}

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
	if l.plain {
		return l.each(ctx, s.on)
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
		return l.each(ctx, s.on) // there may be room for the buffers of each
	}
	return err
}

// each makes the launches one after the other.
func (l *launches) each(ctx context.Context, on Target) error {
	for i := range l.list {
		one := &l.list[i]
		if err := one.k.Launch(ctx, on, one.grid, one.args...); err != nil {
			return err
		}
	}
	return nil
}

// enqueue enqueues the launches on the stream of p, which has their leases. n is how many were enqueued.
func (l *launches) enqueue(ctx context.Context, p *part, how layer.How) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stream := p.stream
	same, err := l.renew(ctx, stream, p.regions)
	switch {
	case err != nil:
		return 0, err
	case same && !l.prepared && !l.closed: // memory that moves in each run is not worth it
		l.prepare(stream, how)
	}
	if l.run != nil {
		return l.run()
	}
	each := !layer.KeepsFailures(stream)
	for i := range l.list {
		if i > 0 && each {
			parts.Mark(p.leases)
		}
		one := &l.list[i]
		if err := layer.Launch(stream, one.now.kernel, one.grid, how, one.ready); err != nil {
			return i, err
		}
	}
	return len(l.list), nil
}

// renew finds kernels again whose program was closed, and writes the arguments again if memory is not where it was. same says that all is
// as in the last run.
func (l *launches) renew(ctx context.Context, stream *hal.Stream, regions []hal.Region) (same bool, err error) {
	same = slices.Equal(l.regions, regions)
	for i := range l.list {
		one := &l.list[i]
		if one.now.round != one.k.p.round.Load() {
			on, err := one.k.device(ctx, stream.Device())
			if err != nil {
				return false, err
			}
			one.now, same = on, false
		}
	}
	if same {
		return true, nil
	}
	for i := range l.list {
		one := &l.list[i]
		for n, j := range buffersOf(one.args) {
			r, at := regions[one.which[n]], one.place[n]
			one.ready[j] = hal.At(hal.Region{Mem: r.Mem, Off: r.Off + at.Off, Len: at.Len})
		}
	}
	l.regions = append(l.regions[:0], regions...)
	return false, l.forget()
}

// prepare has the driver prepare the launches. If it cannot, each is launched, and what is wrong with it is the error of that.
func (l *launches) prepare(stream *hal.Stream, how layer.How) {
	var kernels []*hal.Kernel
	var grids []hal.Grid
	var args [][]hal.Arg
	for i := range l.list {
		one := &l.list[i]
		kernels, grids, args = append(kernels, one.now.kernel), append(grids, one.grid), append(args, one.ready)
	}
	l.prepared = true
	l.run, l.end, _ = layer.Prepare(stream, kernels, grids, how, args)
}

// forget frees what was prepared.
func (l *launches) forget() (err error) {
	if l.end != nil {
		err = l.end()
	}
	l.prepared, l.run, l.end = false, nil, nil
	return err
}

// unleased returns the error of a run whose leases were refused, with the argument that is the reason. It does not wait for other runs, as
// the context may have ended.
func (l *launches) unleased(err error) error {
	for i := range l.list {
		one := &l.list[i]
		for j := range one.wants {
			if one.wants[j].Err() != nil {
				return one.on.unleased("run", err, one.args, one.wants)
			}
		}
	}
	return err
}

// Close forgets the launches. It does not wait for their work. Later calls of Run fail; those under way go on.
func (s *Step) Close() error {
	if s == nil {
		return nil
	}
	l := s.state.Swap(nil)
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return l.forget()
}
