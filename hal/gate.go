package hal

import (
	"runtime"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
)

// Gate holds a stream shut until it is opened. An open gate is of no further use; one that is
// still shut keeps its device from closing. While a program holds a gate shut, memory of drivers that wait for all of a device's work
// when they free is not given back (CUDA, HIP).
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
	d.s.mu.Lock() // the stream that it shuts keeps the device from being given back
	d.link(&s.child, s)
	d.s.mu.Unlock()
	g := &Gate{s: s}
	g.cleanup = runtime.AddCleanup(g, (*gateState).leaked, s)
	return g
}

func (s *gateState) describe() string { return "gate that is shut" }

// Open lets the stream go on. It does not wait, and may be called more than once.
func (g *Gate) Open() error {
	if g == nil || g.s == nil {
		return Errorf("open a gate", ErrInvalidArgument, "nil or zero gate")
	}
	g.cleanup.Stop()
	return g.s.open()
}

func (s *gateState) open() error {
	s.once.Do(func() {
		s.err = s.dev.check(s.drv.Open())
		frees.opened(s.dev.frees)
		s.dev.strike(&s.child)
	})
	return s.err
}
