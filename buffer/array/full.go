package array

import (
	"cmp"
	"context"
	"encoding/binary"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// fill is the value of every element before the first access. That access writes the value, at its own place.
type fill[T buffer.Element] struct {
	value T
	done  atomic.Bool
	turn  chan struct{} // holds an element while an access writes the value
}

// Full returns a row-major array whose elements all have the value. The value is written at the place where the array
// is first used: on a device by a fill of its memory, so that nothing is copied there. A complex128 with two different
// parts does not fit in the 8 bytes of a fill pattern and is written on the host.
// For a column-major array, reverse the extents and [Array.Transpose] the result.
func Full[T buffer.Element](value T, shape ...int) (*Array[T], error) {
	a, err := create[T]("Full", RowMajor, shape)
	if err != nil {
		return nil, err
	}
	if p, ok := pattern(value); !ok || p.Bits != 0 {
		a.root.value = &fill[T]{value: value, turn: make(chan struct{}, 1)}
	}
	return a, nil
}

// pattern returns the value as the pattern of a fill; ok is false if it does not fit in one.
func pattern[T buffer.Element](value T) (hal.Pattern, bool) {
	var raw [16]byte
	size := copy(raw[:], unsafe.Slice((*byte)(unsafe.Pointer(&value)), unsafe.Sizeof(value)))
	p := hal.Pattern64(binary.LittleEndian.Uint64(raw[:]))
	if size < 8 {
		p.Width = uint8(size)
	}
	return p, size < 16 || p.Bits == binary.LittleEndian.Uint64(raw[8:])
}

// onHost writes a value that has not been written yet, before an access on the host.
func (r *root[T]) onHost(ctx context.Context, op string) error {
	return r.once(ctx, op, false, func() error { return r.write(ctx) })
}

func (r *root[T]) write(ctx context.Context) error {
	return r.b.Overwrite(ctx, func(s []T) error {
		for i := range s {
			s[i] = r.value.value
		}
		return nil
	})
}

// onDevice writes a value that has not been written yet, before an access on the stream. If try is set it waits for no other access.
func (r *root[T]) onDevice(ctx context.Context, op string, stream *hal.Stream, try bool) error {
	return r.once(ctx, op, try, func() error {
		p, ok := pattern(r.value.value)
		if !ok {
			return r.write(ctx)
		}
		acquire := r.b.Acquire
		if try {
			acquire = func(_ context.Context, s *hal.Stream, m coherence.Mode) (buffer.Lease, error) {
				return r.b.TryAcquire(s, m)
			}
		}
		lease, err := acquire(ctx, stream, coherence.Overwrite)
		if err != nil {
			return err
		}
		err = stream.Fill(lease.Region(), p)
		return cmp.Or(err, lease.Release())
	})
}

// once calls write if the value has not been written yet. Other accesses wait until it has been, but not longer than ctx, and not at all if try
// is set.
func (r *root[T]) once(ctx context.Context, op string, try bool, write func() error) error {
	f := r.value
	if f == nil || f.done.Load() {
		return nil
	}
	if try {
		select {
		case f.turn <- struct{}{}:
		default:
			return hal.Errorf(op, hal.ErrBusy, "another access writes the array's value")
		}
	} else {
		select {
		case f.turn <- struct{}{}:
		case <-ctx.Done():
			return layer.Interrupted(op, ctx)
		}
	}
	defer func() { <-f.turn }()
	if f.done.Load() {
		return nil
	}
	err := write()
	f.done.Store(err == nil)
	return err
}
