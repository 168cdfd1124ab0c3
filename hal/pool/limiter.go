package pool

import (
	"sync/atomic"

	"github.com/go-halyard/halyard/hal"
)

// Limiter lets through no more than a number of bytes at a time: the share of one part of a
// program. Unlike Options.Limit it counts what is asked for, not what is taken from the device.
type Limiter struct {
	next  Allocator
	limit uint64
	used  atomic.Uint64
}

// Limit returns an allocator that fails with ErrOutOfMemory what would make its live blocks more than
// limit bytes.
func Limit(a Allocator, limit uint64) *Limiter { return &Limiter{next: a, limit: limit} }

// Used is the number of bytes of live blocks.
func (l *Limiter) Used() uint64 { return l.used.Load() }

// Alloc implements [Allocator].
func (l *Limiter) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (Block, error) {
	for {
		used := l.used.Load()
		if size > l.limit-min(l.limit, used) {
			var dev *hal.Device
			if stream != nil {
				dev = stream.Device()
			}
			return Block{}, failure(dev, "alloc", hal.ErrOutOfMemory,
				"%d bytes more than the %d in use are beyond the limit of %d", size, used, l.limit)
		}
		if l.used.CompareAndSwap(used, used+size) {
			break
		}
	}
	b, err := l.next.Alloc(stream, kind, size)
	if err != nil {
		l.used.Add(-size)
		return Block{}, err
	}
	// One that rounds up may have given more.
	l.used.Add(b.Size() - size)
	return b.From(l), nil
}

// Free implements [Allocator].
func (l *Limiter) Free(b Block, stream *hal.Stream) error {
	n := b.Size()
	if err := l.next.Free(b, stream); err != nil {
		return err
	}
	l.used.Add(-n)
	return nil
}
