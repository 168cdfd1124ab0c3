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

	// Devices lists the devices that are present, in a stable order, without
	// creating contexts or reserving device memory. If the vendor's driver is
	// missing, the error is of kind ErrUnavailable and says what was tried.
	// An empty list without an error means that the driver works and found no
	// device. If ctx ends, Devices returns at once with an error of kind ErrNotReady that says
	// what has not answered; the list beside it has the devices whose ordinals are known already.
	Devices(ctx context.Context) ([]Info, error)

	// Open opens the device whose index in the list is ordinal, which package hal has not
	// compared with the list. If there is no such device, the error is of kind ErrOutOfRange. All of a
	// program's handles on the device share the result; package hal calls Open
	// again if that device is being closed or was lost. Each result is
	// independent: closing one leaves others on the same hardware working. A call that fails
	// leaves nothing open. If two Backends are equal (==), package hal treats their devices with
	// the same ordinal as one device.
	Open(ctx context.Context, ordinal int) (Device, error)
}

// Device is one open device.
type Device interface {
	// Info describes the device. It does not change while the device is open.
	Info() Info

	// MemInfo returns the free and total device memory in bytes, or an error of
	// kind ErrUnsupported if the driver does not report it. Free memory falls when
	// memory of KindDevice is allocated, and rises when it is freed.
	MemInfo() (free, total uint64, err error)

	// Alloc returns new memory of at least size bytes. Its address, or its origin
	// where memory has no address, is a multiple of align (0 asks for
	// Info.Alignment). Its contents are unspecified. Too little memory is an error
	// of kind ErrOutOfMemory.
	Alloc(kind Kind, size, align uint64) (Memory, error)

	// NewStream returns a new in-order stream that does not synchronise with any
	// other stream, the vendor's default stream included. A stream without work
	// takes no goroutine.
	NewStream(StreamOptions) (Stream, error)

	// NewEvent returns an event that has not been recorded.
	NewEvent(EventOptions) (Event, error)

	// Close releases the device. All its memory, streams and events have been
	// released before.
	Close() error
}

// Memory is one allocation.
type Memory interface {
	// Size returns the requested size in bytes.
	Size() uint64

	// Handle returns the value to pass to the vendor's kernel launches: a device
	// address, or a cl_mem where memory has no address. No other live memory of
	// the device has the same, unless it was made by [Importer.Import].
	Handle() uintptr

	// HostPointer returns the address at which the host reads and writes the
	// memory, or nil if the host cannot access it.
	HostPointer() unsafe.Pointer

	// Free gives memory of any kind back. Memory made by [Registerer.Register] is
	// unregistered and the host's own allocation is left alone.
	Free() error
}

// Region is a range of bytes of one memory. Only a backend may compute an address from
// it, because a cl_mem has no address.
type Region struct {
	Mem Memory
	Off uint64 // bytes from the start of Mem
	Len uint64 // bytes
}

// Stream is an in-order queue of work. Every method but Sync and Close returns
// without waiting for work to finish, however much is enqueued. The exception is a hardware queue of limited length, as
// in CUDA. On a device without CapAsyncCopy the copies may wait, too. Each kind of memory takes part in the order.
type Stream interface {
	// Copy copies src to dst, which have the same length.
	Copy(dst, src Region) error

	// CopyIn copies dst.Len bytes at src to dst. The host memory stays valid and
	// unchanged until the work is done. src may be any host memory, page-locked
	// or not, and may lie inside host-visible memory of any device. It is read in
	// stream order if it is page-locked or the device has CapOrderedPageable;
	// otherwise the backend may read it during the call.
	CopyIn(dst Region, src unsafe.Pointer) error

	// CopyOut copies src to src.Len bytes at dst, under the same rules.
	CopyOut(dst unsafe.Pointer, src Region) error

	// Fill repeats the pattern over dst.
	Fill(dst Region, p Pattern) error

	// Record makes the event stand for all work enqueued so far, waits and gates
	// without work after them included. An event may be recorded again; waits
	// already enqueued keep the earlier meaning.
	Record(Event) error

	// Wait makes later work of this stream wait for the work that the event
	// stands for at the time of the call. If the event was never recorded, Wait does nothing.
	Wait(Event) error

	// Query reports whether all work enqueued so far is done, and if it is, returns
	// an error found in that work. An error without done says that Query itself
	// failed; the work may still run.
	Query() (done bool, err error)

	// Sync blocks the calling goroutine until all work enqueued before the call
	// is done, and returns an error found in that work, or its own error: after an
	// error only Query tells whether the work is done. It does not wait for later work.
	// While it waits, it must not block other calls, on this stream or on others.
	Sync() error

	// Handle returns the vendor's stream: CUstream, hipStream_t or
	// cl_command_queue, or another number that identifies the stream; 0 if there is none.
	Handle() uintptr

	// Close releases the stream, whose work is done.
	Close() error
}

