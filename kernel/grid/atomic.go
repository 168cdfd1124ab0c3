package grid

import (
	"sync/atomic"
	"unsafe"
)

// Integer is what atomic operations work on.
type Integer interface{ int32 | uint32 }

// AtomicAdd adds v to *p and returns what *p was. This and the other atomic functions are for elements of buffers and of [Shared] memory that
// several threads change.
func AtomicAdd[T Integer](p *T, v T) T { return T(atomic.AddUint32(word(p), uint32(v))) - v }

// AtomicMin makes *p the smaller of *p and v, and returns what *p was.
func AtomicMin[T Integer](p *T, v T) T {
	for {
		if old := load(p); old <= v || swapped(p, old, v) {
			return old
		}
	}
}

// AtomicMax makes *p the larger of *p and v, and returns what *p was.
func AtomicMax[T Integer](p *T, v T) T {
	for {
		if old := load(p); old >= v || swapped(p, old, v) {
			return old
		}
	}
}

// AtomicAnd makes *p the bits that are set in both *p and v, and returns what *p was.
func AtomicAnd[T Integer](p *T, v T) T { return T(atomic.AndUint32(word(p), uint32(v))) }

// AtomicOr makes *p the bits that are set in *p, v or both, and returns what *p was.
func AtomicOr[T Integer](p *T, v T) T { return T(atomic.OrUint32(word(p), uint32(v))) }

// AtomicXor makes *p the bits that are set in exactly one of *p and v, and returns what *p was.
func AtomicXor[T Integer](p *T, v T) T {
	for {
		if old := load(p); swapped(p, old, old^v) {
			return old
		}
	}
}

// AtomicExchange sets *p to v, and returns what *p was.
func AtomicExchange[T Integer](p *T, v T) T { return T(atomic.SwapUint32(word(p), uint32(v))) }

// AtomicCompareExchange sets *p to new if it was old, and returns what *p was.
func AtomicCompareExchange[T Integer](p *T, old, new T) T {
	for {
		switch was := load(p); {
		case was != old:
			return was
		case swapped(p, old, new):
			return old
		}
	}
}

func word[T Integer](p *T) *uint32 { return (*uint32)(unsafe.Pointer(p)) }

func load[T Integer](p *T) T { return T(atomic.LoadUint32(word(p))) }

func swapped[T Integer](p *T, old, new T) bool {
	return atomic.CompareAndSwapUint32(word(p), uint32(old), uint32(new))
}
