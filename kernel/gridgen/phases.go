package gridgen

import (
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/internal/debug"
)

// InPhases reports whether a kernel with barriers may run in phases. A phase is the part of the kernel between two barriers, run as one
// loop over the threads of a block. It is false if the program was built to count which
// statements run, or prints, or with the race detector, which finds no race between threads that run one after the other.
func InPhases() bool {
	clearUpper()
	return !Racing && !covered && !debug.Printing
}

// Steps returns the steps of a kernel with barriers ([Bounded]), or nil if it does not run in phases: its threads then wait for each
// other.
func Steps(steps ...uint32) []uint32 {
	if !InPhases() {
		return nil
	}
	return steps
}

// Pool has memory for values that the threads of a block keep from one phase to the next. One block after another uses it. Its zero value
// is ready, and it is safe for concurrent use.
type Pool[T any] struct{ pool sync.Pool }

// Take returns n values with unspecified contents.
func (p *Pool[T]) Take(n int) *[]T {
	s, _ := p.pool.Get().(*[]T)
	if s == nil {
		s = new([]T)
	}
	if cap(*s) < n {
		*s = make([]T, n)
	}
	*s = (*s)[:n]
	return s
}

// Give takes back what Take returned.
func (p *Pool[T]) Give(s *[]T) { p.pool.Put(s) }

// Copies copies n elements of src, from the one with index from on, to dst, from the one with index to on. If one of them is not there it
// copies none and returns false.
func Copies[T any](dst []T, to int, src []T, from, n int) bool {
	if uint(to) > uint(len(dst)) || len(dst)-to < n || uint(from) > uint(len(src)) || len(src)-from < n {
		return false
	}
	copy(dst[to:to+n], src[from:])
	return true
}

// Lent returns s for a call of a function that does not keep it. The compiler cannot see which function a variable holds, and would take
// an array that is passed to it from the heap, for each block.
func Lent[T any](s []T) []T {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(s))) // no call is between the two lines, so that the stack does not move
	return unsafe.Slice(*(**T)(unsafe.Pointer(&at)), len(s))
}
