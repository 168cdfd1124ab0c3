package hal

import (
	"math"

	"github.com/go-halyard/halyard/hal/driver"
)

// ExternalMemory describes memory that the program got from elsewhere.
type ExternalMemory struct {
	// Kind is what the memory is.
	Kind Kind

	// Handle is the memory in the terms of [Memory.Handle] of the device: the device's address of it,
	// a pointer of unified shared memory or of SVM, a cl_mem of the device's own context, or
	// on the host any address that the whole process may read and write.
	//
	// To Go it is a number: memory of Go that it leads to is held by a [runtime.Pinner] until Release, or it may be
	// on a stack that moves, or be collected. [Device.Register] and buffer.AdoptSlice hold what they take.
	Handle uintptr

	// Size is in bytes.
	Size uint64

	// Release, unless it is nil, is told once that the library is done with the memory: after Close, and
	// after the last work that uses it. It may keep an owner alive by closing over it, and may be what
	// frees the memory.
	//
	// If nothing uses the memory when it is closed, Close calls Release before it returns. Otherwise
	// Release is called on a goroutine of its own, never on a thread of the vendor's, and where a panic ends the
	// program. It may use the device, but must not wait for it to be closed or reclaimed.
	Release func()
}

// Import makes a Memory of memory that exists already. It behaves like memory of Alloc, with regions,
// checks and leak reports; what it is not is counted in Usage, or freed: once it is closed and no
// work uses it any more, Release is called instead. Until then whoever owns it keeps it valid,
// whatever becomes of the Memory. Work that is under way on it elsewhere is not known here: order
// streams after it first.
//
// The vendor is asked where it can tell. A handle of 0, no bytes, memory of another kind and
// an address that the vendor does not know are of kind ErrInvalidArgument, memory of another device or
// context of kind ErrWrongDevice, more bytes than there are of kind ErrOutOfRange, an address that is no
// multiple of 8 where fills need that (OpenCL) of kind ErrMisaligned, and a device without CapImport of kind
// ErrUnsupported. After an error Release is not called.
func (d *Device) Import(f ExternalMemory) (*Memory, error) {
	const op = "import"
	s := d.state()
	if err := d.begin(op); err != nil {
		return nil, err
	}
	defer s.end()
	a, ok := s.drv.(driver.Importer)
	info := &s.info
	switch {
	case !ok || !info.Caps.Has(CapImport):
		return nil, s.failure(op, ErrUnsupported, "the device takes no memory from elsewhere")
	case f.Kind != KindDevice && f.Kind != KindHost && f.Kind != KindShared:
		return nil, s.failure(op, ErrInvalidArgument, "%v is no kind of memory", f.Kind)
	case f.Size == 0:
		return nil, s.failure(op, ErrInvalidArgument, "size 0")
	case f.Handle == 0:
		return nil, s.failure(op, ErrInvalidArgument, "handle 0")
	case f.Kind == KindShared && !info.Caps.Has(CapShared):
		return nil, s.failure(op, ErrUnsupported, "the device has no shared memory")
	case f.Size > math.MaxInt || info.Caps.Has(CapAddress) && f.Size-1 > uint64(^uintptr(0)-f.Handle):
		return nil, s.failure(op, ErrOutOfRange, "%d bytes from %#x on", f.Size, f.Handle)
	}
	drv, err := a.Import(f.Kind, f.Handle, f.Size)
	if err != nil {
		return nil, s.check(err)
	}
	var x *extra
	if f.Release != nil {
		x = &extra{release: f.Release}
	}
	return newMemory(d, op, drv, f.Kind, f.Size, imported, x)
}

// ImportStream makes a Stream of the vendor's stream of that handle, which was made elsewhere for the
// same device: a CUstream, a hipStream_t, a cl_command_queue. It may be used from both sides at any time, and
// its work is in one order. On CUDA and HIP 0 is the legacy default stream. The default stream of the thread is of
// kind ErrUnsupported: it is another one on each thread, and goroutines have none of their own.
//
// Whoever made the vendor's stream keeps it until release is called, which happens once, after Close
// and after the work enqueued before Close, under the rules of [Foreign].Release; nil means that
// nobody is told. Close does not destroy it.
//
// A handle that is no stream, as far as the vendor can tell, and an OpenCL queue that does not run its work in order
// are of kind ErrInvalidArgument, a stream of another device or context of kind ErrWrongDevice, and
// a device without CapImportStream of kind ErrUnsupported.
func (d *Device) ImportStream(handle uintptr, release func()) (*Stream, error) {
	const op = "import a stream"
	s := d.state()
	if err := d.begin(op); err != nil {
		return nil, err
	}
	defer s.end()
	a, ok := s.drv.(driver.StreamImporter)
	if !ok || !s.info.Caps.Has(CapImportStream) {
		return nil, s.failure(op, ErrUnsupported, "the device takes no streams from elsewhere")
	}
	drv, err := a.ImportStream(handle)
	if err != nil {
		return nil, s.check(err)
	}
	return newStream(d, op, &streamState{drv: drv, outside: true, onRelease: release})
}

// PointerInfo tells what the vendor knows of an address, a device's or the host's. One that it does not know
// is of kind ErrInvalidArgument; a device without CapPointerInfo is of kind ErrUnsupported.
func (d *Device) PointerInfo(ptr uintptr) (PointerInfo, error) {
	const op = "query a pointer"
	s := d.state()
	if err := d.begin(op); err != nil {
		return PointerInfo{}, err
	}
	defer s.end()
	q, ok := s.drv.(driver.PointerQuerier)
	switch {
	case !ok || !s.info.Caps.Has(CapPointerInfo):
		return PointerInfo{}, s.failure(op, ErrUnsupported, "the platform does not tell what a pointer is")
	case ptr == 0:
		return PointerInfo{}, s.failure(op, ErrInvalidArgument, "pointer 0")
	}
	info, err := q.PointerInfo(ptr)
	return info, s.check(err)
}
