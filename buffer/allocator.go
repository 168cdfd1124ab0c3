package buffer

import (
	"context"
	"slices"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/layer"
)

// allocatorOn is the choice of an allocator for one device.
type allocatorOn struct {
	dev *hal.Device
	a   pool.Allocator
}

// WithAllocator makes the buffer allocate its replica on the device from an allocator of that
// device's memory, and not from the allocator of [SetAllocator]. If a is nil, the memory comes from the device itself.
// With [WithPinnedHost] of the same device the host's replica comes from the allocator as well. The
// option may be given once for each device.
//
// Memory is freed on the stream that used it last, and goes back to the allocator even while that stream still works.
// Before closing such a stream, call [pool.Pool.ForgetStream] if the allocator is a pool.
//
// Close the buffer before the allocator.
func WithAllocator(dev *hal.Device, a pool.Allocator) Option {
	return func(s *storage) {
		s.allocator = slices.DeleteFunc(s.allocator, func(x allocatorOn) bool { return x.dev.Same(dev) })
		if a == nil && dev != nil {
			a = pool.Direct(dev)
		}
		if dev != nil {
			s.allocator = append(s.allocator, allocatorOn{dev, a})
		}
	}
}

// SetAllocator sets the allocator for new replicas on a device handle, in buffers made without the option
// [WithAllocator]. If a is nil, which is the default, the memory comes from the device itself. Existing replicas keep their memory.
//
// There is no pool by default, because other programs, and other libraries in this program, cannot use the memory that a pool
// keeps, and the device does not close before the pool. With a pool, allocating and freeing a
// replica takes some hundred nanoseconds and calls no function of the vendor:
//
//	p, err := pool.New(dev)
//	buffer.SetAllocator(dev, p)
//
// When memory runs out, pools first free memory that they keep; only then are replicas evicted. To close the pool,
// close the buffers and set another allocator.
func SetAllocator(dev *hal.Device, a pool.Allocator) {
	if dev == nil {
		return
	}
	res := residencyOf(dev)
	res.mu.Lock()
	res.alloc = a
	res.mu.Unlock()
}

func (s *storage) allocatorOn(dev *hal.Device) pool.Allocator {
	for _, x := range s.allocator {
		if x.dev.Same(dev) {
			return x.a
		}
	}
	return nil
}

// obtain allocates memory from an allocator, or from the device if a is nil.
func obtain(a pool.Allocator, dev *hal.Device, stream *hal.Stream, kind hal.Kind, size uint64) (holding, error) {
	if a == nil {
		mem, err := dev.Alloc(kind, size, 0)
		return holding{mem: mem}, err
	}
	block, err := a.Alloc(stream, kind, size)
	if err != nil {
		return holding{}, err
	}
	r, err := block.Region()
	switch {
	case err != nil:
	case !r.Mem.Device().Same(dev):
		err = hal.Errorf("allocate", hal.ErrWrongDevice, "the allocator returned memory of %s, not of %s", r.Mem.Device().Name(), dev.Name())
	case r.Len < size:
		err = hal.Errorf("allocate", hal.ErrOutOfRange, "the allocator returned %d bytes instead of %d", r.Len, size)
	}
	if err != nil {
		_ = block.Free(stream)
		return holding{}, err
	}
	return holding{mem: r.Mem, base: r.Off, block: block}, nil
}

// memory allocates page-locked memory for the host's replica.
func (h *hostReplica) memory(dev *hal.Device) (holding, error) {
	s := h.owner
	a := s.allocatorOn(dev)
	if a == nil {
		res := residencyOf(dev)
		res.mu.Lock()
		a = res.alloc
		res.mu.Unlock()
	}
	got, err := obtain(a, dev, nil, hal.KindHost, s.size)
	if err == nil && got.mem.HostPointer() == nil {
		_ = got.free(new(order.Order))
		return holding{}, hal.Errorf("host replica", hal.ErrUnsupported, "the host cannot access page-locked memory of %s", dev.Name())
	}
	return got, err
}

// handBack frees a block of the device's memory, for reuse after the work that uses it has finished, and clears work.
func handBack(b pool.Block, dev *hal.Device, work *order.Order) error {
	// The stream that used the block last can use it again at once.
	var last *hal.Stream
	if w := work.Newest(func(w *order.Work) bool { return dev.Same(w.Stream.Device()) && layer.Err(w.Stream) == nil }); w != nil {
		last = w.Stream
	}
	var closed []*hal.Stream // closed streams record no event, but may still have work
	work.Works(func(w *order.Work, _ bool) {
		if w.Stream == last || w.Over() {
			return
		}
		if e := w.Event(); e != nil {
			if done, _ := e.Done(); !done {
				_ = b.KeepUntil(e)
			}
		} else if b.RecordUse(w.Stream) != nil {
			closed = append(closed, w.Stream)
		}
	})
	work.Clear()
	if len(closed) == 0 {
		return b.Free(last)
	}
	go func() {
		for _, s := range closed {
			_ = layer.Drain(s, context.Background())
		}
		_ = b.Free(nil)
	}()
	return nil
}