// Event marks a point in a stream.
type Event interface {
	// Query reports whether the recorded work is done; an event that was never
	// recorded is done. If that work failed, done is true and err says how, as
	// often as it is asked. An error without done is one of Query itself; the work
	// may still run.
	Query() (done bool, err error)

	// Sync blocks until the recorded work is done and returns the error of that work, or an error of Sync itself: after
	// an error only Query tells whether the work is done.
	Sync() error

	// Close releases the event.
	Close() error
}

// StreamOptions are the options of Device.NewStream.
type StreamOptions struct {
	// Priority is clamped to Info's range; 0 is normal, and streams with lower
	// numbers run first.
	Priority int
}

// EventOptions are the options of Device.NewEvent.
type EventOptions struct {
	// Timing asks for time stamps, so that Timer can measure between events.
	Timing bool
}

// Pattern is the bytes that a fill repeats: the low Width bytes of Bits, little-endian.
type Pattern struct {
	Bits  uint64
	Width uint8 // 1, 2, 4 or 8 bytes
}

// The interfaces below are optional. A backend implements an interface if and only
// if one of its devices can have the capability named beside it; Info.Caps says
// which capabilities a device has. Package hal looks at Caps first, then for the
// interface.

// Timer is implemented by an Event (CapTiming).
type Timer interface {
	// Elapsed returns the device time from since to this event. Both were recorded
	// with Timing, on one device or on two between which Peering reports PeerWait.
	// The error is of kind ErrNotReady if the work of either event is not done.
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
	// Open lets the stream go on. It does not block, may be called on any
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
	// PeerAccess reports how streams of this device can use objects of the other
	// device, which belongs to the same backend.
	PeerAccess(other Device) PeerAccess
}

// PeerAccess is the set of ways in which streams of one device can use another's objects.
type PeerAccess uint8

const (
	PeerWait PeerAccess = 1 << iota // Stream.Wait accepts the other's events
	PeerCopy                        // Stream.Copy accepts the other's memory (CapPeerCopy), and sees what was last written there
)

// Registerer is implemented by a Device (CapRegister).
type Registerer interface {
	// Register makes existing host memory page-locked and known to the device,
	// as memory of KindHost. Registering a range that overlaps one already
	// registered is an error of kind ErrBusy. The host memory stays allocated
	// until after Memory.Free.
	Register(ptr unsafe.Pointer, size uint64) (Memory, error)
}

// Importer is implemented by a Device (CapImport).
type Importer interface {
	// Import makes a Memory of size bytes of existing memory of the given kind. handle has the meaning
	// of Memory.Handle. The owner keeps the memory valid until after Free, which releases only what
	// Import itself acquired. If the vendor can tell, the error is of kind ErrInvalidArgument for a
	// handle that is not memory or is of another kind, ErrWrongDevice for memory of another device,
	// and ErrOutOfRange if the allocation has fewer bytes.
	//
	// The handle is not 0. If it is an address, the size bytes from there lie inside the address space.
	Import(kind Kind, handle uintptr, size uint64) (Memory, error)
}

