package mpi

// abiKind is a binary interface of MPI: the sizes and values that a compiled program takes from the header file mpi.h.
type abiKind int

// The ABIs.
const (
	abiOpenMPI  abiKind = iota // Open MPI 4 and 5
	abiMPICH                   // MPICH, Intel MPI, Cray MPICH, MVAPICH: frozen since MPICH 3.1 by agreement
	abiStandard                // MPI 5.0, version 1.0
)

// String names the ABI as reports do.
func (a abiKind) String() string {
	switch a {
	case abiOpenMPI:
		return "Open MPI"
	case abiMPICH:
		return "MPICH"
	case abiStandard:
		return "standard"
	}
	return "unknown"
}

// layout has the sizes and offsets of an ABI.
type layout struct {
	handle              int // bytes of a handle in an array
	status              int // bytes of a status
	source, tag, failed int // offsets of the public fields of a status, each a C int
	inPlace             uintptr
}

var layouts = [...]layout{
	abiOpenMPI:  {handle: wordSize, status: 24, source: 0, tag: 4, failed: 8, inPlace: 1},
	abiMPICH:    {handle: 4, status: 20, source: 8, tag: 12, failed: 16, inPlace: ^uintptr(0)},
	abiStandard: {handle: wordSize, status: 32, source: 0, tag: 4, failed: 8, inPlace: 1},
}

const wordSize = 4 << (^uintptr(0) >> 63)
