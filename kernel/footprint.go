package kernel

import "github.com/go-halyard/halyard/buffer"

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
