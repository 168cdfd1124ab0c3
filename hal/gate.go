package hal

import (
	"runtime"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
)

// Gate holds a stream until it is opened. An opened gate is of no further use; a gate that is
// still shut keeps its device from closing. While the program holds a gate shut, drivers whose
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

// Open lets the stream go on. It does not wait. Further calls do nothing and return the first call's result.
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
