package buffer

import (
	"fmt"
	"github.com/go-halyard/halyard/buffer/internal/resident"
	"math"
	"unsafe"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/protocol"
)

// hostReplica is the replica at the host, which unified devices share: its memory, the devices that use it in place, and the devices
// for which it is page-locked.
type hostReplica struct {
	replica
	ptr   unsafe.Pointer // nil until there is memory
	bytes []byte         // the memory at ptr if it is on the Go heap
	home  *hal.Memory    // the memory at ptr if a device allocated it
	clean bool           // all bytes are zero so far

	release func() // of an adopted slice, or of guarded memory
	guard   *guard // the memory at ptr if the buffer is guarded

	shares []*hal.Memory // the same bytes as memory of devices, including home
	locks  []pagelock
}

func (h *hostReplica) slice(lo, hi uint64) []byte {
	return unsafe.Slice((*byte)(h.pointer(lo)), hi-lo)
}

const (
	maxHost = min(1<<46, math.MaxInt-1<<12) // bytes; Go cannot allocate more
	probed  = 64 << 20                      // from this size in bytes on, ready calls available first, because Go's allocator ends the process if memory runs out
)

// alignedBytes returns zeroed memory. From 4096 bytes on it starts at a multiple of 4096, the usual size of a page, so that devices can
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

// ready makes sure that the host has memory.
func (h *hostReplica) ready(c cause) error {
	s := h.owner
	if h.ptr != nil {
		return nil
	}
	if s.homeOn != nil && s.size > 0 && !mustMap(s.homeOn) {
		return h.allocateOn(s.homeOn, c)
	}
	if s.size > maxHost || s.size >= probed && !available(s.size) {
		return &hal.Error{Op: "host replica", Device: -1, Kind: hal.ErrOutOfMemory,
			Detail: fmt.Sprintf("%d bytes are more than the host has", s.size)}
	}
	if s.guarded && s.size > 0 {
		g, err := newGuard(s, s.size)
		if err != nil {
			return err
		}
		h.guard, h.ptr = g, g.pointer()
		h.release = func() { retire(g.pages) }
	} else {
		h.bytes = alignedBytes(s.size)
		h.ptr = unsafe.Pointer(unsafe.SliceData(h.bytes))
	}
	h.clean = true
	_ = s.m.Allocate(protocol.Host)
	s.noteReplica(ActivityAlloc, nil, c)
	return nil
}

// allocateOn allocates the host's replica as page-locked memory of a device.
func (h *hostReplica) allocateOn(dev *hal.Device, c cause) error {
	s := h.owner
	got, err := h.memory(layer.Common(dev))
	if err != nil {
		return err
	}
	h.home, h.Base, h.Block = got.Mem, got.Base, got.Block
	h.shares = append(h.shares, got.Mem)
	h.clean = false
	h.ptr = unsafe.Add(got.Mem.HostPointer(), got.Base)
	_ = s.m.Allocate(protocol.Host)
	s.noteReplica(ActivityAlloc, nil, c)
	return nil
}

// mustMap reports whether the host would have to map memory of the device before each use. Such memory cannot be the host's replica.
func mustMap(dev *hal.Device) bool { return dev.Caps().Has(hal.CapMustMap) }

// as returns the host's replica as memory of dev, if that is a unified device that shares the replica, else nil.
func (h *hostReplica) as(dev *hal.Device) *hal.Memory {
	for _, m := range h.shares {
		if m.Device().Same(dev) && layer.SharesHostMemory(dev) {
			return m
		}
	}
	return nil
}

// share returns the host's replica as memory of a unified device. It returns nil if the device cannot work on it in place. The error is an
// unready if work has to end first.
func (h *hostReplica) share(dev *hal.Device, c cause) (*hal.Memory, error) {
	s := h.owner
	if m := h.as(dev); m != nil {
		return m, nil
	}
	if s.guarded && s.homeOn == nil && !h.adopted || s.size == 0 {
		return nil, nil
	}
	if h.ptr == nil {
		if s.homeOn == nil || s.homeOn.Same(dev) {
			if h.allocateOn(dev, c) == nil {
				return h.home, nil
			}
			return nil, nil
		}
		if h.ready(c) != nil {
			return nil, nil
		}
	}
	if dev.Caps().Has(hal.CapRegister) {
		if m, err := dev.Register(h.slice(0, s.size)); err == nil {
			h.shares = append(h.shares, m)
			return m, nil
		}
	}
	return h.move(dev, c)
}

// usedOn records that work of the stream may use the host's replica through m, one of the shares. The bytes are in the home memory, which
// does not know the use of other shares and could otherwise be freed during the work.
func (h *hostReplica) usedOn(stream *hal.Stream, m *hal.Memory) error {
	if h.home == nil || h.home == m {
		return nil
	}
	return stream.RecordUse(h.home)
}

