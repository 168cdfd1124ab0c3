package buffer

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// replica is the storage's copy at one place.
type replica struct {
	owner   *storage
	place   coherence.Place
	dev     *hal.Device // nil for the host
	mem     *hal.Memory // nil for the host, and for a device that was evicted
	hazards hazards

	// For the residency: when the replica was last used, and whether it holds bytes that nobody else does.
	res  *residency
	used atomic.Uint64
	sole atomic.Bool
}

// region is the range [lo, hi) of the replica's memory.
func (r *replica) region(lo, hi uint64) hal.Region { return r.mem.Region(lo, hi-lo) }

// hostReplica is the copy at the host, and at the unified devices that share it.
type hostReplica struct {
	replica
	ptr   unsafe.Pointer // nil until something is there
	bytes []byte         // what ptr points to, if it is of the Go heap
	home  *hal.Memory    // what ptr points to, if a device allocated it
	clean bool           // nothing but zeros so far

	shares []*hal.Memory // the same bytes as devices know them, home included

	locks []pagelock

	// mapper is the one share that host and device take turns with; mapped is whose turn it is.
	mapper *hal.Memory
	mapped turn
}

// turn says what the host may do with memory that must be mapped.
type turn uint8

const (
	turnDevice turn = iota
	turnHostReads
	turnHostWrites
)

func (h *hostReplica) slice(lo, hi uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(h.ptr, lo)), hi-lo)
}

const (
	maxHost = 1 << 46  // bytes, beyond which Go cannot allocate
	probed  = 64 << 20 // bytes, from which the system is asked first: Go ends the process if it refuses
)

// alignedBytes returns zeroed memory that starts on a page if it fills one, so that devices can
// use it in place.
func alignedBytes(n uint64) []byte {
	align := uint64(128)
	if n >= 4096 {
		align = 4096
	}
	b := make([]byte, n+align)
	skip := -uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (align - 1)
	return b[skip : skip+n : skip+n]
}

// hold makes sure that the host has memory.
func (s *storage) hold() error {
	h := &s.host
	if h.ptr != nil || h.mapper != nil {
		return nil
	}
	if s.homeOn != nil {
		return s.settleOn(s.homeOn)
	}
	if s.size > maxHost || s.size >= probed && !available(s.size) {
		return &hal.Error{Op: "host replica", Device: -1, Kind: hal.ErrOutOfMemory,
			Detail: fmt.Sprintf("%d bytes are more than the host has", s.size)}
	}
	h.bytes = alignedBytes(s.size)
	h.ptr = unsafe.Pointer(unsafe.SliceData(h.bytes))
	h.clean = true
	s.m.Allocate(coherence.Host)
	return nil
}

// settleOn takes the host's memory from a device, page-locked.
func (s *storage) settleOn(dev *hal.Device) error {
	m, err := dev.Alloc(hal.KindHost, s.size, 0)
	if err != nil {
		return err
	}
	h := &s.host
	h.home = m
	h.shares = append(h.shares, m)
	h.clean = false
	if m.NeedsMap() {
		h.mapper, h.mapped = m, turnDevice
	} else {
		h.ptr = m.HostPointer()
	}
	s.m.Allocate(coherence.Host)
	return nil
}

// share returns the host's replica as memory of a unified device, or nil if the device cannot
// work on it in place.
func (s *storage) share(dev *hal.Device) *hal.Memory {
	h := &s.host
	for _, m := range h.shares {
		if m.Device().Same(dev) {
			return m
		}
	}
	if h.mapper != nil {
		return nil
	}
	if h.ptr == nil {
		if s.homeOn == nil || s.homeOn.Same(dev) {
			if s.settleOn(dev) == nil {
				return h.home
			}
			return nil
		}
		if s.hold() != nil || h.ptr == nil {
			return nil
		}
	}
	if !dev.Caps().Has(hal.CapRegister) {
		return s.relocate(dev)
	}
	m, err := dev.Register(h.slice(0, s.size))
	if err != nil {
		return s.relocate(dev)
	}
	if m.NeedsMap() {
		if len(h.shares) > 0 {
			_ = m.Close() // two that take turns with a third is one too many
			return nil
		}
		h.mapper, h.mapped = m, turnDevice
		h.ptr = nil
	}
	h.shares = append(h.shares, m)
	return m
}

