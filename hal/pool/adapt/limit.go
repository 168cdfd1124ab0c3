package adapt

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// limiter lets through no more than a number of bytes at a time.
type limiter struct {
	next  pool.Allocator
	limit uint64
	used  atomic.Uint64
}

// Limit returns an allocator for one part of a program. An allocation fails with ErrOutOfMemory if its live blocks would then
// have more than limit bytes in total. Unlike pool.WithLimit it counts the bytes asked for, not those taken from the device.
func Limit(a pool.Allocator, limit uint64) pool.Allocator { return &limiter{next: a, limit: limit} }

func (l *limiter) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (pool.Block, error) {
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
	// An allocator that rounds sizes up may have given more.
	l.used.Add(b.Size() - size)
	return b.From(l), nil
}

func (l *limiter) Free(b pool.Block, stream *hal.Stream) error {
	n := b.Size()
	err := l.next.Free(b, stream)
	if ended(b, n, err) {
		l.used.Add(-n)
	}
	return err
}

// ended reports whether a call of Free that returned err has ended a block, which had n bytes before. A block has ended although the call
// failed if a driver could not free its memory.
func ended(b pool.Block, n uint64, err error) bool {
	return err == nil || n > 0 && !b.Valid() && !errors.Is(err, hal.ErrClosed) && !errors.Is(err, hal.ErrInvalidArgument)
}

// exceeded is the error of an allocation of size bytes, while used bytes are in use.
func (l *limiter) exceeded(stream *hal.Stream, size, used uint64) error {
	err := &hal.Error{Op: "alloc", Device: -1, Kind: hal.ErrOutOfMemory,
		Detail: fmt.Sprintf("%d bytes are in use; %d more exceed the limit of %d", used, size, l.limit)}
	if stream != nil {
		info := stream.Device().Info()
		err.Backend, err.Device = info.Backend, info.Ordinal
	}
	return err
}
