package hal

import (
	"github.com/go-halyard/halyard/hal/driver"
)

// Types that hal shares with its drivers.
type (
	Info    = driver.Info    // description of a device
	Class   = driver.Class   // type of device: a GPU, for example
	Kind    = driver.Kind    // device, host or shared memory
	Caps    = driver.Caps    // set of capabilities
	UUID    = driver.UUID    // identity of the hardware
	Pattern = driver.Pattern // the bytes that a fill repeats

	PointerInfo = driver.PointerInfo // description of the memory at an address
)

// The types of device.
const (
	ClassCPU         = driver.ClassCPU
	ClassGPU         = driver.ClassGPU
	ClassAccelerator = driver.ClassAccelerator
)

// The kinds of memory.
const (
	KindDevice = driver.KindDevice // memory of the device, reached by copies
	KindHost   = driver.KindHost   // page-locked host memory that the device can use; if HostPointer is nil, the host reaches it by copies
	KindShared = driver.KindShared // one address for both sides
)

// The capabilities; see package driver for what each one promises.
const (
	CapAsyncCopy    = driver.CapAsyncCopy
	CapTiming       = driver.CapTiming
	CapGate         = driver.CapGate
	CapHostCallback = driver.CapHostCallback
	CapRegister     = driver.CapRegister
	CapPeerCopy     = driver.CapPeerCopy
	CapStreamAlloc  = driver.CapStreamAlloc
	CapPrefetch     = driver.CapPrefetch
	CapIPC          = driver.CapIPC
	CapShared       = driver.CapShared
	CapMemInfo      = driver.CapMemInfo
	CapPriority     = driver.CapPriority
	CapAddress      = driver.CapAddress
	CapImport       = driver.CapImport
	CapImportStream = driver.CapImportStream
	CapPointerInfo  = driver.CapPointerInfo
	CapKernels      = driver.CapKernels
	CapCompile      = driver.CapCompile

	CapOrderedPageable = driver.CapOrderedPageable
)

// Types for kernels, which hal shares with its drivers.
type (
	Image      = driver.Image      // code that a device can load
	Format     = driver.Format     // format of code
	Param      = driver.Param      // one parameter of a kernel
	KernelInfo = driver.KernelInfo // description of a kernel
	Language   = driver.Language   // language that a device's compiler takes
	Source     = driver.Source     // text to compile
	BuildError = driver.BuildError // a compiler's report on code that does not build
	Function   = driver.Function   // a kernel that is a Go function
	Block      = driver.Block      // one block of a launch of a Go function
)

// The formats of code; see package driver for each.
const (
	FormatPTX          = driver.FormatPTX
	FormatCubin        = driver.FormatCubin
	FormatFatbin       = driver.FormatFatbin
	FormatCodeObject   = driver.FormatCodeObject
	FormatOpenCLC      = driver.FormatOpenCLC
	FormatOpenCLBinary = driver.FormatOpenCLBinary
	FormatSPIRV        = driver.FormatSPIRV
	FormatGo           = driver.FormatGo
	FormatVulkan       = driver.FormatVulkan
)

// The languages of source text; see package driver for each.
const (
	LanguageOpenCLC = driver.LanguageOpenCLC
	LanguageCUDA    = driver.LanguageCUDA
	LanguageHIP     = driver.LanguageHIP
)

// The kinds of parameter.
const (
	ParamUnknown = driver.ParamUnknown
	ParamValue   = driver.ParamValue
	ParamPointer = driver.ParamPointer
)

// Zero is the pattern that clears memory.
var Zero = Pattern{Width: 1}

// Pattern8 repeats one byte.
func Pattern8(v uint8) Pattern { return Pattern{Bits: uint64(v), Width: 1} }

// Pattern16 repeats two bytes, little-endian.
func Pattern16(v uint16) Pattern { return Pattern{Bits: uint64(v), Width: 2} }

// Pattern32 repeats four bytes, little-endian.
func Pattern32(v uint32) Pattern { return Pattern{Bits: uint64(v), Width: 4} }

// Pattern64 repeats eight bytes, little-endian.
func Pattern64(v uint64) Pattern { return Pattern{Bits: v, Width: 8} }
