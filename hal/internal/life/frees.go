package life

import (
	"sync"
	"sync/atomic"
)

// Frees keeps frees of one driver, which may block, apart from gates on the streams of all its devices, because a free on one device may
// wait for work of another. The page at the head of package wait says which rules it keeps, and why.
type Frees struct {
	gates   atomic.Int64 // shut gates of the program
	bridges atomic.Int64 // shut gates that the library made for itself
}

// every has the state that all drivers share.
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

// BridgeComes announces a gate that the library is about to make for itself. If a gate of the program is shut, it waits for frees under
// way.
func (f *Frees) BridgeComes() {
	f.bridges.Add(1)
	if every.gates.Load() > 0 {
		every.freeing.Lock()
		defer every.freeing.Unlock()
	}
}

// BridgeGoes says that a gate that the library made for itself is open, or could not be made.
func (f *Frees) BridgeGoes() { f.bridges.Add(-1) }

// HeldUp reports whether a free could block on a gate of the program.
func (f *Frees) HeldUp() bool {
	return f.gates.Load() > 0 || every.gates.Load() > 0 && f.bridges.Load() > 0
}

// Begin reports whether a free may begin now; if so, the caller makes it and calls End. Begin does not wait: it returns
// false while a gate is being made.
func (f *Frees) Begin() bool {
	if !every.freeing.TryRLock() {
		return false
	}
	if f.HeldUp() {
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
