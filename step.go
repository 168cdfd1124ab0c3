package halyard

import (
	"runtime"
	"strings"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/kernel"
)

// Step is launches that a program repeats: see [Queue.Record]. On a nil or zero Step calls do nothing.
type Step struct {
	q       *core
	s       *kernel.Step // nil after an error
	id      uint64
	cleanup runtime.Cleanup
}

// Record calls fn, and returns the launches on the queue that it gives to fn as a step, which [Step.Run] makes:
//
//	step := q.Record(func(q *halyard.Queue) {
//		Spread(q, n, a, b)
//		Spread(q, n, b, a)
//	})
//	for range 500 {
//		step.Run()
//	}
//
// That is faster than launching each of them, because they are checked only once. Nothing runs during Record. Numbers that are passed to
// the kernels are part of the step: what is to change from run to run belongs in a buffer, of one element for example. Within fn, calls on
// buffers fail, apart from New, From, Slice, As and InRows: make them before Record or after Run.
//
// The step keeps its buffers reachable. Once one of them is closed, Run fails. The step of an fn that launches nothing does nothing.
func (q *Queue) Record(fn func(*Queue)) *Step {
	const op = "Record"
	s := &Step{q: q.core()}
	if !s.q.begin(op) {
		return s
	}
	defer s.q.end()
	if fn == nil {
		s.q.keep(hal.Errorf(op, hal.ErrInvalidArgument, "nil function"))
		return s
	}
	s.q.recording.Add(1)
	defer s.q.recording.Add(-1)
	made, err := kernel.Record(s.q.ctx, &s.q.on, func(k *kernel.Step) error {
		fn(&Queue{c: s.q, step: k})
		return nil
	})
	if s.q.keep(layer.Called(op, err)) {
		return s
	}
	s.s, s.id = made, s.q.add(made)
	s.cleanup = runtime.AddCleanup(s, s.q.lost, s.id)
	return s
}

// Run enqueues the launches of the step, and does not wait for them. It copies to the device first what is stale there. Other calls on the
// buffers come before all of the launches or after them; if one of them fails on the device, everything that the step writes is lost. That
// does not hold with HALYARD_CHECK, and where the device has no room for all buffers at once: there Run makes the launches one after the
// other. On a queue over several devices the elements that are stale move between the launches, and rarely Run makes them one after the
// other, to time one: see [kernel.Step].
func (s *Step) Run() {
	const op = "Run"
	if s.begin(op) {
		defer s.q.end()
		s.q.keep(layer.Called(op, s.s.Run(s.q.ctx)))
		runtime.KeepAlive(s)
	}
}

// Close frees the step. Closing the queue does that too.
func (s *Step) Close() {
	const op = "Close"
	if s.begin(op) {
		defer s.q.end()
		s.cleanup.Stop()
		s.q.keep(s.s.Close())
		s.q.remove(s.id)
	}
}

// begin is [Buffer.begin] for a step.
func (s *Step) begin(op string) bool {
	if s == nil || !s.q.begin(op) {
		return false
	}
	if s.s == nil {
		s.q.end()
		return false
	}
	return true
}

// recorded is the name of a launch that Record records.
const recorded = "record"

// misplaced returns an error for a call that the function of Record makes, unless it is one of those that may stand there.
func misplaced(op string) error {
	switch op {
	case recorded, "New", "From", "Slice", "As", "InRows":
		return nil
	}
	pcs := make([]uintptr, 128)
	n := runtime.Callers(4, pcs) // not Record itself
	for ; n == len(pcs); n = runtime.Callers(4, pcs) {
		pcs = make([]uintptr, 2*n)
	}
	frames := runtime.CallersFrames(pcs[:n])
	for {
		f, more := frames.Next()
		switch {
		case !strings.HasSuffix(f.Function, "halyard.(*Queue).Record"):
		case op == "launch":
			return hal.Errorf(op, hal.ErrInvalidArgument,
				"the function of Record launches on the queue that it is given, not on another one")
		default:
			return hal.Errorf(op, hal.ErrInvalidArgument, "the function of Record only launches; call %s before Record, or after Run", op)
		}
		if !more {
			return nil
		}
	}
}
