package kernel

import (
	"context"
	"errors"
	"io"
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
// Over several devices (see [Split]) the launches are divided once, by Record or by the first Run with other devices or shares. Each device
// then runs its parts of launches in a row as a step, up to a launch that uses what another device has written, or the other way round.
// There the elements that are stale move. If a part fails, what it writes up to there is lost, and the launches behind it are not made.
//
// With HALYARD_CHECK, if a device has no room for all buffers of the step at once, and rarely over several devices, to time a launch, Run
// makes the launches one after the other, as the program would.
//
// Several goroutines may use a Step at once.
type Step struct {
	on     Target                   // of Record
	stream *hal.Stream              // the first of on
	split  *Split                   // of on, or nil
	failed func(error)              // parts.OnQueue.Failed
	state  atomic.Pointer[launches] // nil before Record has returned, and after Close

	mu        sync.Mutex
	recording *launches   // nil when the function of Record has returned
	refused   bool        // a launch of the function was refused
	kept      []io.Closer // by Keep
}

// launches is what a step does, or what one device does in a segment of it.
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
	plan     *plan // on a Split

	// Of a segment's part (stepsplit.go):
	stream  *hal.Stream
	of      []int        // of each launch: the index in the list of the step
	under   []int        // of each want: the index in the wants of the step
	crossed atomic.Int32 // of the first part: as onDevice.crossed
}

// recorded is a launch of a step.
type recorded struct {
	k     *Kernel
	on    *onDevice // when it was recorded
	grid  hal.Grid
	whole hal.Grid // that the program gave, of which grid may be a part
	args  []Arg
	wants []buffer.Want // one for each buffer among the arguments
	which []int         // of these: the index in launches.wants
	place []hal.Region  // of these: the place in the region of that want
	uses  []use         // while a plan is made

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
		s.stream, s.split = t.streams[0], on
	}
	switch {
	case fn == nil:
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "nil function")
	case s.stream == nil:
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "nil stream")
	case ctx == nil:
		return nil, layer.Ended(op, ctx)
	}
	defer func() { // also if fn panics
		s.mu.Lock()
		s.recording = nil
		s.mu.Unlock()
		if s.state.Load() == nil {
			_ = s.forget()
		}
	}()
	err := fn(s)
	switch {
	case err != nil:
		return nil, err
	case s.refused:
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "a launch of the function was refused")
	}
	l.combine()
	if s.split != nil && !l.plain {
		if _, err := l.planned(ctx, s.split); err != nil {
			return nil, err
		}
	}
	s.state.Store(l)
	return s, nil
}

// Keep gives the step a buffer that only its launches use, for example what one of them hands to the next. Close closes it, and so does
// a Record that fails. The function of [Record] calls it.
func (s *Step) Keep(b io.Closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, b)
}

// forget closes what is kept.
func (s *Step) forget() (err error) {
	s.mu.Lock()
	kept := s.kept
	s.kept = nil
	s.mu.Unlock()
	for _, b := range kept {
		err = errors.Join(err, b.Close())
	}
	return err
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
	stream := s.stream
	if t := s.split.now(); len(t.streams) > 0 {
		stream = s.split.able(ctx, t, k).streams[0]
	}
	d, err := k.within(ctx, stream.Device(), grid, args)
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
	one = recorded{k: k, on: d, now: d, grid: grid, whole: grid, wants: wants}
	for _, a := range args {
		if !a.buffer {
			a.arg = layer.Keep(a.arg)
		}
		one.args = append(one.args, a)
	}
	return one, one.check(stream)
}

// check makes the checks of a launch that the driver makes, by a launch that does nothing, with memory of no bytes for each buffer. more are
// arguments that the program does not give.
func (one *recorded) check(stream *hal.Stream, more ...hal.Arg) error {
	none, err := stream.Device().Alloc(hal.KindDevice, 0, 0)
	if err != nil {
		return err
	}
	for i := range one.args {
		if a := &one.args[i]; a.buffer {
			one.ready = append(one.ready, hal.At(none.All()))
		} else {
			one.ready = append(one.ready, a.arg)
		}
	}
	one.ready = one.on.sized(one.ready, one.args)
	if one.on.sites != nil {
		one.ready = append(one.ready, hal.At(none.All()))
	}
	one.ready = append(one.ready, more...)
	return errors.Join(layer.Launch(stream, one.on.kernel, one.grid, layer.How{Check: true}, one.ready), none.Close())
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
	switch {
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
		if one.now.round != one.now.p.round.Load() {
			on, err := one.k.within(ctx, stream.Device(), one.whole, one.args)
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
	return errors.Join(l.close(), s.forget())
}

func (l *launches) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return errors.Join(l.forget(), l.plan.close())
}
