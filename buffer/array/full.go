package array

import (
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// fill is the value of every element before the first access. That access writes the value, at its own place.
type fill[T buffer.Element] struct {
	value T
	done  atomic.Bool
	mu    sync.Mutex
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
		a.root.value = &fill[T]{value: value}
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
func (r *root[T]) onHost(ctx context.Context) error {
	f := r.value
	if f == nil || f.done.Load() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done.Load() {
		return nil
	}
	return r.write(ctx)
}

func (r *root[T]) write(ctx context.Context) error {
	f := r.value
	err := r.b.Overwrite(ctx, func(s []T) error {
		for i := range s {
			s[i] = f.value
		}
		return nil
	})
	f.done.Store(err == nil)
	return err
}

// onDevice writes a value that has not been written yet, before an access on the stream. Other accesses
// wait until it has been written.
func (r *root[T]) onDevice(stream *hal.Stream) error {
	f := r.value
	if f == nil || f.done.Load() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done.Load() {
		return nil
	}
	p, ok := pattern(f.value)
	if !ok {
		return r.write(context.Background())
	}
	lease, err := r.b.TryAcquire(stream, coherence.Overwrite)
	if err != nil {
		return err
	}
	err = stream.Fill(lease.Region(), p)
	if rerr := lease.Release(); err == nil {
		err = rerr
	}
	f.done.Store(err == nil)
	return err
}