// relocate moves the host's replica into memory of a unified device, so that both can work on it in place
// from now on. It returns nil if somebody holds on to the replica where it is.
func (s *storage) relocate(dev *hal.Device) *hal.Memory {
	h := &s.host
	if h.bytes == nil || len(h.shares) > 0 {
		return nil
	}
	for i := range s.accesses.slots {
		if x := &s.accesses.slots[i]; x.open && x.stream == nil {
			return nil
		}
	}
	stream, err := dev.CopyStream(false)
	if err != nil {
		return nil
	}
	m, err := dev.Alloc(hal.KindHost, s.size, 0)
	if err != nil {
		return nil
	}
	if h.hazards.order(stream, 0, s.size, true) != nil {
		_ = m.Close()
		return nil
	}
	moved := uint64(0)
	s.m.Runs(0, s.size, func(lo, hi uint64, valid coherence.Set) bool {
		if valid.Has(coherence.Host) {
			if err = stream.CopyIn(m.Region(lo, hi-lo), h.slice(lo, hi)); err != nil {
				return false
			}
			moved += hi - lo
		}
		return true
	})
	if err != nil {
		_ = m.Close()
		return nil
	}
	for _, l := range h.locks {
		if l.mem != nil {
			_ = l.mem.Close()
		}
	}
	h.locks, h.bytes, h.ptr, h.clean = nil, nil, nil, false
	h.home, h.shares = m, []*hal.Memory{m}
	if m.NeedsMap() {
		h.mapper, h.mapped = m, turnDevice
	} else {
		h.ptr = m.HostPointer()
	}
	s.stats.BytesRelocated += moved
	s.record(&h.replica, stream, 0, s.size, true, false)
	return m
}

// at returns the replica that streams of dev work on, and its memory, made if need be.
func (s *storage) at(dev *hal.Device) (*replica, *hal.Memory, error) {
	for _, r := range s.devs {
		if r.dev == dev || r.dev.Same(dev) {
			if r.mem == nil {
				if err := s.allocate(r); err != nil {
					return nil, nil, err
				}
			}
			return r, r.mem, nil
		}
	}
	if dev.Unified() {
		if m := s.share(dev); m != nil {
			return &s.host.replica, m, nil
		}
	}
	place := coherence.Place(len(s.devs) + 1)
	if int(place) >= coherence.MaxPlaces {
		return nil, nil, failure("use "+dev.Name(), hal.ErrUnsupported, "a buffer has at most %d places", coherence.MaxPlaces)
	}
	r := &replica{owner: s, place: place, dev: dev, res: residencyOf(dev)}
	if err := s.allocate(r); err != nil {
		return nil, nil, err
	}
	s.devs = append(s.devs, r)
	return r, r.mem, nil
}

func (s *storage) allocate(r *replica) error {
	if !r.res.take(r) {
		return &pressure{dev: r.dev}
	}
	m, err := r.dev.Alloc(hal.KindDevice, s.size, 0)
	if err != nil {
		r.res.give(r)
		if errors.Is(err, hal.ErrOutOfMemory) {
			return &pressure{dev: r.dev, cause: err}
		}
		return err
	}
	r.mem = m
	r.sole.Store(false)
	s.m.Allocate(r.place)
	s.noteReplica(EventAlloc, r.dev.Name())
	return nil
}

// find returns the replica of a device that has one, the host's for nil, or nil.
func (s *storage) find(dev *hal.Device) *replica {
	if dev == nil {
		return &s.host.replica
	}
	for _, r := range s.devs {
		if r.dev.Same(dev) {
			return r
		}
	}
	for _, m := range s.host.shares {
		if m.Device().Same(dev) {
			return &s.host.replica
		}
	}
	return nil
}

// free gives a device's replica back when the work that uses it has finished.
func (r *replica) free() error {
	r.hazards.clear()
	m := r.mem
	r.mem = nil
	r.res.give(r)
	r.owner.noteReplica(EventFree, r.dev.Name())
	return m.Close()
}

func (s *storage) replica(p coherence.Place) *replica {
	if p == coherence.Host {
		return &s.host.replica
	}
	return s.devs[p-1]
}

func (s *storage) placeName(p coherence.Place, stream *hal.Stream) string {
	switch {
	case stream != nil:
		return stream.Device().Name()
	case p == coherence.Host || int(p) > len(s.devs):
		return "host"
	}
	return s.devs[p-1].dev.Name()
}

// pagelock is a device's page-lock on the host's replica.
type pagelock struct {
	dev *hal.Device
	mem *hal.Memory // nil if the device refused
}

// worthLocking is the size in bytes from which the host's replica is page-locked for a device that
// copies asynchronously only from such memory.
const worthLocking = 64 << 10

// lock keeps the host's replica for copies on the stream, and page-locks it where that makes a difference
// and is worth its price. It reports whether copies touch the replica in stream order.
func (s *storage) lock(stream *hal.Stream) (ordered bool) {
	dev, h := stream.Device(), &s.host
	if h.home != nil && stream.Use(h.home) != nil {
		return false
	}
	if dev.Caps().Has(hal.CapPageableOrder) {
		return true
	}
	for _, l := range h.locks {
		if l.dev.Same(dev) {
			return l.mem != nil && stream.Use(l.mem) == nil
		}
	}
	if h.home != nil && h.home.Device().Same(dev) {
		return true
	}
	if h.bytes == nil || s.size < worthLocking || !dev.Caps().Has(hal.CapRegister) {
		return false
	}
	m, err := dev.Register(h.bytes)
	if err != nil {
		m = nil
	}
	h.locks = append(h.locks, pagelock{dev, m})
	return m != nil && stream.Use(m) == nil
}
