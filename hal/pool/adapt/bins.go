package adapt

import (
	"cmp"
	"slices"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// Bin is one size of [Bins].
type Bin struct {
	Size uint64 // bytes
	// Allocator makes the blocks of this size, nil for the allocator given to Bins.
	Allocator pool.Allocator
}

// bins rounds sizes up to those of a list.
type bins struct {
	next pool.Allocator
	list []Bin // ascending
	only bool  // larger sizes are refused
}

// Bins returns an allocator that rounds each size up to that of the next bin, so that freed blocks can be used again for other sizes, and
// takes it from the bin's allocator. Larger sizes pass unchanged to a. A block's Size is the rounded one; a bin's allocator that rounds
// it up further is an error of kind ErrOutOfRange. The error is of kind ErrInvalidArgument if there is no bin, or one of 0 bytes.
func Bins(a pool.Allocator, list ...Bin) (pool.Allocator, error) { return newBins(a, list, false) }

// FixedSize returns an allocator whose blocks all have one size, or 0 bytes. A request for more fails with an error of kind
// ErrOutOfRange.
func FixedSize(a pool.Allocator, size uint64) (pool.Allocator, error) {
	return newBins(a, []Bin{{Size: size}}, true)
}

func newBins(a pool.Allocator, list []Bin, only bool) (pool.Allocator, error) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(x, y Bin) int { return cmp.Compare(x.Size, y.Size) })
	if len(list) == 0 || list[0].Size == 0 {
		return nil, hal.Errorf("bins", hal.ErrInvalidArgument, "at least one bin is needed, and none may have 0 bytes")
	}
	return &bins{a, list, only}, nil
}

// find returns the first bin whose blocks have at least size bytes, nil if there is none or size is 0.
func (a *bins) find(size uint64) *Bin {
	i, _ := slices.BinarySearchFunc(a.list, size, func(b Bin, size uint64) int { return cmp.Compare(b.Size, size) })
	if size == 0 || i == len(a.list) {
		return nil
	}
	return &a.list[i]
}

func (a *bins) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (pool.Block, error) {
	const op = "alloc"
	bin := a.find(size)
	switch {
	case bin == nil && size > 0 && a.only:
		return pool.Block{}, hal.Errorf(op, hal.ErrOutOfRange, "%d bytes do not fit in a block of %d bytes", size, a.list[0].Size)
	case bin == nil:
		return a.next.Alloc(stream, kind, size)
	case bin.Allocator == nil:
		return a.next.Alloc(stream, kind, bin.Size)
	}
	b, err := bin.Allocator.Alloc(stream, kind, bin.Size)
	if n := b.Size(); err == nil && n != bin.Size { // Free finds the bin by the size
		_ = b.Free(stream)
		return pool.Block{}, hal.Errorf(op, hal.ErrOutOfRange, "the allocator of the bin for %d bytes returned %d", bin.Size, n)
	}
	return b, err
}

func (a *bins) Free(b pool.Block, stream *hal.Stream) error {
	r, err := b.Region()
	if err != nil {
		return err
	}
	if bin := a.find(r.Len); bin != nil && bin.Size == r.Len && bin.Allocator != nil {
		return bin.Allocator.Free(b, stream)
	}
	return a.next.Free(b, stream)
}
