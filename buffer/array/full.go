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

// fill is a value that every element has until the first access writes it where that access is.
type fill[T buffer.Element] struct {
	value T
	done  atomic.Bool
	mu    sync.Mutex
}

// Full returns a row-major array whose elements all have the value. It is written where the array is first
// used: on a device by a fill of its memory, so that nothing is copied there.
// What a pattern of 8 bytes cannot express, a complex128 with two different parts, is written on
// the host.
func Full[T buffer.Element](value T, shape ...int) (*Array[T], error) {
	return FullIn(RowMajor, value, shape...)
}

// FullIn is [Full] with a choice of the order.
func FullIn[T buffer.Element](order Order, value T, shape ...int) (*Array[T], error) {
	a, err := create[T]("Full", order, shape)
	if err != nil {
		return nil, err
	}
	if p, ok := pattern(value); !ok || p.Bits != 0 {
		a.root.value = &fill[T]{value: value}
	}
	return a, nil
}

// pattern is the value as a device fills memory with it.
func pattern[T buffer.Element](value T) (hal.Pattern, bool) {
	var raw [16]byte
	size := copy(raw[:], unsafe.Slice((*byte)(unsafe.Pointer(&value)), unsafe.Sizeof(value)))
	p := hal.Pattern64(binary.LittleEndian.Uint64(raw[:]))
	if size < 8 {
		p.Width = uint8(size)
	}
	return p, size < 16 || p.Bits == binary.LittleEndian.Uint64(raw[8:])
}

// onHost writes a value that is still due, before an access that is not a device's.
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

// onDevice writes a value that is still due, before an access on the stream. Until it has been written
// nothing else uses the buffer.
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
