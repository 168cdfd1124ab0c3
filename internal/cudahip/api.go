package cudahip

import (
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

//go:generate go run ../testing/protogen -interface calls_gen.go ../../backends/cuda/calls.txt

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

// nullAllocation is the code for an allocation that reported success and returned no address.
const nullAllocation = 1<<33 | CodeOutOfMemory

// allocated returns the code of an allocation that returned addr. Success with address 0 becomes an error: HIP-CPU's
// hipMalloc reports success and returns a null pointer when memory is short.
func allocated(addr uintptr, code Code) Code {
	if code == Success && addr == 0 {
		return nullAllocation
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

// Flags of events, which have the same numbers in CUDA and in HIP.
const (
	eventBlocking = 1 // a thread that waits sleeps
	eventNoTiming = 2
)

const handleSize = 64

// API is a vendor's library. Addresses, stream and event handles are the vendor's own;
// sizes are in bytes and counts in elements.
//
// Every method is safe for concurrent use. A method that takes a Context makes it current before it
// calls the library. StreamSync and EventSync wait for work to finish. In methods that allocate, free,
// or copy pageable memory the vendor's library may wait. The other methods do not wait. After a method
// returns, only the work that it enqueued may use the host addresses.
type API interface {
	Calls

	// Name returns the vendor's name of a call. Has reports whether the library has the call.
	Name(Call) string
	Has(Call) bool

	// Copy2D returns CodeInvalidValue for a pitch that the device does not support.
	Copy2D(ctx Context, r *Rect, stream uintptr) Code

	// HostCall enqueues a call of fn, which a thread of the vendor's library makes. Later work of
	// the stream waits until fn returns. fn must not use the API. HostCancel forgets a call that
	// the vendor will not make any more, and reports whether fn had not been called.
	HostCall(ctx Context, stream uintptr, fn func()) (id uintptr, code Code)
	HostCancel(id uintptr) bool

	IPCOpen(ctx Context, h *IPCHandle) (uintptr, Code)

	// ModuleLoad loads an image. If log is not empty, the driver writes the errors of its translator into log, as text.
	ModuleLoad(ctx Context, image unsafe.Pointer, log []byte) (uintptr, Code)

	// Launch launches a kernel with the grid, block and shared memory of l. params is the list of
	// the addresses of its arguments.
	Launch(ctx Context, kernel uintptr, l *driver.Launch, params unsafe.Pointer, stream uintptr) Code
}

// IPCHandle is the vendor's handle with which other processes open an allocation.
type IPCHandle [handleSize]byte
