package gridgen

import (
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
)

// Source is what the command "halyard kernels" knows of a program that it has translated: package kernel has it as a part of its own Source.
type Source struct {
	// Indexes has the places in Go code, as file:line, whose indexes, divisors and counts of shifts the text checks if the macro HALYARD_BOUNDS
	// is defined, as it is with HALYARD_CHECK=bounds. The kernels then have one more parameter. Kernel.Launch passes it; launches by Kernel.Of
	// and package hal do not, and fail. It is not nil if the text was translated.
	Indexes []string

	// Prints has the calls of grid.Println in the text, which it makes if the macro HALYARD_PRINT is defined. Each has the line, as file:line,
	// and after tabs the arguments: constants, and for others a letter for the type after a %.
	Prints []string

	Kernels map[string]Written // by their names in Go
	Sources []string           // what was translated, and which names were not found declared, for Program.Stale
	Format  int                // the version of the file; launches fail if it is not the one that package kernel takes
}

// Written describes a kernel that was written in Go and translated.
type Written struct {
	Code   string   // its name in Portable
	Params []string // the names of a launch's arguments in Go
	Dims   int      // the dimensions that it uses; a launch with fewer is refused
	DimsAt string   // where it uses the last of them, as file:line
	Needs  string   // what it needs that not every device has, other than float64 alone

	// Rounds is how many rounds all loops of a thread take together at most, as a sum of products: in each, the first number is a factor and
	// the others are places in Params. A negative number -1-d says that the place before it is divided by the threads of the grid in
	// dimension d, and from d = 3 on by the argument d-3. It is nil if there are few. RoundsAt is where the first loop of many begins, as
	// file:line.
	Rounds   [][]int
	RoundsAt string

	// Most is the limit of a launch for the code that keeps integers in 32 bits: of the threads of the grid in each dimension, and of the
	// products of arguments in Sizes, which are places in Params. 0 says that there is no such code.
	Most  int64
	Sizes [][]int

	Nests   int    // how deep its conditions are nested, if that is deep
	NestsAt string // where the deepest is
	Threads int    // the most threads of a block, 0 if there is no limit
	// SharedElem is the size of an element of the kernel's grid.SharedSlice, 0 if it has none. The last argument is how many elements there are, and
	// SharedAt is where the kernel asks for them, as file:line. SharedStatic is how many bytes of shared memory it has besides.
	SharedElem, SharedStatic int64
	SharedAt                 string

	Private int  // bytes of the arrays and structures that are variables of a thread, if they are many
	Types   int  // of a generic kernel: the number of its list of types
	Fast    bool // devices compute its floats within the bounds of fast kernels, and the host computes them exactly

	Footprint Footprint // what it touches; Of is nil if the file was written by an older command
}

// Code is a kernel for devices of Vulkan, as the command "halyard kernels" writes it: a module of its own, so that what one kernel needs
// keeps no other from a device.
type Code struct {
	Words   string // the module. These three are packed, see package spirv: those of a program in the order of the kernels' names
	Checked string // the same with indexes checked, for HALYARD_CHECK=bounds
	Watched string // the same for launches whose loops a device may end, if there can be such
	Lacks   string // why there is no module, with the line in Go

	// Needs says what the kernel uses that not every device has, with the line in Go, by the names of Vulkan's features.
	Needs map[string]string
}

// Box is the threads of a part of a grid: those with Lo[d] <= t.Global(d) < Hi[d] in each dimension d.
type Box struct {
	Lo, Hi [3]int
	Block  [3]int // threads of a block, if the box consists of whole blocks; else 0, and the footprint may be larger than necessary
	Blocks [3]int // of the whole grid; 0 if not known
}

// Touch is what the threads of a box may use of one slice of a kernel. Threads read no element outside Read and write none outside Write. A
// range is empty if Hi <= Lo.
type Touch struct {
	Read, Write buffer.Range
	Whole       bool // each element of Write is written, and none of Write is read before: what it held does not matter
}

// Footprint is what a kernel touches, read from its text by the command "halyard kernels".
type Footprint struct {
	// Cut says in which dimensions a grid may be cut between blocks into parts that run independently, also on different devices: no part
	// writes an element that another part uses. That holds if the slices do not overlap, and if no index that the kernel computes overflows
	// int. If one does, Of may store spans that overlap.
	Cut [3]bool

	// Why says why no dimension can be cut, beginning with the place as file:line. It is empty if one can.
	Why string

	// Of computes what the threads of box use of each slice, in the order of the kernel's parameters, and stores it in touch. The values are
	// the kernel's arguments in the order of Written.Params: integers as they are, lengths of slices, rows and columns of matrices, 0 for
	// floats and what else cannot stand in an index. It does not allocate, and cuts all spans to the slices.
	Of func(box Box, values []int64, touch []Touch)
}

// Bounded is kernel.Go with a bound on the work of run. A thread takes at most steps[0]
// steps, about as many operations, plus steps[1+i] for each unit of argument i; with nil steps no bound is known. run must not block or
// end its goroutine. The host runs a launch of few steps on the caller's goroutine, before Launch returns, if the stream is idle.
func Bounded(steps []uint32, run func(*hal.Block)) hal.Function {
	return hal.Function{Run: run, Steps: steps}
}

// RowsOf returns the number of rows of a kernel.Matrix, 0 if it is nil.
func RowsOf(m interface{ Rows() int }) int {
	if m == nil {
		return 0
	}
	return m.Rows()
}

// ColsOf returns the number of columns of a kernel.Matrix, 0 if it is nil.
func ColsOf(m interface{ Cols() int }) int {
	if m == nil {
		return 0
	}
	return m.Cols()
}
