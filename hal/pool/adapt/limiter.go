package adapt

import (
	"fmt"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// Limiter lets through no more than a number of bytes at a time: the share of one part of a
// program. Unlike pool.Options.Limit it counts what is asked for, not what is taken from the device.
type Limiter struct {
	next  pool.Allocator
	limit uint64
	used  atomic.Uint64
}

// Limit returns an allocator that fails with ErrOutOfMemory what would make its live blocks more than
// limit bytes.
func Limit(a pool.Allocator, limit uint64) *Limiter { return &Limiter{next: a, limit: limit} }

// Used is the number of bytes of live blocks.
func (l *Limiter) Used() uint64 { return l.used.Load() }

// Alloc implements [pool.Allocator].
func (l *Limiter) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (pool.Block, error) {
	for {
		used := l.used.Load()
		if size > l.limit-min(l.limit, used) {
			return pool.Block{}, l.exceeded(stream, size, used)
		}
		if l.used.CompareAndSwap(used, used+size) {
			break
		}
	}
	b, err := l.next.Alloc(stream, kind, size)
	if err != nil {
		l.used.Add(-size)
		return pool.Block{}, err
	}
	// One that rounds up may have given more.
	l.used.Add(b.Size() - size)
	return b.From(l), nil
}

// Free implements [pool.Allocator].
func (l *Limiter) Free(b pool.Block, stream *hal.Stream) error {
	n := b.Size()
	if err := l.next.Free(b, stream); err != nil {
		return err
	}
	l.used.Add(-n)
	return nil
}

// exceeded is the error of an allocation of size bytes, while used are.
func (l *Limiter) exceeded(stream *hal.Stream, size, used uint64) error {
	err := &hal.Error{Op: "alloc", Device: -1, Kind: hal.ErrOutOfMemory,
		Detail: fmt.Sprintf("%d bytes more than the %d in use are beyond the limit of %d", size, used, l.limit)}
	if stream != nil {
		info := stream.Device().Info()
		err.Backend, err.Device = info.Backend, info.Ordinal
	}
	return err
}
