package mpi

// ABI is a binary interface of MPI: the sizes and values that a compiled program takes from the header file mpi.h.
type ABI int

// The ABIs.
const (
	ABIOpenMPI  ABI = iota // Open MPI 4 and 5
	ABIMPICH               // MPICH, Intel MPI, Cray MPICH, MVAPICH: frozen since MPICH 3.1 by agreement
	ABIStandard            // MPI 5.0, version 1.0
)

// String names the ABI as reports do.
func (a ABI) String() string {
	switch a {
	case ABIOpenMPI:
		return "Open MPI"
	case ABIMPICH:
		return "MPICH"
	case ABIStandard:
		return "standard"
	}
	return "unknown"
}

// Handle is a handle of MPI, in a word.
type Handle uintptr

// layout has the sizes and offsets of an ABI.
type layout struct {
	handle              int // bytes of a handle in an array
	status              int // bytes of a status
	source, tag, failed int // offsets of the public fields of a status, each a C int
	inPlace             uintptr
}

var layouts = [...]layout{
	ABIOpenMPI:  {handle: wordSize, status: 24, source: 0, tag: 4, failed: 8, inPlace: 1},
	ABIMPICH:    {handle: 4, status: 20, source: 8, tag: 12, failed: 16, inPlace: ^uintptr(0)},
	ABIStandard: {handle: wordSize, status: 32, source: 0, tag: 4, failed: 8, inPlace: 1},
}

const wordSize = 4 << (^uintptr(0) >> 63)
