package dlpack

// The structs of DLPack as C lays them out where a pointer has 8 bytes. Pointers are words: what they lead to
// is not of the Go heap, or is pinned.

type cVersion struct{ major, minor uint32 }

type cTensor struct {
	data       uintptr
	device     Device
	ndim       int32
	dtype      DataType
	shape      uintptr // ndim numbers of 64 bits
	strides    uintptr // the same, or 0 for row-major without gaps
	byteOffset uint64
}

// cLegacy is the struct from before DLPack 1.0.
type cLegacy struct {
	tensor  cTensor
	context uintptr
	deleter uintptr
}

// cVersioned is the struct since DLPack 1.0. What stands before tensor stays where it is in every version.
type cVersioned struct {
	version cVersion
	context uintptr
	deleter uintptr
	flags   uint64
	tensor  cTensor
}

const (
	major = 1 // of what is read and written here
	minor = 0 // the first with all that is written here

	flagReadOnly = 1 << 0
	flagCopied   = 1 << 1
)