// move moves the host's replica from Go's heap to memory of a unified device, so that host and device can work on it in place from now on. If
// work on the replica has to end first, the error is an unready. Move returns nil if the replica cannot move: it is not on the heap, or other
// devices use it in place, or an access of the host is open.
func (h *hostReplica) move(dev *hal.Device, c cause) (*hal.Memory, error) {
	s := h.owner
	if h.bytes == nil || len(h.shares) > 0 || s.onHost() {
		return nil, nil
	}
	var left []*order.Work
	h.order.Works(func(w *order.Work, _ bool) {
		if done, _ := w.End(); !done {
			left = append(left, w.Retain())
		}
	})
	if len(left) > 0 {
		return nil, &unready{left}
	}
	_ = s.learn(nil, 0, s.size)
	m, err := dev.Alloc(hal.KindHost, s.size, 0)
	if err != nil {
		return nil, nil
	}
	if m.HostPointer() == nil {
		_ = m.Close()
		return nil, nil
	}
	to := unsafe.Slice((*byte)(m.HostPointer()), s.size)
	s.m.Runs(0, s.size, func(lo, hi uint64, valid protocol.Set) bool {
		if valid.Has(protocol.Host) {
			s.stats.BytesRelocated += uint64(copy(to[lo:hi], h.bytes[lo:hi]))
		}
		return true
	})
	for _, l := range h.locks {
		if l.mem != nil {
			_ = l.mem.Close()
		}
	}
	h.order.Clear()
	h.locks, h.bytes, h.ptr, h.clean = nil, nil, m.HostPointer(), false
	h.home, h.Base, h.shares = m, 0, []*hal.Memory{m}
	return m, nil
}

// drop frees the host's replica, and passes each error to keep. If u is not nil, its release function runs only after the memories that
// drop closes have been freed.
func (h *hostReplica) drop(u *lastUse, keep func(error), c cause) {
	s := h.owner
	if h.ptr != nil {
		s.noteReplica(ActivityFree, nil, c)
	}
	pooled := h.Block.Valid()
	var mems []*hal.Memory
	for _, m := range h.shares {
		if m != h.home || !pooled {
			mems = append(mems, m)
		}
	}
	for _, l := range h.locks {
		if l.mem != nil {
			mems = append(mems, l.mem)
		}
	}
	for _, m := range mems {
		keep(u.close(m))
	}
	if pooled {
		m := resident.Memory{Mem: h.home, Block: h.Block}
		keep(m.Free(&h.order))
	}
	h.order.Clear()
	h.Block, h.Base, h.guard = pool.Block{}, 0, nil
	h.ptr, h.bytes, h.home, h.shares, h.locks = nil, nil, nil, nil, nil
	h.clean = false
	s.recent.mem = nil
}

// pagelock is a device's page-lock on the host's replica.
type pagelock struct {
	dev *hal.Device
	mem *hal.Memory // nil if the device refused
}

// lockedFor reports whether copies of a device are known to access the replica in stream order.
func (h *hostReplica) lockedFor(dev *hal.Device) bool {
	if dev.Caps().Has(hal.CapOrderedPageable) {
		return true
	}
	for _, l := range h.locks {
		if l.dev.Same(dev) {
			return l.mem != nil
		}
	}
	return h.home != nil && h.home.Device().Same(dev)
}

// worthLocking is the smallest size in bytes for which the host's replica is page-locked for a device that
// copies asynchronously only from such memory.
const worthLocking = 64 << 10

// lock prevents the host's memory from being freed during copies on the stream. It also page-locks the memory if the replica is
// large enough and the device copies memory that is not page-locked out of stream order. It reports whether copies access the replica in stream order.
func (h *hostReplica) lock(stream *hal.Stream) (ordered bool) {
	dev := layer.Common(stream.Device())
	if h.home != nil && stream.RecordUse(h.home) != nil {
		return false
	}
	if dev.Caps().Has(hal.CapOrderedPageable) {
		return true
	}
	known, locked := false, false
	for _, l := range h.locks {
		if l.mem != nil && stream.RecordUse(l.mem) != nil { // also for locks of other devices, because the driver may rely on them
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
	size := h.owner.size
	lockable := h.bytes != nil || h.guard != nil || h.adopted && h.home == nil
	if !lockable || size < worthLocking || !dev.Caps().Has(hal.CapRegister) || mustMap(dev) {
		return false
	}
	m, err := dev.Register(h.slice(0, size))
	if err != nil {
		m = nil
	}
	h.locks = append(h.locks, pagelock{dev, m})
	return m != nil && stream.RecordUse(m) == nil
}

// memory allocates page-locked memory for the host's replica.
func (h *hostReplica) memory(dev *hal.Device) (resident.Memory, error) {
	s := h.owner
	a := s.allocatorOn(dev)
	if a == nil {
		a = resident.Of(dev).Allocator()
	}
	got, err := resident.Obtain(a, dev, nil, hal.KindHost, s.size)
	if err == nil && got.Mem.HostPointer() == nil {
		_ = got.Free(new(order.Order))
		return resident.Memory{}, hal.Errorf("host replica", hal.ErrUnsupported, "the host cannot access page-locked memory of %s", dev.Name())
	}
	return got, err
}
