package grid

import "sync"

// InPhases reports whether a kernel with barriers may run as one loop over the threads of a block for each part between two barriers. The files that
// "halyard kernels" writes ask it. It says no when the program was built to count which statements run, and with the race detector, which is to see threads that
// do not wait for each other.
func InPhases() bool { return !racing && !covered }

// Pool keeps what the threads of a block keep from one phase to the next, for other blocks. Its zero value is ready, and it is safe for concurrent use. The files that
// "halyard kernels" writes have one for each kernel that needs it.
type Pool[T any] struct{ pool sync.Pool }

// Take returns n values, which hold anything.
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
