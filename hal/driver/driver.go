package driver

import (
	"context"
	"time"
	"unsafe"
)

// Backend is one family of devices behind one vendor interface.
type Backend interface {
	// Name is the short lower-case name that programs use: "host", "cuda".
	Name() string

	// Devices lists what is present, in a stable order, without creating
	// contexts or reserving device memory. When the vendor's driver is missing
	// it returns an error of kind ErrUnavailable that says what was tried.
	// No devices and no error means that the driver works and sees none.
	// It honours the deadline of ctx.
	Devices(ctx context.Context) ([]Info, error)

	// Open opens the device at that place in the list. The handles that a
	// program has on it share what Open returns; package hal calls Open again
	// when that is being closed, or was lost. Each result is independent:
	// closing one leaves others on the same hardware working.
	// Programs that mean one device use one Backend, or equal ones.
	Open(ctx context.Context, ordinal int) (Device, error)
}

// Device is one open device.
type Device interface {
	// Info describes the device. It does not change while the device is open.
	Info() Info

	// MemInfo returns the free and total device memory in bytes, or an error of
	// kind ErrUnsupported where the platform cannot tell.
	MemInfo() (free, total uint64, err error)

	// Alloc returns new memory of at least size bytes whose address or origin is
	// a multiple of align (0 asks for Info.Alignment). Its contents are
	// unspecified. Too little memory is an error of kind ErrOutOfMemory.
	Alloc(kind Kind, size, align uint64) (Memory, error)

	// NewStream returns a new in-order stream that does not synchronise with any
	// other stream, the vendor's default stream included.
	NewStream(StreamOptions) (Stream, error)

	// NewEvent returns an event that has not been recorded.
	NewEvent(EventOptions) (Event, error)

	// Close releases the handle. All its memory, streams and events have been
	// released before.
	Close() error
}

// Memory is one allocation.
type Memory interface {
	// Size is the size in bytes that was asked for.
	Size() uint64

	// Handle is what a kernel launch of the vendor takes: a device address, or a
	// cl_mem where memory has no address.
	Handle() uintptr

	// HostPointer is the address at which the host reads and writes the memory,
	// nil if it cannot. Memory that implements [Mapped] may only be touched
	// while it is mapped.
	HostPointer() unsafe.Pointer

	// Free gives the memory back. Memory made by [Registerer.Register] is
	// unregistered and the host's own allocation is left alone.
	Free() error
}

// Region is a range of bytes of one memory. It is never turned into an address by
// arithmetic outside a backend: a cl_mem has none.
type Region struct {
	Mem Memory
	Off uint64 // bytes from the start of Mem
	Len uint64 // bytes
}

// Stream is an in-order queue of work. Every method but Sync and Close returns
// without waiting for work to finish; a method that must wait for lack of a better
// way says so in Caps by the absence of CapAsyncCopy.
type Stream interface {
	// Copy copies src to dst, which have the same length.
	Copy(dst, src Region) error

	// CopyIn copies dst.Len bytes at src to dst. The host memory stays valid and
	// unchanged until the work is done. src may be any host memory, page-locked
	// or not, and may lie inside host-visible memory of any device. It is read in
	// stream order if it is page-locked or the device has CapOrderedPageable; if
	// not, perhaps already during the call.
	CopyIn(dst Region, src unsafe.Pointer) error

	// CopyOut copies src to src.Len bytes at dst, under the same rules.
	CopyOut(dst unsafe.Pointer, src Region) error

	// Fill repeats the pattern over dst.
	Fill(dst Region, p Pattern) error

	// Record makes the event stand for all work enqueued so far. An event may be
	// recorded again; waits already enqueued keep the earlier meaning.
	Record(Event) error

	// Wait makes later work of this stream wait for what the event stands for
	// now. Waiting for an event that was never recorded does nothing.
	Wait(Event) error

	// Query reports whether all work enqueued so far is done. An error found in
	// that work is returned.
	Query() (done bool, err error)

	// Sync blocks the calling goroutine until all work enqueued before the call
	// is done, and returns an error found in that work. It must not hold up
	// calls on other streams, nor on this one.
	Sync() error

	// Handle is the vendor's stream: CUstream, hipStream_t, cl_command_queue; 0
	// where there is none.
	Handle() uintptr

	// Close releases the stream, whose work is done.
	Close() error
}

