package adapt

import (
	"errors"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// retrying asks a function what to do when memory runs out.
type retrying struct {
	next pool.Allocator
	fn   func(kind hal.Kind, size uint64, err error) bool
}

// OnFailure returns an allocator that calls fn when an allocation fails with ErrOutOfMemory, and tries
// again as long as fn returns true. fn may free blocks. It is called on the goroutine that allocates, and
// may be called by several at once.
func OnFailure(a pool.Allocator, fn func(kind hal.Kind, size uint64, err error) bool) pool.Allocator {
	return &retrying{a, fn}
}

func (a *retrying) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (pool.Block, error) {
	for {
		b, err := a.next.Alloc(stream, kind, size)
		if err == nil || !errors.Is(err, hal.ErrOutOfMemory) || !a.fn(kind, size, err) {
			return b, err
		}
	}
}

func (a *retrying) Free(b pool.Block, stream *hal.Stream) error { return a.next.Free(b, stream) }
