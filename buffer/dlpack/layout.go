package dlpack

import "github.com/go-halyard/halyard/buffer/dlpack/internal/abi"

// The structs of DLPack as C lays them out where a pointer has 8 bytes. Pointers are stored as uintptr: the memory that
// they point to is outside the Go heap, or pinned.

type cVersion struct{ major, minor uint32 }

type cTensor struct {
	data       uintptr
	device     abi.Device
	ndim       int32
	dtype      abi.DataType
	shape      uintptr // ndim numbers of 64 bits
	strides    uintptr // ndim numbers of 64 bits, or 0 for row-major without gaps
	byteOffset uint64
}

// cLegacy is the struct from before DLPack 1.0.
type cLegacy struct {
	tensor  cTensor
	context uintptr
	deleter uintptr
}

// cVersioned is the struct since DLPack 1.0. The fields before tensor have the same place in every version.
type cVersioned struct {
	version cVersion
	context uintptr
	deleter uintptr
	flags   uint64
	tensor  cTensor
}

const (
	major = 1 // the version that this package reads and writes
	minor = 0 // the first with everything that this package writes

	flagReadOnly = 1 << 0
	flagCopied   = 1 << 1
)
