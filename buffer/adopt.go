package buffer

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/protocol"
)

// Adopt returns a buffer over existing memory, from [hal.Device.Alloc], [hal.Device.Import] or elsewhere.
// Nothing is copied: the memory becomes the buffer's replica at its place, and the buffer has its contents.
// The place is the host for page-locked memory, and for memory of a unified device that the host can
// access; otherwise, and if the host has to map the memory ([hal.Memory.NeedsMap]), it is the memory's device. Other places get replicas of their own when they use the buffer.
//
// The buffer owns the memory from now on, and closes it when the buffer is closed and the work that uses the memory has
// finished. Until then the memory is never evicted ([Buffer.Evict] of its place fails with an error
// of kind ErrUnsupported), and budgets do not count it. The buffer covers the whole allocation. The buffer does not know
// earlier work on the memory: make the streams of later accesses wait for that work first. Memory that the host has to map must not be
// mapped when Adopt is called.
//
// The error is of kind ErrClosed if the memory is closed, ErrInvalidArgument if its size is not a multiple of the
// element's, and ErrMisaligned if elements cannot start at its address. It is also of kind ErrInvalidArgument if
// the memory's place is the host and the option [WithPinnedHost] is given, which asks for other memory there.
// After an error the program still owns the memory.
func Adopt[T Element](mem *hal.Memory, opts ...Option) (*Buffer[T], error) {
	const op = "Adopt"
	var zero T
	elem := uint64(unsafe.Sizeof(zero))
	if mem == nil {
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "nil memory")
	}
	dev, size := layer.Common(mem.Device()), mem.Size()
	stream, err := dev.CopyStream(false)
	if err == nil {
		err = stream.RecordUse(mem)
	}
	if err != nil {
		return nil, err
	}
	host := mem.HostPointer()
	addresses := uint64(uintptr(host))
	if dev.Caps().Has(hal.CapAddress) {
		addresses |= uint64(mem.Handle())
	}
	switch {
	case size%elem != 0:
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "%d bytes are not a multiple of the element size, %d bytes", size, elem)
	case size > math.MaxInt:
		return nil, hal.Errorf(op, hal.ErrOutOfRange, "%d bytes", size)
	case addresses%uint64(unsafe.Alignof(zero)) != 0:
		return nil, hal.Errorf(op, hal.ErrMisaligned, "elements must be aligned to %d bytes, and the memory is at %#x", unsafe.Alignof(zero), addresses)
	}
	s := newStorage(elem, size, opts)
	s.alignment = alignmentOf(addresses)
	c := cause{op: op, action: protocol.Overwrite}
	if size == 0 || mem.NeedsMap() || mem.Kind() != hal.KindHost && (!layer.SharesHostMemory(dev) || host == nil) {
		r, err := s.places.add(dev)
		if err != nil {
			return nil, err
		}
		r.Mem, r.adopted = mem, true
		r.adopt(c)
		return newHandle[T](s), nil
	}
	h := &s.host
	switch {
	case s.homeOn != nil:
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "the memory becomes the host's replica, and the option WithPinnedHost asks for another")
	case host == nil:
		return nil, hal.Errorf(op, hal.ErrUnsupported, "the host cannot access this %s memory", mem.Kind())
	}
	h.Adopt(mem)
	h.adopted = true
	h.replica.adopt(c)
	return newHandle[T](s), nil
}

// AdoptSlice returns a buffer whose host replica is the slice itself: nothing is copied, and devices that work
// on host memory in place work on the slice. The slice may be in Go's memory or in other memory that the host can access. Until
// the buffer has been closed, the program must use the slice only through the buffer, or between [Buffer.SyncTo] of the host and
// [Buffer.MarkHostModified]. Memory that is not Go's
// must not be freed before release is called.
//
// release, unless it is nil, is called once, when the buffer has been closed and the last work that uses the slice has
// finished. Close itself calls it if no work is under way; otherwise it runs on a goroutine of its own, where a panic ends the
// program. If AdoptSlice fails, release is not called.
//
// [Buffer.Evict] of the host fails with an error of kind ErrUnsupported. The error of AdoptSlice is of kind ErrInvalidArgument
// for the option [WithPinnedHost], and ErrMisaligned if elements cannot start at the slice's address.
func AdoptSlice[T Element](data []T, release func(), opts ...Option) (*Buffer[T], error) {
	const op = "AdoptSlice"
	ptr := unsafe.Pointer(unsafe.SliceData(data))
	var zero T
	elem := uint64(unsafe.Sizeof(zero))
	if uintptr(ptr)%unsafe.Alignof(zero) != 0 {
		return nil, hal.Errorf(op, hal.ErrMisaligned, "elements must be aligned to %d bytes, and the slice is at %p", unsafe.Alignof(zero), ptr)
	}
	if ptr == nil {
		ptr = unsafe.Pointer(&nothing) // a host replica at nil has no memory yet
	}
	s := newStorage(elem, uint64(len(data))*elem, opts)
	if s.homeOn != nil {
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "the slice becomes the host's replica, and the option WithPinnedHost asks for another")
	}
	s.alignment = alignmentOf(uint64(uintptr(ptr)))
	h := &s.host
	h.AdoptBytes(ptr, release)
	h.adopted = true
	h.replica.adopt(cause{op: op, action: protocol.Overwrite})
	return newHandle[T](s), nil
}

var nothing uint64

// adopt makes the first replica of a new storage current.
func (r *replica) adopt(c cause) {
	s := r.owner
	_ = s.m.Allocate(r.place)
	s.noteReplica(ActivityAlloc, r.dev, c)
	s.version++
	s.wrote(protocol.Overwrite, r.place, 0, s.size)
}

// alignmentOf is the largest power of two that divides all addresses; the argument is their bitwise or.
func alignmentOf(addresses uint64) uint64 {
	if addresses == 0 {
		return 0
	}
	return 1 << bits.TrailingZeros64(addresses)
}
