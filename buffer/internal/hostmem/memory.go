// Package hostmem manages the memory of a buffer's replica at the host: where it comes from, which devices use it in place, which devices it
// is page-locked for, and the guard that finds wrong uses of it.
//
// The memory is Go's, or page-locked memory of a device, or memory that the program gave (Adopt), or pages of the system that can be made
// inaccessible (a guarded buffer). A device that shares host memory uses it through a memory of its own over the same bytes, a share.
package hostmem

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/buffer/internal/resident"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/layer"
)

// Memory is the memory of a host replica, or the place for it until there is some. It is not safe for concurrent use.
type Memory struct {
	Bytes []byte // nil until there is memory
	Clean bool   // all bytes are zero so far

	size    uint64
	heap    bool        // the memory is on the Go heap
	home    *hal.Memory // the memory if a device allocated it
	base    uint64      // bytes from the start of home to the first of Bytes
	block   pool.Block  // of home, if it came from an allocator
	guard   *guard      // the memory if the buffer is guarded
	adopted bool
	release func() // of an adopted slice, or of guarded memory

	shares []*hal.Memory // the same bytes as memory of devices, including home
	locks  []pagelock
	copied uint64 // bytes that were copied by devices for which the memory is not page-locked
}

const (
	// most is the largest number of bytes that Go can allocate.
	most = min(1<<46, math.MaxInt-1<<12)

	// From probed bytes on, Allocate calls available first, because Go's allocator ends the process if memory runs out.
	probed = 64 << 20
)

// Init sets the number of bytes.
func (m *Memory) Init(size uint64) { m.size = size }

// Home returns the memory if a device allocated it, else nil.
func (m *Memory) Home() *hal.Memory { return m.home }

// Guarded reports whether the memory has a guard.
func (m *Memory) Guarded() bool { return m.guard != nil }

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

// Allocate allocates zeroed memory, with a guard if guarded is set.
func (m *Memory) Allocate(guarded bool) error {
	if m.size > most || m.size >= probed && !available(m.size) {
		return &hal.Error{Op: "host replica", Device: -1, Kind: hal.ErrOutOfMemory,
			Detail: fmt.Sprintf("%d bytes are more than the host has", m.size)}
	}
	if guarded && m.size > 0 {
		g, err := newGuard(m.size)
		if err != nil {
			return err
		}
		m.guard, m.Bytes = g, g.pages[:m.size]
		m.release = func() { retire(g.pages) }
	} else {
		m.heap, m.Bytes = true, alignedBytes(m.size)
	}
	m.Clean = true
	return nil
}

// AllocateOn allocates page-locked memory of a device, from the allocator if that is not nil.
func (m *Memory) AllocateOn(dev *hal.Device, a pool.Allocator) error {
	dev = layer.Common(dev)
	got, err := resident.Obtain(a, dev, nil, hal.KindHost, m.size)
	if err != nil {
		return err
	}
	if got.Mem.HostPointer() == nil {
		_ = got.Free(new(order.Order))
		return hal.Errorf("host replica", hal.ErrUnsupported, "the host cannot access page-locked memory of %s", dev.Name())
	}
	m.home, m.base, m.block = got.Mem, got.Base, got.Block
	m.shares = append(m.shares, got.Mem)
	m.setBytes(unsafe.Add(got.Mem.HostPointer(), got.Base))
	return nil
}

// Adopt makes memory of a device, which the host can access, the replica's memory.
func (m *Memory) Adopt(mem *hal.Memory) {
	m.home, m.shares, m.adopted = mem, []*hal.Memory{mem}, true
	m.setBytes(mem.HostPointer())
}

// AdoptBytes makes the bytes at ptr the replica's memory. release, unless it is nil, is called when nothing uses them any more.
func (m *Memory) AdoptBytes(ptr unsafe.Pointer, release func()) {
	m.adopted, m.release = true, release
	m.setBytes(ptr)
}

// setBytes makes the memory at ptr, whose contents are not known, the replica's.
func (m *Memory) setBytes(ptr unsafe.Pointer) {
	m.Bytes, m.Clean = unsafe.Slice((*byte)(ptr), m.size), false
}

// On returns the replica as memory of dev, if that is a device that shares it, else nil.
func (m *Memory) On(dev *hal.Device) *hal.Memory {
	for _, s := range m.shares {
		if s.Device().Same(dev) && layer.SharesHostMemory(dev) {
			return s
		}
	}
	return nil
}

// Share makes the memory one that a device uses in place, and returns it as memory of the device, or nil if the device cannot.
func (m *Memory) Share(dev *hal.Device) *hal.Memory {
	if !dev.Caps().Has(hal.CapRegister) {
		return nil
	}
	s, err := dev.Register(m.Bytes)
	if err != nil {
		return nil
	}
	m.shares = append(m.shares, s)
	return s
}

// CanMove reports whether the memory is on Go's heap, and no device uses it in place.
func (m *Memory) CanMove() bool { return m.heap && len(m.shares) == 0 }

// Move moves the replica to memory of a device that shares host memory, and returns that, or nil if there is none. Nothing uses the
// memory now. fill calls its function for each range that is to be copied.
func (m *Memory) Move(dev *hal.Device, fill func(move func(lo, hi uint64))) *hal.Memory {
	home, err := dev.Alloc(hal.KindHost, m.size, 0)
	if err != nil {
		return nil
	}
	if home.HostPointer() == nil {
		_ = home.Close()
		return nil
	}
	old := m.Bytes
	m.setBytes(home.HostPointer())
	fill(func(lo, hi uint64) { copy(m.Bytes[lo:hi], old[lo:hi]) })
	for _, l := range m.locks {
		_ = l.close((*hal.Memory).Close)
	}
	m.locks, m.heap = nil, false
	m.home, m.base, m.shares = home, 0, []*hal.Memory{home}
	return home
}

