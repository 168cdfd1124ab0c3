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

package life

import (
	"sync"
	"sync/atomic"
)

// Frees keeps the frees of one driver that may block apart from the gates on its streams: a free on one device may wait for work of another.
// The page at the head of package wait says which rules it keeps, and why.
type Frees struct {
	gates   atomic.Int64 // shut gates of the program
	bridges atomic.Int64 // shut gates of the library's own
}

// every is what the drivers share.
var every struct {
	freeing sync.RWMutex // read-locked during a free
	gates   atomic.Int64 // shut gates of the program, on all drivers
	drivers sync.Map     // *Frees by the backend's name
}

// FreesOf returns the Frees of a backend.
func FreesOf(backend string) *Frees {
	f, _ := every.drivers.LoadOrStore(backend, new(Frees))
	return f.(*Frees)
}

// GateComes announces a gate of the program that is about to be made. It waits for frees under way.
func (f *Frees) GateComes() {
	every.freeing.Lock()
	f.gates.Add(1)
	every.gates.Add(1)
	every.freeing.Unlock()
}

// GateGoes says that a gate of the program is about to be opened, or could not be made.
func (f *Frees) GateGoes() {
	f.gates.Add(-1)
	every.gates.Add(-1)
}

// BridgeComes announces a gate of the library's own that is about to be made. If a gate of the program is shut, it waits for frees under way.
func (f *Frees) BridgeComes() {
	f.bridges.Add(1)
	if every.gates.Load() > 0 {
		every.freeing.Lock()
		defer every.freeing.Unlock()
	}
}

// BridgeGoes says that a gate of the library's own is open, or could not be made.
func (f *Frees) BridgeGoes() { f.bridges.Add(-1) }

// Held reports whether a free could block on a gate of the program.
func (f *Frees) Held() bool {
	return f.gates.Load() > 0 || every.gates.Load() > 0 && f.bridges.Load() > 0
}

// Begin reports whether a free may begin now; if so, the caller makes it and calls End. Begin does not wait: it returns
// false while a gate is being made.
func (f *Frees) Begin() bool {
	if !every.freeing.TryRLock() {
		return false
	}
	if f.Held() {
		every.freeing.RUnlock()
		return false
	}
	return true
}

// End says that a free which Begin allowed is done.
func (f *Frees) End() { every.freeing.RUnlock() }

// GatesWait reports whether a gate waits for frees under way, or is just being made.
func GatesWait() bool {
	if every.freeing.TryRLock() {
		every.freeing.RUnlock()
		return false
	}
	return true
}
