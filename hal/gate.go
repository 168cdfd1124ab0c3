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
	d.s.link(&s.child, s)
	d.s.mu.Unlock()
	g := &Gate{s: s}
	g.cleanup = runtime.AddCleanup(g, (*gateState).leaked, s)
	return g
}

func (s *gateState) describe() string { return "gate that is shut" }

// Open lets the stream go on. It does not wait, and may be called more than once.
func (g *Gate) Open() error {
	g.cleanup.Stop()
	return g.s.open()
}

func (s *gateState) open() error {
	s.once.Do(func() {
		s.err = s.dev.check(s.drv.Open())
		frees.opened()
		s.dev.strike(&s.child)
	})
	return s.err
}

// frees keeps what frees memory, and may wait for all work of a device, apart from gates that the program holds shut: it
// could be the program's own call that waits. The library's own gates open by themselves.
var frees freeing

type freeing struct {
	sync.RWMutex     // read-locked by who frees
	shut         int // gates of programs, of all drivers: work waits for work across devices
}

// shutting comes before a gate is made, and lets frees under way come to their end.
func (f *freeing) shutting() {
	f.Lock()
	f.shut++
	f.Unlock()
}

func (f *freeing) opened() {
	f.Lock()
	f.shut--
	f.Unlock()
}

// begin reports whether memory may be freed now, by who calls end then.
func (f *freeing) begin() bool {
	f.RLock()
	if f.shut > 0 {
		f.RUnlock()
		return false
	}
	return true
}

func (f *freeing) end() { f.RUnlock() }
