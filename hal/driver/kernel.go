package driver

import (
	"fmt"
	"unsafe"
)

// Format is a format of code.
type Format uint8

const (
	FormatPTX          Format = 1 + iota // text for NVIDIA's driver, which translates it for the device
	FormatCubin                          // an ELF image for one NVIDIA architecture
	FormatFatbin                         // several images for NVIDIA's driver to choose from
	FormatCodeObject                     // an ELF image for one AMD architecture, or a bundle of such images
	FormatOpenCLC                        // source text in OpenCL C
	FormatOpenCLBinary                   // code that an OpenCL driver has compiled for one device
	FormatSPIRV                          // a module of SPIR-V for OpenCL
	FormatGo                             // Go functions of the program itself
	FormatVulkan                         // a module of SPIR-V for Vulkan
)

var formatNames = [...]string{"", "PTX", "cubin", "fatbin", "AMD code object", "OpenCL C", "OpenCL binary", "SPIR-V", "Go",
	"SPIR-V for Vulkan"}

// String returns the usual name of the format: "PTX".
func (f Format) String() string {
	if f == 0 || int(f) >= len(formatNames) {
		return fmt.Sprintf("format(%d)", uint8(f))
	}
	return formatNames[f]
}

// Image is code that a device can load.
type Image struct {
	Format Format

	// Data is the code. Text need not end with a zero byte.
	Data []byte

	// Options are for the driver's compiler, separated by spaces: with FormatOpenCLC the options of clBuildProgram.
	Options string

	// Params describes the kernels' parameters, by the name of the kernel, for code that does not describe them in a form that the
	// driver can read. It may be nil.
	Params map[string][]Param

	// Functions are the kernels, by name, with FormatGo.
	Functions map[string]Function
}

// Param describes one parameter of a kernel.
type Param struct {
	Name  string // "" if not known
	Kind  ParamKind
	Size  uint32 // bytes of a value; 8 for a pointer; 0 if not known
	Const bool   // the kernel does not write through the pointer
}

// ParamKind is the kind of a parameter.
type ParamKind uint8

const (
	ParamUnknown ParamKind = iota // a value or a pointer
	ParamValue                    // a number or structure
	ParamPointer                  // an address of device memory
	ParamShared                   // memory that the threads of a block share, of a size that the launch chooses (OpenCL's __local)
)

// String returns "value", "pointer", "shared memory" or "parameter".
func (k ParamKind) String() string {
	switch k {
	case ParamValue:
		return "value"
	case ParamPointer:
		return "pointer"
	case ParamShared:
		return "shared memory"
	}
	return "parameter"
}

// KernelInfo describes a kernel on its device. Sizes are in bytes. A zero means that the driver does not say.
type KernelInfo struct {
	Name string

	// Params are the parameters in order, if Known is true.
	Params []Param
	Known  bool

	// Checks says that the kernel checks its arguments itself, so that wrong ones do no harm.
	Checks bool

	MaxThreads    uint32    // most threads in a block of this kernel
	Suggested     uint32    // threads in a block with which the kernel should run fast
	RequiredBlock [3]uint32 // threads of a block in each dimension, if the code demands one shape

	StaticShared uint64 // shared memory of a block that the code itself declares
	MaxShared    uint64 // most shared memory that a launch can add for each block
	Local        uint64 // private memory of each thread, for values that do not fit into registers
}

// Language is a language that a device's compiler takes.
type Language uint8

const (
	LanguageOpenCLC Language = 1 + iota // OpenCL C
	LanguageCUDA                        // CUDA C++, as NVRTC takes it
	LanguageHIP                         // HIP C++, as hipRTC takes it
)

// String returns "OpenCL C", "CUDA C++", "HIP C++" or "no language".
func (l Language) String() string {
	switch l {
	case LanguageOpenCLC:
		return "OpenCL C"
	case LanguageCUDA:
		return "CUDA C++"
	case LanguageHIP:
		return "HIP C++"
	}
	return "no language"
}

