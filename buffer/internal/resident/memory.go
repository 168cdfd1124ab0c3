package resident

import (
	"context"
	"errors"
	"slices"
	"weak"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/layer"
)

// Memory is memory of a replica.
type Memory struct {
	Mem   *hal.Memory // nil if there is none
	Base  uint64      // bytes from the start of Mem to the replica
	Block pool.Block  // the block, if the memory came from an allocator
}

// Obtain allocates memory from an allocator, or from the device if a is nil.
func Obtain(a pool.Allocator, dev *hal.Device, stream *hal.Stream, kind hal.Kind, size uint64) (Memory, error) {
	if a == nil {
		mem, err := dev.Alloc(kind, size, 0)
		return Memory{Mem: mem}, err
	}
	block, err := a.Alloc(stream, kind, size)
	if err != nil {
		return Memory{}, err
	}
	r, err := block.Region()
	switch {
	case err != nil:
	case !r.Mem.Device().Same(dev):
		err = hal.Errorf("allocate", hal.ErrWrongDevice, "the allocator returned memory of %s, not of %s", r.Mem.Device().Name(),
			dev.Name())
	case r.Len < size:
		err = hal.Errorf("allocate", hal.ErrOutOfRange, "the allocator returned %d bytes instead of %d", r.Len, size)
	}
	if err != nil {
		_ = block.Free(stream)
		return Memory{}, err
	}
	return Memory{Mem: r.Mem, Base: r.Off, Block: block}, nil
}

// Allocate allocates memory for the entry's replica, from own if that is not nil, else from the allocator of the device. The error is a
// Pressure if there is no room.
func (e *Entry) Allocate(own pool.Allocator, dev *hal.Device, stream *hal.Stream) (m Memory, err error) {
	a, ok := e.count()
	if !ok {
		return m, &Pressure{Dev: dev, Need: e.size}
	}
	if own != nil {
		a = own
	}
	entered := false
	defer func() {
		if !entered { // also if the allocator, which may be the program's, panics
			e.account.mu.Lock()
			e.uncount()
			e.account.flight(-1)
			e.account.mu.Unlock()
		}
	}()
	if m, err = Obtain(a, dev, stream, hal.KindDevice, e.size); err != nil {
		if errors.Is(err, hal.ErrOutOfMemory) {
			err = &Pressure{dev, e.size, false, err, a}
		}
		return m, err
	}
	e.enter(a)
	entered = true
	if m.Block.Valid() {
		e.account.rememberPool(m.Block.Pool())
	}
	return m, nil
}

// Free frees the memory when the work that uses it has finished, and clears work.
func (m *Memory) Free(work *order.Order) error {
	if m.Block.Valid() {
		return m.handBack(work)
	}
	work.Clear()
	return m.Mem.Close()
}

// handBack frees a block, for reuse after the work that uses it has finished, and clears work.
func (m *Memory) handBack(work *order.Order) error {
	dev, b := m.Mem.Device(), m.Block
	// The stream that used the block last can use it again at once.
	var last *hal.Stream
	if w := work.Newest(func(w *order.Work) bool { return dev.Same(w.Stream.Device()) && layer.Err(w.Stream) == nil }); w != nil {
		last = w.Stream
	}
	var closed []*hal.Stream // closed streams record no event, but may still have work
	work.Works(func(w *order.Work, _ bool) {
		if w.Stream == last || w.EndedWell() {
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

// SetAllocator sets the allocator for new replicas on the device, nil for the device itself.
func (a *Account) SetAllocator(alloc pool.Allocator) {
	a.mu.Lock()
	a.alloc = alloc
	a.mu.Unlock()
}

// Allocator returns what SetAllocator has set.
func (a *Account) Allocator() pool.Allocator {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.alloc
}

// rememberPool remembers a pool, so that trim can make it free memory.
func (a *Account) rememberPool(p *pool.Pool) {
	if p == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	w := weak.Make(p)
	if !slices.Contains(a.pools, w) {
		a.pools = slices.DeleteFunc(a.pools, func(w weak.Pointer[pool.Pool]) bool { return w.Value() == nil })
		a.pools = append(a.pools, w)
	}
}

// trim makes the known pools free the memory that they keep, and returns the number of bytes. It leaves out the pool asked, whose
// allocation has failed.
func (a *Account) trim(asked pool.Allocator) (released uint64) {
	a.mu.Lock()
	pools := slices.Clone(a.pools)
	a.mu.Unlock()
	for _, w := range pools {
		if p := w.Value(); p != nil && asked != pool.Allocator(p) {
			released += p.Trim(0)
		}
	}
	return released
}
