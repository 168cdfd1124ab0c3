package kernel

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/parts"
)

// The path of a recorded step. A call that is indented is made by the one above it; calls stand in their order.
//
//	Record                  calls the program's function, whose launches come to Step.launch
//	  Step.launch             checks a launch, and adds it to the list (launches.list) in place of enqueueing it
//	  launches.combine        makes one want for each buffer, for all launches together (recorded.go)
//	  launches.planned        on a Split: divides the launches (stepsplit.go)
//	  Ranks.Record            among ranks: finds which launches need an exchange before them (comm/part)
//	Step.Run                (steprun.go)
//	  launch.run              on a stream: the step is one part of one launch (run.go; see the head of launch.go)
//	    launches.enqueue        in place of one kernel: all kernels of the step, prepared by the driver if it can (recorded.go)
//	  Step.across             on a Split: for each segment one launch.run, with one part for each device
//	  Step.among              among ranks: the exchanges, and after each one the segments up to the next
//	  launches.each           the launches one after the other by Kernel.Launch, if the step cannot run at once
//
// A segment is launches in a row between which no device waits for another. state.go has what is recorded: launches is the list, recorded is
// one launch in it, plan is how the list is divided among devices.

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
	ranks  *parts.Ranks             // of the launches, or nil
	state  atomic.Pointer[launches] // nil before Record has returned, and after Close

	mu        sync.Mutex
	recording *launches   // nil when the function of Record has returned
	refused   bool        // a launch of the function was refused
	kept      []io.Closer // by Keep
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
	if s.ranks != nil {
		if err := l.exchanged(s); err != nil {
			return nil, err
		}
	}
	if (s.split != nil || s.ranks != nil) && !l.plain {
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

// launch records a launch, which is divided among ranks unless r is nil.
func (s *Step) launch(ctx context.Context, k *Kernel, r *parts.Ranks, grid hal.Grid, args []Arg) error {
	if s == nil {
		return hal.Errorf("launch", hal.ErrInvalidArgument, "nil step")
	}
	one, err := s.checked(ctx, k, r, grid, args)
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.recording
	switch {
	case l == nil:
		return hal.Errorf("launch", hal.ErrInvalidArgument,
			"this is a step that was recorded before; launch on the stream or the queue itself, or call Run")
	case err == nil && len(l.list) > 0 && s.ranks != r:
		err = hal.Errorf("launch", hal.ErrInvalidArgument, "a step has launches that are divided among ranks, or others, not both")
	}
	if err != nil {
		s.refused = true
		return err
	}
	s.ranks = r
	l.plain = l.plain || one.on.sites != nil || one.on.prints != nil || checking.Load()
	l.list = append(l.list, one)
	return nil
}

// checked makes the checks of a launch.
func (s *Step) checked(ctx context.Context, k *Kernel, r *parts.Ranks, grid hal.Grid, args []Arg) (one recorded, err error) {
	stream := s.stream
	if r != nil && k != nil && k.p != nil && !layer.Empty(grid) {
		if err := k.divisible(r, args); err != nil {
			return one, err
		}
		grid = inBlocks(grid, k.p.src.Kernels[k.name].Footprint.Cut, r.Size)
	}
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
	if err := one.check(stream); err != nil || r == nil || layer.Empty(grid) {
		return one, err
	}
	one.among = &launch{}
	one.share, err = one.among.share(ctx, &team{streams: []*hal.Stream{stream}}, k, r, grid, args)
	return one, err
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