// StreamImporter is implemented by a Device (CapImportStream).
type StreamImporter interface {
	// ImportStream makes a Stream of an existing stream of the vendor's. The program may enqueue
	// work of its own on it at any time, and keeps it until after Close. Close does not destroy it,
	// and may be called while the program's own work is still under way. The error is of kind
	// ErrInvalidArgument for a stream that is not in-order, ErrWrongDevice for one of another device.
	ImportStream(handle uintptr) (Stream, error)
}

// PointerQuerier is implemented by a Device (CapPointerInfo).
type PointerQuerier interface {
	// PointerInfo describes the memory at an address. The error is of kind ErrInvalidArgument if the
	// vendor does not know the address.
	PointerInfo(ptr uintptr) (PointerInfo, error)
}

// StreamAllocator is implemented by a Stream (CapStreamAlloc).
type StreamAllocator interface {
	// AllocAsync returns device memory that work of this stream may use at once,
	// and work of other streams after an event recorded on this stream. Memory.Free frees it.
	AllocAsync(size, align uint64) (Memory, error)
}

// Copier2D is implemented by a Stream (CapCopy2D).
type Copier2D interface {
	// Copy2D copies rows under the rules of Copy, CopyIn and CopyOut. All rows lie inside their
	// memory and none overlaps another; there are at least two, and each has bytes.
	Copy2D(r Rect) error
}

// Rect describes a copy of rows of Width bytes each.
type Rect struct {
	Dst, Src    Pitched // at most one of them is host memory
	Width, Rows uint64
}

// Pitched describes where the rows of one side lie.
type Pitched struct {
	Mem   Memory         // nil for host memory
	Off   uint64         // bytes from the start of Mem to the first row
	Host  unsafe.Pointer // address of the first row, if Mem is nil
	Pitch uint64         // bytes from the start of one row to the start of the next
}

// Prefetcher is implemented by a Stream (CapPrefetch).
type Prefetcher interface {
	// Prefetch moves pages of KindShared memory to the device, or to the host if
	// toHost is true.
	Prefetch(r Region, toHost bool) error
}

// FreeBlocker is implemented by Memory whose Free, or by a Module or Device whose Close, may wait for work that does not use it.
type FreeBlocker interface {
	// FreeMayBlock reports whether Free or Close may wait. Package hal asks once. If the answer is true, it does not make the
	// call while a gate of the program holds a stream of the backend: the blocked goroutine might be the one that would open
	// the gate.
	FreeMayBlock() bool
}

// FailureKeeper is implemented by a Device whose events report more than how the last command before them has ended.
type FailureKeeper interface {
	// EventsKeepFailures reports whether an event also reports the failure of any earlier work of its stream, unless the program has been
	// told of that failure before the event was recorded.
	EventsKeepFailures() bool

	// ForgetsToldFailures reports whether a failure that Query or Sync of a stream has returned is reported by no event recorded after
	// that. Package hal makes these calls for its own purposes too. If the answer is true, it adds what they returned to the events
	// recorded before the program is told. It is false for a driver that repeats a failure of the work: an error that such a driver does
	// not repeat concerns only the call itself.
	ForgetsToldFailures() bool
}

// Trimmer is implemented by a Device that caches memory.
type Trimmer interface {
	// Trim frees the cached memory. Like Free, it may wait for work that does not use the memory.
	Trim()
}

// IPCSharer is implemented by a Device (CapIPC).
type IPCSharer interface {
	// ExportIPC exports memory to other processes. The error is of kind ErrUnsupported if the memory
	// cannot be shared.
	ExportIPC(m Memory) (IPCShare, error)

	// OpenIPC opens memory that another process exported on the same hardware. The error is of kind
	// ErrInvalidArgument if the share is invalid, and ErrOutOfRange if it exceeds the allocation.
	// Free closes the memory in this process only.
	OpenIPC(s IPCShare) (Memory, error)
}

// IPCShare identifies a part of another process's allocation.
type IPCShare struct {
	Handle []byte // the vendor's handle of the whole allocation
	Offset uint64 // bytes from its start
	Size   uint64 // bytes
}
