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

// WithAllocator makes the buffer take the memory of its replica on the device from an allocator of that
// device's memory, in place of the device itself or of what [SetAllocator] chose; nil goes back to the device.
// With [WithPinnedHost] of the same device the host's replica comes from it as well, unless the host has to map it. The
// option may be given once for each device.
//
// Memory is freed on the stream that used it last, and is the allocator's again even while that stream still works.
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

// SetAllocator chooses where replicas on a device handle take their memory from, in buffers made without the option
// [WithAllocator]: an allocator of that device's memory, or for nil, which is the default, the device itself. It
// concerns new replicas; those that exist keep their memory.
//
// There is no pool unless a program asks for one: memory that a pool keeps is out of reach of other programs
// and of other libraries in this one, and the device does not close before the pool. With one, taking a
// replica and giving it back costs some hundred nanoseconds and no call of the vendor's:
//
//	p, err := pool.New(dev)
//	buffer.SetAllocator(dev, p)
//
// When memory runs out, pools give back free memory first, and only then are replicas evicted. To close the pool,
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

// obtain takes memory from an allocator, or from the device if that is nil.
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
		err = hal.Errorf("allocate", hal.ErrWrongDevice, "the allocator gave memory of %s, not of %s", r.Mem.Device().Name(), dev.Name())
	case r.Len < size:
		err = hal.Errorf("allocate", hal.ErrOutOfRange, "the allocator gave %d bytes when asked for %d", r.Len, size)
	}
	if err != nil {
		_ = block.Free(stream)
		return holding{}, err
	}
	return holding{mem: r.Mem, base: r.Off, block: block}, nil
}

// memory takes page-locked memory for the host's replica.
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
	if err == nil && got.block.Valid() && got.mem.NeedsMap() {
		// The host would map the allocator's whole memory, which other blocks share.
		_ = got.block.Free(nil)
		got, err = obtain(nil, dev, nil, hal.KindHost, s.size)
	}
	if err == nil && !got.mem.NeedsMap() && got.mem.HostPointer() == nil {
		_ = got.free(new(order.Order))
		return holding{}, hal.Errorf("host replica", hal.ErrUnsupported, "the host cannot touch page-locked memory of %s", dev.Name())
	}
	return got, err
}

// handBack frees a block of the device's memory once the work that uses it has finished, and forgets the work.
func handBack(b pool.Block, dev *hal.Device, work *order.Order) error {
	// On the stream that used it last the block can be used again at once.
	var last *hal.Stream
	if w := work.Newest(func(w *order.Work) bool { return dev.Same(w.Stream.Device()) && layer.Err(w.Stream) == nil }); w != nil {
		last = w.Stream
	}
	var closed []*hal.Stream // that record no event, but may have work
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
