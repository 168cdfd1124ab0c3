package pool

import "github.com/go-halyard/halyard/hal"

type prefetching struct{ next Allocator }

// Prefetch returns an allocator that moves each new block of KindShared to the device on its stream, so that
// the first use does not fault page by page. Where memory does not move (no CapPrefetch, or no
// stream) it does nothing.
func Prefetch(a Allocator) Allocator { return &prefetching{a} }

func (a *prefetching) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (Block, error) {
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
		return Block{}, err
	}
	return b, nil
}

func (a *prefetching) Free(b Block, stream *hal.Stream) error { return a.next.Free(b, stream) }