// Compute describes what a device with CapKernels can run. A zero means that the driver does not say, or sets no limit.
type Compute struct {
	Arch     string   // the architecture that code is compiled for: "sm_90", "gfx942"; "" if code is compiled for this device alone
	Language Language // the language that the device's compiler takes, if the device has CapCompile

	Units int // processors: streaming multiprocessors or compute units

	MaxThreads uint32    // most threads in a block
	MaxBlock   [3]uint32 // most threads of a block in each dimension
	MaxGrid    [3]uint32 // most blocks of a launch in each dimension
	MaxGlobal  uint64    // most threads of a launch in one dimension
	Warp       uint32    // number of threads that run in step, if code may rely on that
	Shared     uint64    // bytes of memory that the threads of a block share

	// SharedByParam says that a kernel takes shared memory as a parameter (ParamShared), as in OpenCL. On other devices the launch
	// adds it, beside the parameters (Launch.Shared).
	SharedByParam bool

	Float64, Float16 bool // kernels can compute with 64-bit and 16-bit floating-point numbers

	// NoInt64 says that kernels cannot compute with 64-bit integers, as a few Vulkan devices. Kernels in Go run there if all their
	// integers are kept in 32 bits.
	NoInt64 bool

	// Limits that the driver enforces by leaving out work, without an error; 0 if it has none. Kernels in Go are kept within them.
	LoopRounds int // rounds of all loops of a thread together, and of the threads that run in step with it: it ends the loops after that
	Nesting    int // conditions within one another: those further in are taken to be true

	// BlockStack is how many bytes the variables of all threads of a block may take, 0 if no such limit is known: the driver ends the process
	// beyond it. Kernels in Go are kept within it.
	BlockStack uint64
}

// Loader is implemented by a Device (CapKernels).
type Loader interface {
	// Formats lists the formats that Load takes, the best first.
	Formats() []Format

	// Load loads an image. It does not keep Data. The error is of kind ErrBuild, and wraps a [*BuildError], if code does not
	// compile or link; of kind ErrUnsupported if the image is of another format or architecture, or too new for the driver; and of
	// kind ErrInvalidArgument if it is damaged.
	Load(image *Image) (Module, error)
}

// Module is code that is loaded on a device.
type Module interface {
	// Kernel returns the kernel with that name, ready to be launched without further loading. The error is of kind ErrNotFound if
	// there is none. Package hal asks once for each name.
	Kernel(name string) (Kernel, error)

	// Names lists the names of the kernels. It returns nil if the driver cannot list them.
	Names() []string

	// Close unloads the code, whose launches are done.
	Close() error
}

// Kernel is a function that a stream of the module's device can launch.
type Kernel interface {
	// Info describes the kernel. The result does not change.
	Info() *KernelInfo
}

// Launcher is implemented by a Stream (CapKernels).
type Launcher interface {
	// Launch enqueues a kernel of the stream's device. In each dimension, grid and block are greater than zero and within the limits of
	// Compute and KernelInfo. The arguments fit the kernel's parameters, if these are known. Other mistakes, and a kernel that needs
	// more registers or shared memory than there are, are errors of kind ErrInvalidArgument. A call that fails has no effect.
	Launch(k Kernel, l *Launch) error
}

// Launch describes one launch. Once Launcher.Launch has returned, the backend must not use the structure, its Args or the values behind
// Ptr.
type Launch struct {
	Grid   [3]uint32 // blocks
	Block  [3]uint32 // threads of each block
	Shared uint64    // bytes that each block shares, besides those that the code declares; 0 if a parameter is a ParamShared
	Args   []Arg     // one for each parameter

	// The rest is for a stream that is a FailureTeller; others ignore it.
	Key    uint64      // for FailureOf; 0 if nobody asks
	Caller [8]uintptr  // the calls that led to the launch, for Error.Site
	Failed func(error) // if not nil, who is told if the kernel fails: it is called before the launch counts as done, and must not block
}

// FailureTeller is implemented by a Launcher that knows which of its launches has failed. A failure that a Failed was told is reported by
// FailureOf alone, not by the stream and its events.
type FailureTeller interface {
	// Position returns the number of operations enqueued so far.
	Position() uint64

	// FailureOf returns the error of a launch with the key after the first of these operations and up to the last, nil if none has failed.
	// They are done.
	FailureOf(first, last, key uint64) error
}

