package buffer

import (
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/go-halyard/halyard/buffer/internal/resident"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/protocol"
)

// Adopt returns a buffer over existing memory, from [hal.Device.Alloc], [hal.Device.Import] or elsewhere. Nothing is copied: the memory
// becomes the buffer's replica at its place, and the buffer has its contents. The place is the host for page-locked memory, and for
// memory of a unified device, if the host can access it ([hal.Memory.HostPointer]); otherwise it is the memory's device. Other places get replicas of their own when they use the buffer.
//
// The buffer owns the memory from now on, and closes it when the buffer is closed and the work that uses the memory has
// finished. Until then the memory is never evicted ([Buffer.Evict] of its place fails with an error
// of kind ErrUnsupported), and budgets do not count it. The buffer covers the whole allocation. The buffer does not know
// earlier work on the memory: make the streams of later accesses wait for that work first.
//
// The error is of kind ErrClosed if the memory is closed, ErrInvalidArgument if its size is not a multiple of the
// element's or an element contains a bool (a byte of the memory need not be a valid one), and ErrMisaligned if elements cannot start at its
// address. It is also of kind ErrInvalidArgument if the memory's place is the host and the option [WithPinnedHost] is given, which asks for
// other memory there. After an error the program still owns the memory.
func Adopt[T Element](mem *hal.Memory, opts ...Option) (*Buffer[T], error) {
	const op = "Adopt"
	var zero T
	elem, bools, err := elementOf[T](op)
	switch {
	case err != nil:
		return nil, err
	case bools:
		return nil, hal.Errorf(op, hal.ErrInvalidArgument,
			"%T contains a bool, and bytes of the memory may be neither true nor false; adopt it as uint8", zero)
	case mem == nil:
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
		return nil, hal.Errorf(op, hal.ErrMisaligned, "elements must be aligned to %d bytes, and the memory is at %#x",
			unsafe.Alignof(zero), addresses)
	}
	s := newStorage(elem, size, opts)
	s.alignment = alignmentOf(addresses)
	c := cause{op: op, action: protocol.Overwrite}
	if size == 0 || host == nil || mem.Kind() != hal.KindHost && !layer.SharesHostMemory(dev) {
		r, err := s.addReplica(dev)
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
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "the memory becomes the host's replica; WithPinnedHost asks for another")
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
	elem, bools, err := elementOf[T](op)
	if err != nil {
		return nil, err
	}
	if uintptr(ptr)%unsafe.Alignof(zero) != 0 {
		return nil, hal.Errorf(op, hal.ErrMisaligned, "elements must be aligned to %d bytes, and the slice is at %p", unsafe.Alignof(zero),
			ptr)
	}
	if ptr == nil {
		ptr = unsafe.Pointer(&nothing) // a host replica at nil has no memory yet
	}
	s := newStorage(elem, uint64(len(data))*elem, opts)
	if s.homeOn != nil {
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "the slice becomes the host's replica; WithPinnedHost asks for another")
	}
	s.alignment, s.bools = alignmentOf(uint64(uintptr(ptr))), bools
	h := &s.host
	h.AdoptBytes(ptr, release)
	h.adopted = true
	h.replica.adopt(cause{op: op, action: protocol.Overwrite})
	return newHandle[T](s), nil
}

var nothing uint64

