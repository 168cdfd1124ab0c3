package adapt

import (
	"slices"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// bins rounds sizes up to those of a list.
type bins struct {
	next  pool.Allocator
	sizes []uint64 // ascending
	only  bool     // larger sizes are refused
}

// Bins returns an allocator that rounds each size up to the next of the given sizes, so that freed blocks can be used
// again for other sizes. Larger sizes pass unchanged. A block's Size is the rounded one. The error is of kind
// ErrInvalidArgument if there is no size, or one of 0 bytes.
func Bins(a pool.Allocator, sizes ...uint64) (pool.Allocator, error) { return newBins(a, sizes, false) }

// FixedSize returns an allocator whose blocks all have one size. A request for more fails with an error of kind
// ErrOutOfRange.
func FixedSize(a pool.Allocator, size uint64) (pool.Allocator, error) {
	return newBins(a, []uint64{size}, true)
}

func newBins(a pool.Allocator, sizes []uint64, only bool) (pool.Allocator, error) {
	sizes = slices.Clone(sizes)
	slices.Sort(sizes)
	if len(sizes) == 0 || sizes[0] == 0 {
		return nil, hal.Errorf("bins", hal.ErrInvalidArgument, "sizes %v; at least one is needed, and none may be 0", sizes)
	}
	return &bins{a, sizes, only}, nil
}

func (a *bins) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (pool.Block, error) {
	if i, _ := slices.BinarySearch(a.sizes, size); size > 0 && i < len(a.sizes) {
		size = a.sizes[i]
	} else if size > 0 && a.only {
		return pool.Block{}, hal.Errorf("alloc", hal.ErrOutOfRange, "%d bytes do not fit in a block of %d bytes", size, a.sizes[0])
	}
	return a.next.Alloc(stream, kind, size)
}

func (a *bins) Free(b pool.Block, stream *hal.Stream) error { return a.next.Free(b, stream) }
