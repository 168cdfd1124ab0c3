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

type gateState struct {
	child
	dev  *deviceState
	once sync.Once
	drv  driver.Gate
	err  error
}

func newGate(d *Device, drv driver.Gate) *Gate {
	s := &gateState{dev: d.s, drv: drv}
	d.s.mu.Lock() // not enlist: the stream behind the gate already keeps the device open
	d.link(&s.child, s)
	d.s.mu.Unlock()
	g := &Gate{s: s}
	g.cleanup = runtime.AddCleanup(g, (*gateState).leaked, s)
	return g
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
		// This counts as a call before the stream goes on: a goroutine that sees the stream's work end may close the device,
		// and Device.Close must wait until this function is done with the device.
		s.dev.stay()
		defer s.dev.end()
		s.dev.strike(&s.child)
		frees.opened(s.dev.frees) // a free that begins now waits at most for the next line
		s.err = s.dev.check(s.drv.Open())
	})
	return s.err
}
