package buffer

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// replica is the storage's copy at one place.
type replica struct {
	owner   *storage
	place   coherence.Place
	dev     *hal.Device // nil for the host
	holding             // nothing for a device that was evicted
	hazards hazards
	adopted bool // the memory is the program's, and stays until the buffer is closed

	// For the residency: when the replica was last used, and whether it holds bytes that nobody else does.
	res  *residency
	used atomic.Uint64
	sole atomic.Bool

	index int            // in the residency's list
	from  pool.Allocator // that was asked for the memory, nil if the device itself; guarded by res.mu
	pool  *pool.Pool     // whose memory it has, or had last
}

// holding is the memory that a replica has.
type holding struct {
	mem   *hal.Memory // nil for the host
	base  uint64      // bytes from the start of mem, or of the host's home, to the replica
	block pool.Block  // that it is, if it came from an allocator
}

// region is the range [lo, hi) of the replica's memory.
func (h *holding) region(lo, hi uint64) hal.Region { return h.mem.Region(h.base+lo, hi-lo) }

// region is the range [lo, hi) of a replica that one of the devices which share it knows as mem.
func (s *storage) region(r *replica, mem *hal.Memory, lo, hi uint64) hal.Region {
	if r.place != coherence.Host || mem == s.host.home {
		lo, hi = r.base+lo, r.base+hi
	}
	return mem.Region(lo, hi-lo)
}

// free gives the memory back when the work that the hazards stand for has finished, and forgets the hazards.
func (h *holding) free(work *hazards) error {
	mem, block := h.mem, h.block
	*h = holding{}
	if block.Live() {
		return work.handBack(block, mem.Device())
	}
	work.clear()
	return mem.Close()
}

