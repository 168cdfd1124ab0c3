package hal

import (
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal/driver"
)

// frees keeps what gives memory back, and may wait for all work of a driver's devices, apart from gates that the program
// holds shut: the call that waits could be the one which is to open them. The library's own gates open by
// themselves, if nothing that they wait for is behind a gate of the program's.
var frees freeing

type freeing struct {
	sync.RWMutex              // read-locked by who frees
	shut         atomic.Int64 // gates of programs
	drivers      sync.Map     // *driverFrees by backend name
}

// driverFrees are the gates that hold streams of one backend shut: work waits for work across its devices.
type driverFrees struct {
	shut    atomic.Int64 // of programs
	bridges atomic.Int64 // the library's own
}

func (f *freeing) of(backend string) *driverFrees {
	d, _ := f.drivers.LoadOrStore(backend, new(driverFrees))
	return d.(*driverFrees)
}

// shutting comes before a gate is made, and lets frees under way come to their end.
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

// held reports whether to free could be to wait for a gate of the program's.
func (f *freeing) held(d *driverFrees) bool {
	return d.shut.Load() > 0 || f.shut.Load() > 0 && d.bridges.Load() > 0
}

// begin reports whether memory may be freed now, by who calls end then. It does not wait: while a gate is being made the
// answer is no.
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

// ownGate is a gate of the library's.
type ownGate struct {
	driver.Gate
	frees *driverFrees
}

func (g *ownGate) Open() error {
	err := g.Gate.Open()
	g.frees.bridges.Add(-1)
	return err
}
