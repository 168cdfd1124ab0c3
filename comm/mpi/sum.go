package mpi

import (
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/comm/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// sum is an operation of MPI that adds integers and wraps around. It is made when it is first needed.
type sum struct {
	once   sync.Once
	handle uintptr
	err    error
}

// saturates reports whether the library's own sum of integers of one or two bytes may become the largest value when it does not fit. Open MPI's does on
// processors with AVX (its issue 8045). All ranks of a job must use the same operation, so the processor of this rank does not matter.
func (l *library) saturates() bool { return l.maker == makerOpenMPI }

// wrapping returns an operation that adds integers of the type's size, signed or not. It is never freed, because collective operations under way may use it.
func (e *Engine) wrapping(t driver.Type) (uintptr, error) {
	s, add := &e.sums[0], addBytes
	if t.Size() == 2 {
		s, add = &e.sums[1], addPairs
	}
	s.once.Do(func() {
		// void (*)(void *in, void *inout, int *len, MPI_Datatype *); MPI 4.1, section 6.9.5. It is called with memory of the library or of the engine.
		function := dl.NewFunction(func(a dl.CallbackArgs) {
			add(dl.Pointer(a[0]), dl.Pointer(a[1]), int(*(*int32)(dl.Pointer(a[2]))))
		})
		made := new(uint64)
		e.enter()
		defer e.leave()
		if err := e.lib.failure("reduce", "MPI_Op_create", int32(e.lib.call.OpCreate.Call3(function, 1, uintptr(unsafe.Pointer(made))))); err != nil {
			s.err = err
			return
		}
		s.handle = e.lib.loadHandle(unsafe.Pointer(made))
	})
	return s.handle, s.err
}

// addBytes and addPairs add n integers of one and of two bytes to those at to, eight bytes at a time. Integers are added without their highest bits, so
// that nothing is carried into the next integer; then the highest bits are added.
func addBytes(in, to unsafe.Pointer, n int) {
	x, y := unsafe.Slice((*byte)(in), n), unsafe.Slice((*byte)(to), n)
	i := addWords(in, to, n, 0x8080808080808080)
	for ; i < n; i++ {
		y[i] += x[i]
	}
}

func addPairs(in, to unsafe.Pointer, n int) {
	x, y := unsafe.Slice((*uint16)(in), n), unsafe.Slice((*uint16)(to), n)
	i := addWords(in, to, 2*n, 0x8000800080008000) / 2
	for ; i < n; i++ {
		y[i] += x[i]
	}
}

// addWords adds the whole words in n bytes, and returns how many bytes these are. high has the highest bit of each integer.
func addWords(in, to unsafe.Pointer, n int, high uint64) (done int) {
	x, y := unsafe.Slice((*[8]byte)(in), n/8), unsafe.Slice((*[8]byte)(to), n/8)
	for i := range x {
		a, b := *(*uint64)(unsafe.Pointer(&x[i])), *(*uint64)(unsafe.Pointer(&y[i]))
		*(*uint64)(unsafe.Pointer(&y[i])) = (a&^high + b&^high) ^ (a^b)&high
	}
	return n / 8 * 8
}