// hostReplica is the copy at the host, and at the unified devices that share it.
type hostReplica struct {
	replica
	ptr   unsafe.Pointer // nil until something is there
	bytes []byte         // what ptr points to, if it is of the Go heap
	home  *hal.Memory    // what ptr points to, if a device allocated it
	clean bool           // nothing but zeros so far

	release func() // of an adopted slice, or of guarded memory
	guard   *guard // that ptr points to, if the buffer is guarded

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
	maxHost = min(1<<46, math.MaxInt-1<<12) // bytes, beyond which Go cannot allocate
	probed  = 64 << 20                      // bytes, from which the system is asked first: Go ends the process if it refuses
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
func (s *storage) hold(c cause) error {
	h := &s.host
	if h.ptr != nil || h.mapper != nil {
		return nil
	}
	if s.homeOn != nil {
		return s.settleOn(s.homeOn, c)
	}
	if s.size > maxHost || s.size >= probed && !available(s.size) {
		return &hal.Error{Op: "host replica", Device: -1, Kind: hal.ErrOutOfMemory,
			Detail: fmt.Sprintf("%d bytes are more than the host has", s.size)}
	}
	if s.guarded {
		g, err := newGuard(s, s.size)
		if err != nil {
			return err
		}
		h.guard, h.ptr = g, g.pointer()
		h.release = func() { retire(g.pages) }
		g.watch()
	} else {
		h.bytes = alignedBytes(s.size)
		h.ptr = unsafe.Pointer(unsafe.SliceData(h.bytes))
	}
	h.clean = true
	s.m.Allocate(coherence.Host)
	s.noteReplica(EventAlloc, nil, c)
	return nil
}

// settleOn takes the host's memory from a device, page-locked.
func (s *storage) settleOn(dev *hal.Device, c cause) error {
	got, err := s.hostMemory(dev.Common())
	if err != nil {
		return err
	}
	h, m := &s.host, got.mem
	h.home, h.base, h.block = m, got.base, got.block
	h.shares = append(h.shares, m)
	h.clean = false
	if m.NeedsMap() {
		h.mapper, h.mapped = m, turnDevice
	} else {
		h.ptr = unsafe.Add(m.HostPointer(), got.base)
	}
	s.m.Allocate(coherence.Host)
	s.noteReplica(EventAlloc, nil, c)
	return nil
}

// share returns the host's replica as memory of a unified device, or nil if the device cannot
// work on it in place.
func (s *storage) share(dev *hal.Device, c cause) *hal.Memory {
	h := &s.host
	for _, m := range h.shares {
		if m.Device().Same(dev) {
			return m
		}
	}
	if h.mapper != nil || s.guarded && s.homeOn == nil && !h.adopted {
		return nil
	}
	if h.ptr == nil {
		if s.homeOn == nil || s.homeOn.Same(dev) {
			if s.settleOn(dev, c) == nil {
				return h.home
			}
			return nil
		}
		if s.hold(c) != nil || h.ptr == nil {
			return nil
		}
	}
	if !dev.Caps().Has(hal.CapRegister) {
		return s.relocate(dev)
	}
	if dev.Caps().Has(hal.CapMap) && s.heldByHost() {
		return nil // what takes turns may look at the bytes at once
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

// usedOn notes that work of the stream may use the host's replica by way of m, one of the shares. The memory that is
// home to the bytes knows nothing of what another share is used for, and would be given back under the work.
func (h *hostReplica) usedOn(stream *hal.Stream, m *hal.Memory) error {
	if h.home == nil || h.home == m {
		return nil
	}
	return stream.Use(h.home)
}

// heldByHost reports whether there is an access of the host, which must find the replica where it is.
func (s *storage) heldByHost() bool {
	return slices.ContainsFunc(s.accesses.slots, func(x access) bool { return x.open && x.stream == nil })
}

// relocate moves the host's replica into memory of a unified device, so that both can work on it in place
// from now on. It returns nil if somebody holds on to the replica where it is.
func (s *storage) relocate(dev *hal.Device) *hal.Memory {
	h := &s.host
	if h.bytes == nil || len(h.shares) > 0 {
		return nil
	}
	if s.heldByHost() {
		return nil
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
	bytes := uint64(0)
	var parts []extent
	s.m.Runs(0, s.size, func(lo, hi uint64, valid coherence.Set) bool {
		if valid.Has(coherence.Host) {
			if err = stream.CopyIn(m.Region(lo, hi-lo), h.slice(lo, hi)); err != nil {
				return false
			}
			bytes += hi - lo
			parts = append(parts, extent{lo, hi})
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
	old := h.bytes
	h.locks, h.bytes, h.ptr, h.clean = nil, nil, nil, false
	h.home, h.shares = m, []*hal.Memory{m}
	if m.NeedsMap() {
		h.mapper, h.mapped = m, turnDevice
	} else {
		h.ptr = m.HostPointer()
	}
	s.stats.BytesRelocated += bytes
	if len(parts) > 0 {
		s.record(&h.replica, stream, moved(extent{parts[0].lo, parts[len(parts)-1].hi}, parts, old))
	}
	return m
}

// at returns the replica that the stream works on, and its memory, made if need be.
func (s *storage) at(stream *hal.Stream, c cause) (*replica, *hal.Memory, error) {
	dev := stream.Device().Common() // replicas belong to no handle
	for _, r := range s.devs {
		if r.dev == dev || r.dev.Same(dev) {
			if r.mem == nil {
				if err := s.allocate(r, stream, c); err != nil {
					return nil, nil, err
				}
			}
			return r, r.mem, nil
		}
	}
	if dev.Unified() {
		if m := s.share(dev, c); m != nil {
			if err := s.host.usedOn(stream, m); err != nil {
				return nil, nil, err
			}
			return &s.host.replica, m, nil
		}
	}
	place := coherence.Place(len(s.devs) + 1)
	if int(place) >= coherence.MaxPlaces {
		return nil, nil, failure("use "+dev.Name(), hal.ErrUnsupported, "a buffer has at most %d places", coherence.MaxPlaces)
	}
	r := &replica{owner: s, place: place, dev: dev, res: residencyOf(dev)}
	if err := s.allocate(r, stream, c); err != nil {
		return nil, nil, err
	}
	s.devs = append(s.devs, r)
	return r, r.mem, nil
}

func (s *storage) allocate(r *replica, stream *hal.Stream, c cause) error {
	a, ok := r.res.take(r)
	if !ok {
		return &pressure{dev: r.dev}
	}
	if own := s.allocatorOn(r.dev); own != nil {
		a = own
	}
	r.res.mu.Lock() // under which others look for what to evict
	r.from = a
	r.res.mu.Unlock()
	got, err := obtain(a, r.dev, stream, hal.KindDevice, s.size)
	if err != nil {
		r.res.give(r)
		if errors.Is(err, hal.ErrOutOfMemory) {
			return &pressure{dev: r.dev, cause: err, from: a}
		}
		return err
	}
	r.holding = got
	if got.block.Live() {
		if p := got.block.Pool(); p != nil && p != r.pool {
			r.pool = p
			r.res.know(p)
		}
		if got.block.Ordered() {
			s.add(&r.hazards, hazard{hi: s.size, stream: stream, write: true, fence: true})
		}
	}
	r.sole.Store(false)
	s.m.Allocate(r.place)
	s.noteReplica(EventAlloc, r.dev, c)
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
	if s.inPlace(dev) != nil {
		return &s.host.replica
	}
	return nil
}

// inPlace returns the host's replica as a unified device knows it that shares it, else nil.
func (s *storage) inPlace(dev *hal.Device) *hal.Memory {
	for _, m := range s.host.shares {
		if m.Device().Same(dev) && dev.Unified() {
			return m
		}
	}
	return nil
}

// free gives a device's replica back when the work that uses it has finished.
func (r *replica) free(c cause) error {
	if !r.adopted {
		r.res.give(r)
	}
	r.owner.noteReplica(EventFree, r.dev, c)
	return r.holding.free(&r.hazards)
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
	dev, h := stream.Device().Common(), &s.host
	if h.home != nil && stream.Use(h.home) != nil {
		return false
	}
	if dev.Caps().Has(hal.CapPageableOrder) {
		return true
	}
	known, locked := false, false
	for _, l := range h.locks {
		if l.mem != nil && stream.Use(l.mem) != nil { // another device's lock, too: the driver may rely on it
			return false
		}
		if l.dev.Same(dev) {
			known, locked = true, l.mem != nil
		}
	}
	if known {
		return locked
	}
	if h.home != nil && h.home.Device().Same(dev) {
		return true
	}
	lockable := h.bytes != nil || h.guard != nil || h.adopted && h.home == nil
	if !lockable || s.size < worthLocking || !dev.Caps().Has(hal.CapRegister) {
		return false
	}
	m, err := dev.Register(h.slice(0, s.size))
	if err != nil {
		m = nil
	}
	h.locks = append(h.locks, pagelock{dev, m})
	return m != nil && stream.Use(m) == nil
}
