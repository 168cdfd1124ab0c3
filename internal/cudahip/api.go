package cudahip

import (
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// Code is the status of a vendor's call. The low 32 bits are the number that the call returned,
// zero for success. If [Code.Unbound] is true, the number comes from the attempt to make the
// context current, and the call itself was not made.
type Code int64

const unboundBit Code = 1 << 32

// The codes that this package acts on, which have the same numbers in CUDA and in HIP.
const (
	Success           Code = 0
	CodeInvalidValue  Code = 1
	CodeOutOfMemory   Code = 2
	CodeDeinitialised Code = 4
	CodeNotReady      Code = 600
	CodePeerEnabled   Code = 704
	CodeNotSupported  Code = 801
)

// nothingGiven is the code for an allocation that reported success and returned no address.
const nothingGiven = 1<<33 | CodeOutOfMemory

// given returns the code of an allocation that returned addr. Success with address 0 becomes an error: HIP-CPU's
// hipMalloc reports success and returns a null pointer when memory is short.
func given(addr uintptr, code Code) Code {
	if code == Success && addr == 0 {
		return nothingGiven
	}
	return code
}

// Value is the vendor's number.
func (c Code) Value() int32 { return int32(c) }

// Unbound reports whether the call was not made because the context could not be made current.
func (c Code) Unbound() bool { return c&unboundBit != 0 }

// Unbound returns the code of a call that was not made because its context could not be made current. value
// is the number of that failure.
func Unbound(value int32) Code { return Code(uint32(value)) | unboundBit }

// Context identifies the context or device to make current on a thread: it is the address of a
// context, or the number of a device.
type Context uintptr

// Attribute is a property of a device. The vendor's library is queried for it by a number.
type Attribute int

// The attributes that decide what a device can do.
const (
	AttrIntegrated        Attribute = iota // shares its memory with the host
	AttrMapHost                            // works on page-locked memory in place
	AttrManaged                            // has managed memory
	AttrConcurrentManaged                  // host and device may use managed memory at once
	AttrRegister                           // existing host memory can be page-locked
	AttrPools                              // memory can be allocated in stream order
	AttrPriorities                         // streams have priorities
	AttrWaitValue                          // a stream can wait for a word of memory
	NumAttributes
)

// HostCPU stands for the host in calls that take the number of a device.
const HostCPU int32 = -1

// Flags that have the same numbers in CUDA and in HIP.
const (
	hostPortable   = 1 // page-locked for every context
	hostMapped     = 2 // has a device address
	managedGlobal  = 1 // used by every stream of every device
	streamNoSync   = 1 // no order with the default stream
	eventBlocking  = 1 // a thread that waits sleeps
	eventNoTiming  = 2
	waitAtLeast    = 0 // wait value: until the word is at least the value
	handleSize     = 64
	noPeerFlags    = 0
	noWaitFlags    = 0
	noInitFlags    = 0
	deviceNameSize = 256
	deviceBusSize  = 32
)

// API is a vendor's library. Addresses, stream and event handles are the vendor's own;
// sizes are in bytes and counts in elements.
//
// Every method is safe for concurrent use. A method that takes a Context makes it current before it
// calls the library. StreamSync and EventSync wait for work to finish. In methods that allocate, free,
// or copy pageable memory the vendor's library may wait. The other methods do not wait. After a method
// returns, only the work that it enqueued may use the host addresses.
type API interface {
	// Name returns the vendor's name of a call. Has reports whether the library has the call.
	Name(Call) string
	Has(Call) bool

	Init() Code
	Version() (int, Code)
	DeviceCount() (int, Code)
	DeviceGet(ordinal int) (dev int32, code Code)
	DeviceName(dev int32) (string, Code)
	DeviceTotal(dev int32) (uint64, Code)
	// DeviceAttribute queries an attribute by the vendor's number.
	DeviceAttribute(dev, number int32) (int32, Code)
	DeviceUUID(dev int32) ([16]byte, Code)
	// DeviceBus returns the device's address on its bus, as in "0000:3b:00.0".
	DeviceBus(dev int32) (string, Code)
	CanAccessPeer(dev, peer int32) (bool, Code)

	// Retain returns the context that the device shares with the rest of the
	// program, and Release gives it back.
	Retain(dev int32) (Context, Code)
	Release(dev int32) Code
	PeerEnable(ctx, peer Context) Code

	MemInfo(ctx Context) (free, total uint64, code Code)
	MemAlloc(ctx Context, size uint64) (uintptr, Code)
	MemFree(ctx Context, addr uintptr) Code
	HostAlloc(ctx Context, size uint64) (host uintptr, code Code)
	HostFree(ctx Context, host uintptr) Code
	HostRegister(ctx Context, host uintptr, size uint64) Code
	HostUnregister(ctx Context, host uintptr) Code
	// HostAddr returns the device's address of page-locked host memory.
	HostAddr(ctx Context, host uintptr) (uintptr, Code)
	ManagedAlloc(ctx Context, size uint64) (uintptr, Code)
	AllocAsync(ctx Context, size uint64, stream uintptr) (uintptr, Code)
	FreeAsync(ctx Context, addr, stream uintptr) Code
	AddressRange(ctx Context, addr uintptr) (base, size uintptr, code Code)
	// Pointer returns CodeInvalidValue for an address that the library does not know.
	Pointer(ctx Context, addr uintptr) (Pointer, Code)

	CopyIn(ctx Context, dst, host, n, stream uintptr) Code
	CopyOut(ctx Context, host, src, n, stream uintptr) Code
	CopyDevice(ctx Context, dst, src, n, stream uintptr) Code
	// CopyAny derives from the addresses whether they are the device's or the host's.
	CopyAny(ctx Context, dst, src, n, stream uintptr) Code
	CopyPeer(ctx Context, dst uintptr, dstCtx Context, src uintptr, srcCtx Context, n, stream uintptr) Code
	// Copy2D returns CodeInvalidValue for a pitch that the device does not support.
	Copy2D(ctx Context, r *Rect, stream uintptr) Code
	Fill8(ctx Context, dst uintptr, v uint8, count, stream uintptr) Code
	Fill16(ctx Context, dst uintptr, v uint16, count, stream uintptr) Code
	Fill32(ctx Context, dst uintptr, v uint32, count, stream uintptr) Code
	Prefetch(ctx Context, addr, n uintptr, dev int32, stream uintptr) Code
	Advise(ctx Context, addr, n uintptr, advice, dev int32) Code

	// StreamCreate clamps the priority to the device's range.
	StreamCreate(ctx Context, priority int32) (uintptr, Code)
	StreamDestroy(ctx Context, stream uintptr) Code
	// StreamOwner returns the context in which a stream was made; a default stream belongs to ctx.
	StreamOwner(ctx Context, stream uintptr) (Context, Code)
	StreamQuery(ctx Context, stream uintptr) Code
	StreamSync(ctx Context, stream uintptr) Code
	StreamWait(ctx Context, stream, event uintptr) Code

	// SignalAlloc returns words for WaitValue, or the call that failed and its code.
	SignalAlloc(ctx Context) (s Signals, failed Call, code Code)
	SignalFree(ctx Context, host uintptr) Code
	// WaitValue holds the stream until the 32-bit word is at least the value.
	WaitValue(ctx Context, stream, addr uintptr, value uint32) Code

	// HostCall enqueues a call of fn, which a thread of the vendor's library makes. Later work of
	// the stream waits until fn returns. fn must not use the API. HostCancel forgets a call that
	// the vendor will not make any more, and reports whether fn had not been called.
	HostCall(ctx Context, stream uintptr, fn func()) (id uintptr, code Code)
	HostCancel(id uintptr) bool

	EventCreate(ctx Context, timing bool) (uintptr, Code)
	EventDestroy(ctx Context, event uintptr) Code
	EventRecord(ctx Context, event, stream uintptr) Code
	EventQuery(ctx Context, event uintptr) Code
	EventSync(ctx Context, event uintptr) Code
	// EventElapsed returns the time between two events in milliseconds.
	EventElapsed(ctx Context, from, to uintptr) (float32, Code)

	IPCExport(ctx Context, addr uintptr) (IPCHandle, Code)
	IPCOpen(ctx Context, h *IPCHandle) (uintptr, Code)
	IPCClose(ctx Context, addr uintptr) Code

	// DeviceProperties writes the vendor's structure to out, which must be large enough for it.
	DeviceProperties(dev int32, out []byte) Code

	// ModuleLoad loads an image. If log is not empty, the driver writes the errors of its translator into log, as text.
	ModuleLoad(ctx Context, image unsafe.Pointer, log []byte) (uintptr, Code)
	ModuleUnload(ctx Context, module uintptr) Code
	ModuleKernel(ctx Context, module uintptr, name string) (uintptr, Code)
	// KernelAttribute queries an attribute by the vendor's number. KernelSet sets one.
	KernelAttribute(ctx Context, kernel uintptr, number int32) (int32, Code)
	KernelSet(ctx Context, kernel uintptr, number, value int32) Code
	// KernelParam returns the size of a parameter, or CodeInvalidValue if the kernel has no
	// parameter of that index.
	KernelParam(ctx Context, kernel uintptr, index int) (uintptr, Code)
	// KernelLoad loads a kernel at once. Without it the driver may load the kernel at its first
	// launch.
	KernelLoad(ctx Context, kernel uintptr) Code
	// Occupancy returns the block size, in threads, at which the most threads run at once.
	Occupancy(ctx Context, kernel uintptr) (int32, Code)
	// Launch launches a kernel with the grid, block and shared memory of l. params is the list of
	// the addresses of its arguments.
	Launch(ctx Context, kernel uintptr, l *driver.Launch, params unsafe.Pointer, stream uintptr) Code
}

// IPCHandle is the vendor's handle with which other processes open an allocation.
type IPCHandle [handleSize]byte

// Signals are words of page-locked memory, one every [SignalStride] bytes.
type Signals struct {
	Host uintptr // the host's address of the first
	Addr uintptr // the device's address of the first
	N    int
}

// SignalStride is the distance between words of SignalAlloc, in bytes. With this distance each word
// has a cache line of its own.
const SignalStride = 64

var _ API = (*Table)(nil)
