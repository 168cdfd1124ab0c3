package hal

import "github.com/go-halyard/halyard/hal/driver"

// Types that hal shares with its drivers, as programs name them most. The others, and the abilities of devices, have their names in package
// driver alone.
type (
	Info    = driver.Info    // description of a device
	Kind    = driver.Kind    // device, host or shared memory
	Pattern = driver.Pattern // the bytes that a fill repeats
)

// The kinds of memory.
const (
	KindDevice = driver.KindDevice // memory of the device, reached by copies
	KindHost   = driver.KindHost   // page-locked host memory that the device can use
	KindShared = driver.KindShared // one address for both sides
)

// Types for kernels, which hal shares with its drivers.
type (
	Image      = driver.Image      // code that a device can load
	Format     = driver.Format     // format of code
	Language   = driver.Language   // language that a device's compiler takes
	Source     = driver.Source     // text to compile
	BuildError = driver.BuildError // a compiler's report on code that does not build
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
