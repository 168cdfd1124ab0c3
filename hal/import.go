package hal

import (
	"math"

	"github.com/go-halyard/halyard/hal/driver"
)

// ExternalMemory describes memory that another library or the program itself allocated.
type ExternalMemory struct {
	// Kind is the kind of memory.
	Kind Kind

	// Handle has the meaning of [Memory.Handle] on the device: the memory's address on the device,
	// a pointer to unified shared memory or SVM, a cl_mem of the device's own context, or
	// on the host any address that the process may read and write.
	//
	// To Go it is only a number. If it is the address of Go memory, a [runtime.Pinner] must hold that memory until
	// Release, or it may move or be collected. [Device.Register] and buffer.AdoptSlice hold the memory themselves.
	Handle uintptr

	// Size is in bytes. If it is 0, the handle is not looked at.
	Size uint64

	// Release, unless it is nil, is called once when the library no longer needs the memory: after Close and
	// after the last work that uses the memory. It may keep an owner alive by closing over it, and may free
	// the memory.
	//
	// If no work uses the memory when it is closed, Close calls Release before it returns. Otherwise
	// Release runs on a new goroutine, never on a thread of the vendor's; a panic there ends the program. It may use
	// the device, but must not wait for it to be closed or reclaimed.
	Release func()
}

// Import makes a Memory of memory that already exists. It behaves like memory from Alloc, with regions,
// checks and leak reports, but it is not counted in Usage and not freed. Once it is closed and no work
// uses it any more, Release is called instead. Until then its owner must keep the memory valid.
// Import does not know of the owner's own work on the memory: make streams wait for that work first.
//
// A part of the program's own memory may be imported too, to get a Memory for an address in it: the handle plus an offset, where a
// handle is an address (CapAddress). [Device.PointerInfo] finds the allocation. The owner must then be closed after the part.
//
// The arguments are checked against the vendor's records, if the vendor has them (CapPointerInfo). The error is of kind
// ErrInvalidArgument for a handle of 0 unless the size is 0 too, memory of another kind, or an address unknown to the vendor;
// ErrWrongDevice for memory of another device or context; ErrOutOfRange if the size exceeds the allocation;
// ErrMisaligned for an address that is not a multiple of 8 where fills need that (OpenCL); and ErrUnsupported on
// a device without CapImport. After an error Release is not called.
//
// Elsewhere Import believes the caller. On OpenCL without unified shared memory, and on the host, it checks that the first and the last byte can be
// read, if the device shares the host's memory, and the host knows which memory belongs to its discrete devices. Of a cl_mem it checks that
// the first word is that of an object of the same driver; whether the driver survives a handle that is stale, or of another kind of object, is up to the
// driver. On HIP without pointer queries it checks nothing of device memory.
func (d *Device) Import(f ExternalMemory) (*Memory, error) {
	const op = "import"
	s := d.state()
	if err := d.begin(op); err != nil {
		return nil, err
	}
	defer s.end()
	a, ok := s.Drv.(driver.Importer)
	info := &s.Info
	switch {
	case !ok || !info.Caps.Has(CapImport):
		return nil, s.Failure(op, ErrUnsupported, "importing memory is not supported")
	case f.Kind != KindDevice && f.Kind != KindHost && f.Kind != KindShared:
		return nil, s.Failure(op, ErrInvalidArgument, "invalid memory kind %v", f.Kind)
	case f.Handle == 0 && f.Size > 0:
		return nil, s.Failure(op, ErrInvalidArgument, "handle 0")
	case f.Kind == KindShared && !info.Caps.Has(CapShared):
		return nil, s.Failure(op, ErrUnsupported, "shared memory is not supported")
	case f.Size > math.MaxInt || f.Size > 0 && info.Caps.Has(CapAddress) && f.Size-1 > uint64(^uintptr(0)-f.Handle):
		return nil, s.Failure(op, ErrOutOfRange, "%d bytes at %#x exceed the address space", f.Size, f.Handle)
	}
	var drv driver.Memory = noBytes{}
	if f.Size > 0 {
		var err error
		if drv, err = a.Import(f.Kind, f.Handle, f.Size); err != nil {
			return nil, s.Check(err)
		}
	}
	m := &memoryState{drv: drv, kind: f.Kind, size: f.Size, origin: imported}
	m.Then = f.Release
	return newMemory(d, op, m)
}

// ImportStream makes a Stream of a vendor's stream that already exists on the same device: a CUstream, a
// hipStream_t, a cl_command_queue, or on the host a stream of this process. The owner may go on using it; all work runs in the order in which it was
// enqueued. On CUDA and HIP 0 is the legacy default stream. The per-thread default stream is refused with kind
// ErrUnsupported, because goroutines move between threads.
//
// The owner of the vendor's stream must keep it until release is called. release is called once, after Close
// and after the work enqueued before Close, under the rules of [ExternalMemory].Release; it may be nil.
// Close does not destroy the vendor's stream.
//
// The error is of kind ErrInvalidArgument if the vendor knows no such stream, or for an OpenCL queue that is not
// in-order; ErrWrongDevice for a stream of another device or context; and ErrUnsupported on a device without
// CapImportStream. A number that is no handle at all is refused where the driver can tell (CUDA, the host), and on OpenCL if its first word
// is not that of an object of the same driver; elsewhere a stale handle may end the process, as it does in C.
func (d *Device) ImportStream(handle uintptr, release func()) (*Stream, error) {
	const op = "import a stream"
	s := d.state()
	if err := d.begin(op); err != nil {
		return nil, err
	}
	defer s.end()
	a, ok := s.Drv.(driver.StreamImporter)
	if !ok || !s.Info.Caps.Has(CapImportStream) {
		return nil, s.Failure(op, ErrUnsupported, "importing streams is not supported")
	}
	drv, err := a.ImportStream(handle)
	if err != nil {
		return nil, s.Check(err)
	}
	st := makeStream(s, drv)
	st.outside, st.Then = true, release
	return newStream(d, op, st)
}

// PointerInfo describes the memory at an address of a device or of the host. The error is of kind ErrInvalidArgument
// if the vendor does not know the address, and ErrUnsupported on a device without CapPointerInfo.
func (d *Device) PointerInfo(ptr uintptr) (PointerInfo, error) {
	const op = "query a pointer"
	s := d.state()
	if err := d.begin(op); err != nil {
		return PointerInfo{}, err
	}
	defer s.end()
	q, ok := s.Drv.(driver.PointerQuerier)
	switch {
	case !ok || !s.Info.Caps.Has(CapPointerInfo):
		return PointerInfo{}, s.Failure(op, ErrUnsupported, "pointer queries are not supported")
	case ptr == 0:
		return PointerInfo{}, s.Failure(op, ErrInvalidArgument, "pointer 0")
	}
	info, err := q.PointerInfo(ptr)
	return info, s.Check(err)
}