// Event marks a point in a stream.
type Event interface {
	// Query reports whether the recorded work is done; an event that was never
	// recorded is done. If that work failed, done is true and err says how.
	Query() (done bool, err error)

	// Sync blocks until the recorded work is done and returns its error.
	Sync() error

	// Close releases the event.
	Close() error
}

// StreamOptions are the options of Device.NewStream.
type StreamOptions struct {
	// Priority is clamped to Info's range; 0 is normal and lower runs sooner.
	Priority int
}

// EventOptions are the options of Device.NewEvent.
type EventOptions struct {
	// Timing asks for a time stamp, which Timer then compares.
	Timing bool
}

// Pattern is what a fill repeats: the low Width bytes of Bits, little-endian.
type Pattern struct {
	Bits  uint64
	Width uint8 // 1, 2, 4 or 8 bytes
}

// The interfaces below are optional. A backend implements one if and only if the
// capability named beside it can be set for one of its devices; Caps says whether
// this device has it. Package hal asks Caps first, then the interface.

// Timer is implemented by an Event (CapTiming).
type Timer interface {
	// Elapsed is the device time from since to this event. Both were recorded
	// with Timing, on devices that Peering allows together. An event that is not
	// done yet is an error of kind ErrNotReady.
	Elapsed(since Event) (time.Duration, error)
}

// Gater is implemented by a Stream (CapGate).
type Gater interface {
	// Gate enqueues a gate: later work of the stream does not start before the
	// gate is opened.
	Gate() (Gate, error)
}

// Gate holds a stream shut.
type Gate interface {
	// Open lets the stream go on. It does not block, may be called from any
	// goroutine, and is called exactly once.
	Open() error
}

// Notifier is implemented by a Stream (CapHostCallback).
type Notifier interface {
	// OnDone runs fn on the host after the work enqueued so far, on a goroutine
	// that may block and may call the backend. Later work of the stream does
	// not wait for fn.
	OnDone(fn func()) error
}

// Peering is implemented by a Device whose events or memory can be used by another
// device of the same backend.
type Peering interface {
	// PeerAccess reports what streams of this device can do with objects of the other
	// device, which belongs to the same backend.
	PeerAccess(other Device) PeerAccess
}

// PeerAccess is a set of things that one device can do with another's objects.
type PeerAccess uint8

const (
	PeerWait PeerAccess = 1 << iota // Stream.WaitEvent takes the other's events
	PeerCopy                        // Stream.Copy takes the other's memory (CapPeerCopy)
)

// Registerer is implemented by a Device (CapRegister).
type Registerer interface {
	// Register makes existing host memory page-locked and known to the device,
	// as memory of KindHost. Registering a range that overlaps one already
	// registered is an error of kind ErrBusy. The host memory outlives it.
	Register(ptr unsafe.Pointer, size uint64) (Memory, error)
}

// Importer is implemented by a Device (CapImport).
type Importer interface {
	// Import makes a Memory of size bytes of the given kind that exist already, at a handle in the
	// terms of Memory.Handle. Whoever made them keeps them valid until after Free, which gives back
	// only what Import itself took. As far as the vendor can tell, a handle that is no memory or
	// of another kind is an error of kind ErrInvalidArgument, one of another device ErrWrongDevice,
	// and one with fewer bytes behind it ErrOutOfRange.
	//
	// The handle is not 0, and the bytes behind an address do not go past the end of all addresses.
	Import(kind Kind, handle uintptr, size uint64) (Memory, error)
}

