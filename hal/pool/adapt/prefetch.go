package adapt

import (
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

type prefetching struct{ next pool.Allocator }

// Prefetch returns an allocator that moves each new block of KindShared to the device on its stream, so that
// the first use does not fault page by page. Without CapPrefetch, or without a stream, nothing is
// moved.
func Prefetch(a pool.Allocator) pool.Allocator { return &prefetching{a} }

func (a *prefetching) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (pool.Block, error) {
	b, err := a.next.Alloc(stream, kind, size)
	if err != nil || kind != hal.KindShared || stream == nil || !stream.Device().Caps().Has(hal.CapPrefetch) {
		return b, err
	}
	r, err := b.Region()
	if err == nil {
		err = stream.Prefetch(r, false)
	}
	if err != nil {
		_ = b.Free(stream)
		return pool.Block{}, err
	}
	return b, nil
}

func (a *prefetching) Free(b pool.Block, stream *hal.Stream) error { return a.next.Free(b, stream) }
