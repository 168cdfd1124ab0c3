package buffer

import (
	"sync/atomic"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
)

// State describes at which places elements are current.
type State struct {
	// Name says in one word where all of the elements are current: UNINITIALIZED (nowhere), HOST_ONLY, DEVICE_ONLY,
	// SYNCHRONIZED (at every place that has memory, among them the host and a device), HOST_DIRTY (on the host, and the memory of some
	// device is stale) or DEVICE_DIRTY (on a device, and the host's memory is stale).
	Name string
	// Version is the number of writes to the whole buffer.
	Version int64
	// Places has the host first, and then the devices that have or had a replica.
	Places []PlaceState
}

// PlaceState describes one place.
type PlaceState struct {
	Place     string      // "host" or the device's name
	Device    *hal.Device // nil for the host
	Allocated bool
	Valid     bool // all of the elements are current
}

// State returns the places at which the elements are current.
func (b *Buffer[T]) State() State {
	if !b.made() {
		return State{}
	}
	s := b.s
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.state(b.lo, b.hi)
	st := State{Name: c.Name().String(), Version: s.version}
	st.Places = append(st.Places, PlaceState{Place: "host", Allocated: c.Allocated.Has(protocol.Host), Valid: c.Valid.Has(protocol.Host)})
	for _, r := range s.places.devs {
		st.Places = append(st.Places, PlaceState{r.dev.Name(), r.dev, c.Allocated.Has(r.place), c.Valid.Has(r.place)})
	}
	return st
}

// Version returns the version of the elements at dev, or at the host if dev is nil: the Version of [State] if all of the elements are
// current there, else -1.
func (b *Buffer[T]) Version(dev *hal.Device) int64 {
	if !b.made() {
		return -1
	}
	s := b.s
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.places.find(dev)
	if r == nil {
		return -1
	}
	return s.state(b.lo, b.hi).Version(r.place, s.version)
}

// state returns the state of a range, without the replicas that are leaving.
func (s *storage) state(lo, hi uint64) protocol.State {
	c := s.m.State(lo, hi)
	if s.leaving > 0 {
		for _, r := range s.places.devs {
			if r.Leaving() {
				c.Allocated, c.Valid = c.Allocated.Without(r.place), c.Valid.Without(r.place)
			}
		}
	}
	return c
}

// Stats counts the copies and fills of a buffer since it was made.
type Stats struct {
	Copies      uint64 // copies between places
	BytesCopied uint64
	Fills       uint64 // ranges cleared because they were read before they were written
	BytesFilled uint64
	// BytesRelocated counts bytes of the host's replica that were copied into memory that a unified
	// device can use in place. That happens at most once, at the first access of such a device.
	BytesRelocated uint64
	BytesAvoided   uint64 // bytes of accesses that were already current at their place
}

// Stats returns the counters of the whole buffer.
func (b *Buffer[T]) Stats() Stats {
	if !b.made() {
		return Stats{}
	}
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	return b.s.stats
}

var totals struct{ copies, bytesCopied, fills, bytesFilled atomic.Uint64 }

// Totals returns the counters of all buffers together, since the program began. BytesRelocated and BytesAvoided are counted only for each
// buffer, and are 0 here.
func Totals() Stats {
	return Stats{
		Copies: totals.copies.Load(), BytesCopied: totals.bytesCopied.Load(),
		Fills: totals.fills.Load(), BytesFilled: totals.bytesFilled.Load(),
	}
}

// Sub returns the difference of two counts: the copies and fills since earlier.
func (s Stats) Sub(earlier Stats) Stats {
	return Stats{
		Copies: s.Copies - earlier.Copies, BytesCopied: s.BytesCopied - earlier.BytesCopied,
		Fills: s.Fills - earlier.Fills, BytesFilled: s.BytesFilled - earlier.BytesFilled,
		BytesRelocated: s.BytesRelocated - earlier.BytesRelocated, BytesAvoided: s.BytesAvoided - earlier.BytesAvoided,
	}
}