// StreamImporter is implemented by a Device (CapImportStream).
type StreamImporter interface {
	// ImportStream makes a Stream of a vendor's stream that exists already. The program may enqueue
	// work of its own there at any time, and keeps it until after Close, which does not destroy it
	// and may come while the program's own work is still under way. A stream that does not run its
	// work in order is an error of kind ErrInvalidArgument, one of another device ErrWrongDevice.
	ImportStream(handle uintptr) (Stream, error)
}

// PointerQuerier is implemented by a Device (CapPointerInfo).
type PointerQuerier interface {
	// PointerInfo tells what the vendor knows of an address. One that it does not know is an error of
	// kind ErrInvalidArgument.
	PointerInfo(ptr uintptr) (PointerInfo, error)
}

// StreamAllocator is implemented by a Stream (CapStreamAlloc).
type StreamAllocator interface {
	// AllocAsync returns device memory that work of this stream may use at once
	// and others after an event recorded on this stream.
	AllocAsync(size, align uint64) (Memory, error)

	// FreeAsync frees such memory in stream order; the memory is not freed again.
	FreeAsync(Memory) error
}

// Copier2D is implemented by a Stream (CapCopy2D).
type Copier2D interface {
	// Copy2D copies rows under the rules of Copy, CopyIn and CopyOut. All rows lie inside their
	// memory and none overlaps another; there are at least two, and each has bytes.
	Copy2D(r Rect) error
}

// Rect is rows of Width bytes.
type Rect struct {
	Dst, Src    Pitched // of which one at most is the host's
	Width, Rows uint64
}

// Pitched is where rows lie.
type Pitched struct {
	Mem   Memory         // nil for the host's memory
	Off   uint64         // bytes from the start of Mem to the first row
	Host  unsafe.Pointer // the first row, if Mem is nil
	Pitch uint64         // bytes from the start of a row to that of the next
}

// Prefetcher is implemented by a Stream (CapPrefetch).
type Prefetcher interface {
	// Prefetch moves pages of KindShared memory to the device, or to the host.
	Prefetch(r Region, toHost bool) error
}

// Mapper is implemented by a Stream (CapMustMap) of a device that has host-visible
// memory which the host may only touch between Map and Unmap.
type Mapper interface {
	// Map enqueues the hand-over of the whole memory to the host: it may be
	// touched once the work enqueued so far is done.
	Map(m Memory, write bool) error

	// Unmap enqueues the hand-over back to the device.
	Unmap(m Memory) error
}

// NeedsMapper is implemented by Memory that may need Mapper.
type NeedsMapper interface {
	// NeedsMap reports whether the host must map this memory before touching it.
	NeedsMap() bool
}

// FreeBlocker is implemented by Memory whose Free, or a Device whose Close, may wait for work that does not use it.
type FreeBlocker interface {
	// FreeMayBlock reports whether it may. It is asked once, and the call is then not made while the program
	// holds a stream of the backend shut by a gate, which it could otherwise not come to open.
	FreeMayBlock() bool
}

// Trimmer is implemented by a Device that keeps memory for later.
type Trimmer interface {
	// Trim gives it back. It may wait as Free may.
	Trim()
}

// IPCSharer is implemented by a Device (CapIPC).
type IPCSharer interface {
	// ExportIPC names memory for another process. Memory that cannot be shared is an error of kind
	// ErrUnsupported.
	ExportIPC(m Memory) (IPCShare, error)

	// OpenIPC opens memory that another process exported on the same hardware. A share that is
	// none is an error of kind ErrInvalidArgument, and one that reaches past the end of what it
	// names ErrOutOfRange. Free closes it and leaves the memory alone.
	OpenIPC(s IPCShare) (Memory, error)
}

// IPCShare names a part of an allocation of another process.
type IPCShare struct {
	Handle []byte // the vendor's name of the whole allocation
	Offset uint64 // bytes from its start
	Size   uint64 // bytes
}
