package grid

import (
	"sync/atomic"
	"unsafe"
)

// Integer is what the atomic operations on bits work on. A device that has no atomic operations of 64 bits refuses kernels with such
// operations.
type Integer interface {
	int32 | uint32 | int64 | uint64
}

// Number is what the other atomic operations work on. Those on a float64 are operations of 64 bits.
type Number interface{ Integer | float32 | float64 }

// AtomicAdd adds v to *p and returns what *p was. This and the other atomic functions are for elements of buffers and of [Shared] memory
// that several threads change. Additions of floats round, so a sum depends on their order, which is another in each run. GPUs may add a
// float32 below the smallest normal number as 0.
func AtomicAdd[T Number](p *T, v T) T {
	switch {
	case T(1)/2 != 0: // T is a type of floats
		for {
			if old := load(p); swapped(p, old, old+v) {
				return old
			}
		}
	case unsafe.Sizeof(v) == 8:
		return T(atomic.AddUint64(word[uint64](p), uint64(v))) - v
	}
	return T(atomic.AddUint32(word[uint32](p), uint32(v))) - v
}

// AtomicMin sets *p to min(*p, v), and returns what *p was. As with Go's min, the result is a NaN if one of them is, and -0 is less than 0.
func AtomicMin[T Number](p *T, v T) T {
	for {
		old := load(p)
		if least := min(old, v); same(least, old) || swapped(p, old, least) {
			return old
		}
	}
}

// AtomicMax sets *p to max(*p, v), and returns what *p was. As with Go's max, the result is a NaN if one of them is, and -0 is less than 0.
func AtomicMax[T Number](p *T, v T) T {
	for {
		old := load(p)
		if most := max(old, v); same(most, old) || swapped(p, old, most) {
			return old
		}
	}
}

// AtomicAnd makes *p the bits that are set in both *p and v, and returns what *p was.
func AtomicAnd[T Integer](p *T, v T) T {
	if unsafe.Sizeof(v) == 8 {
		return T(atomic.AndUint64(word[uint64](p), uint64(v)))
	}
	return T(atomic.AndUint32(word[uint32](p), uint32(v)))
}

// AtomicOr makes *p the bits that are set in *p, v or both, and returns what *p was.
func AtomicOr[T Integer](p *T, v T) T {
	if unsafe.Sizeof(v) == 8 {
		return T(atomic.OrUint64(word[uint64](p), uint64(v)))
	}
	return T(atomic.OrUint32(word[uint32](p), uint32(v)))
}

// AtomicXor makes *p the bits that are set in exactly one of *p and v, and returns what *p was.
func AtomicXor[T Integer](p *T, v T) T {
	for {
		if old := load(p); swapped(p, old, old^v) {
			return old
		}
	}
}

// AtomicExchange sets *p to v, and returns what *p was.
func AtomicExchange[T Number](p *T, v T) T {
	if unsafe.Sizeof(v) == 8 {
		was := atomic.SwapUint64(word[uint64](p), *word[uint64](&v))
		return *(*T)(unsafe.Pointer(&was))
	}
	was := atomic.SwapUint32(word[uint32](p), *word[uint32](&v))
	return *(*T)(unsafe.Pointer(&was))
}

// AtomicCompareExchange sets *p to new if it was old, and returns what *p was. Floats are compared by their bits, so 0 is not -0, and a NaN
// is the same as one with the same bits.
func AtomicCompareExchange[T Number](p *T, old, new T) T {
	for {
		if was := load(p); !same(was, old) || swapped(p, old, new) {
			return was
		}
	}
}

// word returns the address of a number as that of an integer of its width.
func word[W uint32 | uint64, T Number](p *T) *W { return (*W)(unsafe.Pointer(p)) }

func load[T Number](p *T) T {
	if unsafe.Sizeof(*p) == 8 {
		is := atomic.LoadUint64(word[uint64](p))
		return *(*T)(unsafe.Pointer(&is))
	}
	is := atomic.LoadUint32(word[uint32](p))
	return *(*T)(unsafe.Pointer(&is))
}

func swapped[T Number](p *T, old, new T) bool {
	if unsafe.Sizeof(old) == 8 {
		return atomic.CompareAndSwapUint64(word[uint64](p), *word[uint64](&old), *word[uint64](&new))
	}
	return atomic.CompareAndSwapUint32(word[uint32](p), *word[uint32](&old), *word[uint32](&new))
}

// same reports whether two numbers have the same bits.
func same[T Number](x, y T) bool {
	if unsafe.Sizeof(x) == 8 {
		return *word[uint64](&x) == *word[uint64](&y)
	}
	return *word[uint32](&x) == *word[uint32](&y)
}
