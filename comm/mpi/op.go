package mpi

import (
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// ownOp is an operation of MPI that this package computes, in place of one that the library gets wrong. It is made when it is first needed.
type ownOp struct {
	once   sync.Once
	handle uintptr
	err    error
}

// combiner combines n elements at in with those at to, which get the result.
type combiner func(in, to unsafe.Pointer, n int)

// own returns the combiner that replaces the library's operation, or nil if the library's is right. All ranks of a job have to use the same
// operation, so it depends on the library alone, and not on this rank's processor.
func (l *library) own(o driver.Op, t driver.Type) combiner {
	switch {
	case o == driver.Sum && l.maker == makerOpenMPI: // on processors with AVX sums of short integers saturate (its issue 8045)
		return combiners[o][t]
	case (o == driver.Min || o == driver.Max) && l.signs:
		return combiners[o][t]
	}
	return nil
}

var combiners = [driver.Max + 1][driver.Complex128 + 1]combiner{
	driver.Sum: {driver.Int8: addBytes, driver.Uint8: addBytes, driver.Int16: addPairs, driver.Uint16: addPairs},
	driver.Min: {driver.Uint8: least[uint8], driver.Uint16: least[uint16], driver.Uint32: least[uint32], driver.Uint64: least[uint64]},
	driver.Max: {driver.Uint8: most[uint8], driver.Uint16: most[uint16], driver.Uint32: most[uint32], driver.Uint64: most[uint64]},
}

// comparesSigns asks whether the library compares unsigned integers as if they were signed, as MPICH 4.0.2 does.
func (l *library) comparesSigns() bool {
	for t := driver.Uint8; t <= driver.Uint64; t++ {
		in, out := new(uint64), new(uint64)
		*in, *out = 1, ^uint64(0)
		code := int32(l.call.ReduceLocal.Call5(uintptr(unsafe.Pointer(in)), uintptr(unsafe.Pointer(out)), 1, l.typeOf(t),
			l.opOf(driver.Max)))
		if code == 0 && *out != ^uint64(0) {
			return true
		}
	}
	return false
}

// ownOp returns MPI's handle of a combiner. It is never freed, because collective operations under way may use it.
func (e *engine) ownOp(o driver.Op, t driver.Type, combine combiner) (uintptr, error) {
	s := &e.own[o][t]
	s.once.Do(func() {
		// void (*)(void *in, void *inout, int *len, MPI_Datatype *); MPI 4.1, section 6.9.5. It is called with memory of the library or of
		// the engine.
		function := dl.NewFunction(func(a dl.CallbackArgs) {
			combine(dl.Pointer(a[0]), dl.Pointer(a[1]), int(*(*int32)(dl.Pointer(a[2]))))
		})
		made := new(uint64)
		e.enter()
		defer e.leave()
		if err := e.lib.failure("reduce", "MPI_Op_create", int32(e.lib.call.OpCreate.Call3(function, 1,
			uintptr(unsafe.Pointer(made))))); err != nil {
			s.err = err
			return
		}
		s.handle = e.lib.loadHandle(unsafe.Pointer(made))
	})
	return s.handle, s.err
}

func least[T uint8 | uint16 | uint32 | uint64](in, to unsafe.Pointer, n int) {
	x, y := unsafe.Slice((*T)(in), n), unsafe.Slice((*T)(to), n)
	for i, v := range x {
		y[i] = min(y[i], v)
	}
}

func most[T uint8 | uint16 | uint32 | uint64](in, to unsafe.Pointer, n int) {
	x, y := unsafe.Slice((*T)(in), n), unsafe.Slice((*T)(to), n)
	for i, v := range x {
		y[i] = max(y[i], v)
	}
}

// addBytes and addPairs add n integers of one and of two bytes to those at to, eight bytes at a time. Integers are added without their
// highest bits, so that nothing is carried into the next integer; then the highest bits are added.
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
