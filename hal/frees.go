// Who waits for whom, and why the waits have no cycle, in one page.
//
// A free of CUDA or HIP may wait until all work of its device, or of its driver, is done (driver.FreeBlocker). Frees are calls that free memory,
// unload code, trim caches and close devices. A gate holds up a stream until it is opened: a gate of the program (Stream.Gate, Stream.Do) by a
// goroutine of the program, a bridge by this package, when the work of another driver has ended that the stream waits for.
//
//	what waits                                               for what
//	a free                                                   all work of its driver
//	work                                                     work and gates before it on its stream, and the events that it was told to wait for
//	a bridge                                                 the work of another driver that its event stands for
//	a gate of the program                                    some goroutine of the program
//	a goroutine in Sync, View and the like                   work
//	a goroutine in Close, Alloc or Reclaim                   frees, its own and those that the reaper makes
//	a goroutine in Gate or Do                                the frees under way
//	a goroutine in WaitEvent or WaitStream that makes a      the frees under way, if a gate of the program is shut
//	bridge
//
// Work waits only for what was enqueued before it, so work and bridges alone make no cycle. Neither do frees, for which no work waits. Every
// cycle has to lead from a free through work to a gate of the program, and from there through a goroutine back to a free. Three rules see to it
// that no free ever reaches a gate of the program; then each free ends by itself, and with it each wait for a free:
//
//  1. A free begins only if its driver has no shut gate of the program, and no shut bridge while any driver has one (begin).
//  2. A gate of the program is made only while no free is under way (shutting).
//  3. A bridge is made, while a gate of the program is shut, only while no free is under way (bridging). While none is shut, the work before
//     the bridge is behind none, and rule 2 keeps it so.
//
// A free never waits for its turn: it is left to the reaper. A gate or bridge waits for the frees under way, and no free begins meanwhile. What opens
// bridges (the goroutines of the watch, and those that help) takes no lock that is held during these waits: functions given to Event.OnDone must not
// block, and gates may be made with locks of package buffer held. Device.Close waits for the frees of its device; if another goroutine makes a gate on the
// driver during Close, that means until the gate is opened.
//
// Outside these rules is work that the program enqueues on a stream's handle itself, a kernel that waits for the host, and a collective
// operation that waits for other ranks. A free waits for them, as it does in C.

package hal

import (
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal/driver"
)

// frees keeps the frees that may wait, and gates, apart.
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

// bridging announces a bridge that is about to be made. If a gate of the program is shut, it waits for frees under way.
func (f *freeing) bridging(d *driverFrees) {
	d.bridges.Add(1)
	if f.shut.Load() > 0 {
		f.Lock()
		defer f.Unlock()
	}
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

// giveBack calls free, which gives an object back to the driver, or has the reaper do it. waits says that free may wait for work.
func (s *deviceState) giveBack(waits bool, free func()) {
	switch {
	case !waits:
		free()
	case frees.begin(s.frees):
		free()
		frees.end()
	default:
		s.reaper.put(reaped{slow: true, ready: func() bool { return frees.begin(s.frees) }, finish: func() {
			free()
			frees.end()
		}})
	}
}

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