// RegionOn returns the range [lo, hi) in share, which is one of the shares.
func (m *Memory) RegionOn(share *hal.Memory, lo, hi uint64) hal.Region {
	if share == m.home {
		lo, hi = m.base+lo, m.base+hi
	}
	return share.Region(lo, hi-lo)
}

// Owed reports whether UsedOn has something to record: the bytes are in the home memory, and share is another memory over them.
func (m *Memory) Owed(share *hal.Memory) bool { return m.home != nil && m.home != share }

// UsedOn records that work of the stream may use the replica through share. The bytes are in the home memory, which
// does not know the use of other shares and could otherwise be freed during the work.
func (m *Memory) UsedOn(stream *hal.Stream, share *hal.Memory) error {
	if !m.Owed(share) {
		return nil
	}
	return stream.RecordUse(m.home)
}

// pagelock is a device's page-lock on the replica.
type pagelock struct {
	dev     *hal.Device
	mem     *hal.Memory // nil if the device refused
	counted bool        // in lockedBytes if mem is not nil
}

// close ends the page-lock, by a function that closes the memory.
func (l *pagelock) close(by func(*hal.Memory) error) error {
	if l.mem == nil {
		return nil
	}
	if l.counted {
		lockedBytes.Add(-int64(l.mem.Size()))
	}
	return by(l.mem)
}

// LockedFor reports whether copies of a device are known to access the replica in stream order.
func (m *Memory) LockedFor(dev *hal.Device) bool {
	if dev.Caps().Has(hal.CapOrderedPageable) {
		return true
	}
	for _, l := range m.locks {
		if l.dev.Same(dev) {
			return l.mem != nil
		}
	}
	return m.home != nil && m.home.Device().Same(dev)
}

// worthLocking is the smallest size in bytes for which the replica is page-locked for a device that copies asynchronously only from such
// memory.
const worthLocking = 64 << 10

// A device that copies memory that is not page-locked in stream order does that through memory of the driver, and takes several times as
// long. Page-locking takes as long as one or two such copies. So a replica of gainsFrom to gainsTo bytes is page-locked for such a device
// when it has been copied before, as long as all that is page-locked for this reason has at most lockedMost bytes. Copies of small parts do
// not count, since all of it is page-locked. Memory that the program gave is not page-locked for this reason: its pages are the program's.
const (
	gainsFrom  = 1 << 20
	gainsTo    = 1 << 30
	lockedMost = 4 << 30
	copiesOf   = 2 // copies of the whole replica, in bytes, before it is page-locked
	smallPart  = 4 // a copy of less than a quarter of the replica does not count
)

var lockedBytes atomic.Int64 // page-locked for devices that would copy in stream order anyway

// PageLock prevents the memory from being freed during a copy of n bytes on the stream. It also page-locks the memory if the replica is
// large enough, and either the device copies memory that is not page-locked out of stream order or the lock makes further copies faster. It
// reports whether copies access the replica in stream order.
func (m *Memory) PageLock(stream *hal.Stream, n uint64) (ordered bool) {
	dev := layer.Common(stream.Device())
	if m.home != nil && stream.RecordUse(m.home) != nil {
		return false
	}
	ordered = dev.Caps()&hal.CapOrderedPageable != 0
	known, locked := false, false
	for _, l := range m.locks {
		if l.mem != nil && stream.RecordUse(l.mem) != nil { // of every device: a page-lock may be one for all devices of the driver
			return false
		}
		if l.dev.Same(dev) {
			known, locked = true, l.mem != nil
		}
	}
	switch {
	case known:
		return ordered || locked
	case m.home != nil:
		return ordered || m.home.Device().Same(dev)
	case m.size < worthLocking || !dev.Caps().Has(hal.CapRegister):
		return ordered
	case ordered && !m.gains(dev, n):
		return true
	}
	lock, err := dev.Register(m.Bytes)
	if err != nil {
		lock = nil
		if ordered {
			lockedBytes.Add(-int64(m.size))
		}
	}
	m.locks = append(m.locks, pagelock{dev, lock, ordered})
	if lock != nil && stream.RecordUse(lock) != nil {
		return false
	}
	return ordered || lock != nil
}

// Unlock ends the page-lock of a device, so that the device can be closed, when the work that uses it has finished. Memory with a release
// function stays page-locked until it is freed, because the function is called after that.
func (m *Memory) Unlock(dev *hal.Device) (err error) {
	if dev == nil || m.release != nil {
		return nil
	}
	m.locks = slices.DeleteFunc(m.locks, func(l pagelock) bool {
		if !l.dev.Same(dev) {
			return false
		}
		err = l.close((*hal.Memory).Close)
		return true
	})
	m.copied = 0
	return err
}

// gains counts a copy of n bytes and reports whether page-locking makes copies of the device faster and pays. If so, the bytes count in
// lockedBytes.
func (m *Memory) gains(dev *hal.Device, n uint64) bool {
	if m.size < gainsFrom || m.size > gainsTo || n < m.size/smallPart || m.guard != nil || m.adopted {
		return false
	}
	if dev.Info().PCI == "" || layer.SharesHostMemory(dev) {
		return false
	}
	copied := m.copied
	m.copied += n
	if copied < copiesOf*m.size {
		return false
	}
	if lockedBytes.Add(int64(m.size)) > lockedMost {
		lockedBytes.Add(-int64(m.size))
		return false
	}
	return true
}
