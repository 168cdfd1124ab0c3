package hal

import (
	"runtime"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
)

// Gate holds a stream until [Gate.Signal] opens it, as a user event of OpenCL does. An opened gate is of no further use; a gate
// that is still shut keeps its device from closing. While the program holds a gate shut, drivers whose
// frees may wait for the device (CUDA, HIP) free no memory.
type Gate struct {
	s       *gateState
	cleanup runtime.Cleanup
}

// gateState counts as a call on its stream until it is open, so that the stream, and with it the device, stays until the gate is done with both.
type gateState struct {
	child
	stream *streamState
	once   sync.Once
	drv    driver.Gate
	err    error
}

// newGate makes a Gate for a call on the stream, or opens the driver's gate if the device was closed meanwhile.
func newGate(stream *Stream, op string, drv driver.Gate) (*Gate, error) {
	d := stream.dev
	s := &gateState{stream: stream.s, drv: drv}
	s.stream.stay()
	d.s.mu.Lock()
	closed := d.h.closed.Load() || d.s.closed()
	if !closed {
		d.link(&s.child, s)
	}
	d.s.mu.Unlock()
	if closed {
		_ = s.signal()
		return nil, d.s.closedError(op)
	}
	g := &Gate{s: s}
	g.cleanup = runtime.AddCleanup(g, (*gateState).leaked, s)
	return g, nil
}

func (s *gateState) describe() string { return "gate that is shut" }

// Signal opens the gate: the stream goes on. It does not wait. Further calls do nothing and return the first call's result.
func (g *Gate) Signal() error {
	if g == nil || g.s == nil {
		return Errorf("signal a gate", ErrInvalidArgument, "nil or zero gate")
	}
	g.cleanup.Stop()
	return g.s.signal()
}

func (s *gateState) signal() error {
	s.once.Do(func() {
		dev := s.stream.dev
		dev.strike(&s.child)
		frees.opened(dev.frees) // a free that begins now waits at most for the next line
		s.err = dev.check(s.drv.Open())
		s.stream.end()
	})
	return s.err
}