// adopt makes the first replica of a new storage current.
func (r *replica) adopt(c cause) {
	s := r.storage
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

// SetBudget limits the memory of all replicas on a device to a number of bytes. 0, the default, sets
// no limit except the device's own. When an access needs a new replica and the budget is used up, replicas of other buffers
// are evicted: first those whose bytes are all current elsewhere, then those that
// must be copied to the host first, in each case the least recently used first. Replicas under a lease
// stay. If that is not enough the access waits until its context ends for leases of launches and other calls of this module, in the order of
// arrival. If there are none, it fails with an error of kind hal.ErrOutOfMemory, which says how much memory replicas have. The
// same happens, without a budget, when the device itself is out of memory.
//
// Memory of an allocator counts while a replica has it. If an evicted replica has to be copied first, its memory counts until the copy has
// ended. An access that needs that memory waits for the copy until its context ends. TryAcquire, and the other calls that do not wait, fail
// instead with an error of the kinds hal.ErrNotReady and hal.ErrOutOfMemory; the copy goes on, so the same call may succeed later.
//
// If the new budget is less than the memory in use, the next access that needs room evicts replicas until the budget is met.
//
// A device that works on the host's replica in place (SharesHostMemory in [hal.Info]) has no replicas of its own, so a budget has no
// effect there, except for guarded buffers and those whose host memory the device cannot use.
func SetBudget(dev *hal.Device, bytes uint64) {
	resident.Of(dev).SetBudget(bytes)
}

// Residency describes the memory of all replicas on one device.
type Residency struct {
	Budget      uint64 // bytes, 0 for no budget
	Used        uint64 // bytes, including evicted replicas whose copies have not ended yet
	Replicas    int
	Evictions   uint64 // number of replicas that were evicted to make room for others
	WrittenBack uint64 // bytes that had to be copied before these evictions
}

// ResidencyOf returns the residency of a device.
func ResidencyOf(dev *hal.Device) Residency {
	f := resident.Of(dev).Figures()
	return Residency{f.Budget, f.Used, f.Replicas, f.Evictions, f.Written}
}

// WithAllocator makes the buffer allocate its replica on the device from an allocator of that
// device's memory, and not from the allocator of [SetAllocator]. If a is nil, the memory comes from the device itself.
// With [WithPinnedHost] of the same device the host's replica comes from the allocator as well. The
// option may be given once for each device.
//
// Memory is freed on the stream that used it last, and goes back to the allocator even while that stream still works.
// Before closing such a stream, call [pool.Pool.ForgetStream] if the allocator is a pool.
//
// Close the buffer before the allocator.
func WithAllocator(dev *hal.Device, a pool.Allocator) Option {
	return func(s *storage) {
		s.allocator = slices.DeleteFunc(s.allocator, func(x allocatorOn) bool { return x.dev.Same(dev) })
		if a == nil && dev != nil {
			a = pool.Direct(dev)
		}
		if dev != nil {
			s.allocator = append(s.allocator, allocatorOn{dev, a})
		}
	}
}

// SetAllocator sets the allocator for new replicas on a device handle, in buffers made without the option
// [WithAllocator]. If a is nil, which is the default, the memory comes from the device itself. Existing replicas keep their memory.
//
// There is no pool by default, because other programs, and other libraries in this program, cannot use the memory that a pool
// keeps, and the device does not close before the pool. With a pool, allocating and freeing a
// replica takes some hundred nanoseconds and calls no function of the vendor:
//
//	p, err := pool.New(dev)
//	buffer.SetAllocator(dev, p)
//
// When memory runs out, pools first free memory that they keep; only then are replicas evicted. To close the pool,
// close the buffers and set another allocator.
func SetAllocator(dev *hal.Device, a pool.Allocator) {
	if dev == nil {
		return
	}
	resident.Of(dev).SetAllocator(a)
}

// WithGuard helps to find two mistakes: using a slice after its access has ended (a slice kept from [Buffer.View] would
// read stale bytes, and writes to it would be lost), and writing to a slice of an access for reading. The host's replica then has pages
// of memory of its own. The program can read them only while an access of the host is open or a copy uses them, and write them only while
// such an access or copy writes. A wrong use ends the program with "unexpected fault address" and its stack. The word guard in
// HALYARD_DEBUG guards every buffer of the process.
//
// A guarded buffer is for tests: devices that share the host's memory get a copy of their own, accesses of the host make
// two system calls, and the addresses of the last thousand host replicas stay reserved after Close, so that a use after Close is
// found too. WithGuard has no effect on memory from [Adopt], [AdoptSlice] or [WithPinnedHost]. It works only on
// Linux; on other systems every use of the host's replica fails with an error of kind ErrUnsupported.
func WithGuard() Option { return func(s *storage) { s.guarded = true } }
