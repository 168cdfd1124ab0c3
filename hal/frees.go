package hal

import (
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal/driver"
)

// frees keeps vendor frees and program gates apart. A CUDA or HIP free may block until the device is idle. If a stream is
// held by a gate and the blocked goroutine is the one that would open it, that is a deadlock; so frees are postponed while
// the program holds a gate. The library's own gates open by themselves, unless their work is behind a program's gate.
var frees freeing

type freeing struct {
	sync.RWMutex              // read-locked during a free
	shut         atomic.Int64 // shut gates of the program, on all drivers
	drivers      sync.Map     // *driverFrees by backend name
}

// driverFrees counts the shut gates on all devices of one backend: a free on one device may wait for work of another.
type driverFrees struct {
	shut    atomic.Int64 // the program's gates
	bridges atomic.Int64 // the library's own gates
}

func (f *freeing) of(backend string) *driverFrees {
	d, _ := f.drivers.LoadOrStore(backend, new(driverFrees))
	return d.(*driverFrees)
}

// shutting announces a gate that is about to be made. It waits for frees under way.
func (f *freeing) shutting(d *driverFrees) {
	f.Lock()
	d.shut.Add(1)
	f.shut.Add(1)
	f.Unlock()
}

func (f *freeing) opened(d *driverFrees) {
	d.shut.Add(-1)
	f.shut.Add(-1)
}

// held reports whether a free could block on a gate of the program.
func (f *freeing) held(d *driverFrees) bool {
	return d.shut.Load() > 0 || f.shut.Load() > 0 && d.bridges.Load() > 0
}

// begin reports whether memory may be freed now; if so, the caller frees it and calls end. It does not wait: it returns
// false while a gate is being made.
func (f *freeing) begin(d *driverFrees) bool {
	if !f.TryRLock() {
		return false
	}
	if f.held(d) {
		f.RUnlock()
		return false
	}
	return true
}

func (f *freeing) end() { f.RUnlock() }

// ownGate is a gate that the library made.
type ownGate struct {
	driver.Gate
	frees *driverFrees
}

func (g *ownGate) Open() error {
	err := g.Gate.Open()
	g.frees.bridges.Add(-1)
	return err
}