// Repeater is implemented by a Launcher that prepares launches which are made again and again. For one that is not, package hal calls
// Launch.
type Repeater interface {
	// Prepare prepares launches to be enqueued together in this order, each of the kernel with the same index. It keeps nothing that the
	// arguments point to, and has no effect on the stream. The rules are those of Launch.
	Prepare(kernels []Kernel, launches []Launch) (Sequence, error)
}

// Sequence is launches that a stream has prepared.
type Sequence interface {
	// Enqueue enqueues the launches on the stream, one after the other. It returns how many it has enqueued: after an error, fewer than
	// all. A later event of the stream reports the failure of any of them.
	Enqueue() (n int, err error)

	// Close frees what was prepared. The launches that were enqueued are done.
	Close() error
}

// Arg is one argument of a launch.
type Arg struct {
	Kind   ParamKind      // never ParamUnknown
	Size   uint32         // bytes of a value, or of shared memory
	Bits   [2]uint64      // a value of at most 16 bytes, in memory order
	Ptr    unsafe.Pointer // to a larger value, else nil
	Region Region         // of a pointer; a region of length 0 stands for its first byte, one without Mem for memory of no bytes
}

// Value returns the address of the bytes of a value.
func (a *Arg) Value() unsafe.Pointer {
	if a.Ptr != nil {
		return a.Ptr
	}
	return unsafe.Pointer(&a.Bits)
}

// Compiler is implemented by a Device that compiles source text for itself, and by a Backend that compiles for an architecture whose
// device need not be present (CapCompile).
type Compiler interface {
	// CompilerID names everything besides source and options that decides what Compile returns: the compiler, its version and,
	// where it matters, the device and its driver. The target is an architecture ("sm_90"), or "" for the device itself. The error is of
	// kind ErrUnavailable if the compiler cannot be loaded and says what was tried.
	CompilerID(target string) (string, error)

	// Compile compiles source text and returns an image for Load. It sets Image.Params if only the compiler knows the kernels' parameters.
	// The error is of kind ErrBuild, and wraps a [*BuildError], if the text does not compile; ErrUnsupported if the compiler does not know
	// the target.
	Compile(target string, src *Source) (*Image, error)
}

// Source is text in the device's own language: OpenCL C, CUDA C++ or HIP C++.
type Source struct {
	Name    string            // for messages, like a file's name
	Text    string            // the source text
	Headers map[string]string // texts that the source can include, by name
	Options []string          // for the compiler, unchanged
}

// BuildError is a compiler's report on code that does not build.
type BuildError struct {
	Source  string   // Source.Name
	Options []string // given to the compiler
	Log     string   // of the compiler, with lines and columns
}

// Error returns the log.
func (e *BuildError) Error() string { return e.Log }

// Function is a kernel that is a Go function. The host runs it.
type Function struct {
	// Params are the parameters in order; nil if the function checks its arguments itself.
	Params []Param

	// Run is called once for each block of a launch, and for several blocks at the same time.
	Run func(*Block)

	// Steps is how much a thread does at most, if that is known, and if the function neither waits for anything nor ends its goroutine: a
	// number of operations, plus, for each argument that is a whole number, a number times its value. It holds for launches of at most
	// 1<<15 threads, and for numbers that are not negative. A device may run a small launch before Launch returns.
	Steps []uint32
}

// Block is one block of a launch of a Go function. It is valid during the call.
type Block struct {
	Index [3]uint32 // the block's place in the grid
	Grid  [3]uint32 // blocks of the launch
	Size  [3]uint32 // threads of a block

	// Shared is memory of this block alone, of the size that the launch asks for. It is not cleared.
	Shared []byte

	// Args are the launch's arguments.
	Args []Arg

	// Bytes are the bytes of each argument that is a pointer.
	Bytes [][]byte
}

// Handles are the vendor's handles of a device: CUdevice and CUcontext, hipDevice_t (and no context), or cl_platform_id, cl_device_id
// and cl_context. A handle that the vendor does not have is 0.
type Handles struct{ Platform, Device, Context uintptr }

// Native is implemented by a Device whose vendor has handles.
type Native interface{ Handles() Handles }
