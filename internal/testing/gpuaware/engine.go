// Package gpuaware makes of any engine one that takes addresses of devices, as MPI libraries built for GPUs do. It is for tests. It copies to and
// from memory of the engine below it, and keeps a list of the device memory that it may be given.
package gpuaware

import (
	"context"
	"fmt"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// Engine is an engine that takes what Message and Collective name, and says so. An address of a device that is in neither is an error of
// [Engine.Err], and the operation is refused.
type Engine struct {
	driver.Engine
	Message, Collective driver.MemoryKinds
	Refuse              error // if not nil, every operation on a device's memory is refused with it

	mu    sync.Mutex
	known []*hal.Memory
	moves map[driver.Request][]move
	err   error
	taken int
}

// move is memory of the engine below that stands for some of a device.
type move struct {
	at   hal.Region
	p    unsafe.Pointer
	back bool // the device gets it at the end
}

// Know adds memory of a device.
func (e *Engine) Know(m *hal.Memory) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.known = append(e.known, m)
}

// Taken is the number of addresses of devices that the engine has been given.
func (e *Engine) Taken() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.taken
}

// Err says which address the engine should not have been given.
func (e *Engine) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// Info is that of the engine below, with the kinds of memory.
func (e *Engine) Info() driver.Info {
	i := e.Engine.Info()
	i.Memory, i.Collective = i.Memory|e.Message, i.Collective|e.Collective
	return i
}

// World is that of the engine below.
func (e *Engine) World() driver.Comm { return &communicator{e.Engine.World(), e} }

// find returns what n bytes at an address are, if they are a device's; e.mu is held.
func (e *Engine) find(p unsafe.Pointer, n uint64) (hal.Region, bool) {
	for _, m := range e.known {
		if at := uint64(uintptr(p) - m.Handle()); m.Handle() != 0 && uintptr(p) >= m.Handle() && at < m.Size() {
			return m.Region(at, n), true
		}
	}
	return hal.Region{}, false
}

// stand returns memory of the engine below in place of a device's, and the memory itself if it is the host's.
func (e *Engine) stand(moves *[]move, kinds driver.MemoryKinds, p unsafe.Pointer, n uint64, reads, writes bool) (unsafe.Pointer, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	at, there := e.find(p, n)
	if !there || n == 0 {
		return p, nil
	}
	e.taken++
	backend := at.Mem.Device().Info().Backend
	if kind, ok := map[string]driver.MemoryKinds{"cuda": driver.MemoryCUDA, "hip": driver.MemoryROCm}[backend]; !ok || !kinds.Has(kind) {
		e.err = fmt.Errorf("the engine was given %d bytes at %#x, which are those of %s", n, uintptr(p), at.Mem.Device().Name())
		return nil, driver.Errorf("find memory", driver.ErrInvalidArgument, "%v", e.err)
	}
	if e.Refuse != nil {
		return nil, e.Refuse
	}
	q, err := e.Engine.Alloc(n)
	if err != nil {
		return nil, err
	}
	*moves = append(*moves, move{at, q, writes})
	if reads {
		return q, carry(at, q, false)
	}
	return q, nil
}

// carry copies between a device and memory of the engine below, and waits.
func carry(at hal.Region, p unsafe.Pointer, in bool) error {
	s, err := at.Mem.Device().CopyStream(!in)
	if err != nil {
		return err
	}
	b := unsafe.Slice((*byte)(p), at.Len)
	if in {
		err = s.CopyIn(at, b)
	} else {
		err = s.CopyOut(b, at)
	}
	if err != nil {
		return err
	}
	return s.Sync(context.Background())
}

// begun remembers what a request is for.
func (e *Engine) begun(r driver.Request, moves []move) driver.Request {
	if r != 0 && len(moves) > 0 {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.moves == nil {
			e.moves = map[driver.Request][]move{}
		}
		e.moves[r] = moves
	}
	return r
}

// Test is that of the engine below. What has been received goes to the devices.
func (e *Engine) Test(reqs []driver.Request, out []driver.Status) (int, error) {
	before := append([]driver.Request(nil), reqs...)
	done, err := e.Engine.Test(reqs, out)
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, r := range before {
		if r == 0 || reqs[i] != 0 {
			continue
		}
		for _, m := range e.moves[r] {
			n := m.at.Len
			if m.back && out[i].Err == nil && !out[i].Cancelled {
				if out[i].Bytes > 0 {
					m.at.Len = out[i].Bytes
				}
				if e := carry(m.at, m.p, true); e != nil {
					out[i].Err = e
				}
			}
			e.Free(m.p, n)
		}
		delete(e.moves, r)
	}
	return done, err
}

type communicator struct {
	driver.Comm
	e *Engine
}

func (c *communicator) Dup() (driver.Comm, error) { return c.derive(c.Comm.Dup()) }

func (c *communicator) Split(color, key int) (driver.Comm, error) {
	return c.derive(c.Comm.Split(color, key))
}

func (c *communicator) SplitShared(key int) (driver.Comm, error) {
	return c.derive(c.Comm.SplitShared(key))
}

func (c *communicator) derive(d driver.Comm, err error) (driver.Comm, error) {
	if d == nil || err != nil {
		return nil, err
	}
	return &communicator{d, c.e}, nil
}

func (c *communicator) Isend(p unsafe.Pointer, n uint64, dest, tag int) (driver.Request, error) {
	var moves []move
	q, err := c.e.stand(&moves, c.e.Message, p, n, true, false)
	if err != nil {
		return 0, err
	}
	r, err := c.Comm.Isend(q, n, dest, tag)
	return c.e.begun(r, moves), err
}

func (c *communicator) Irecv(p unsafe.Pointer, n uint64, source, tag int) (driver.Request, error) {
	var moves []move
	q, err := c.e.stand(&moves, c.e.Message, p, n, false, true)
	if err != nil {
		return 0, err
	}
	r, err := c.Comm.Irecv(q, n, source, tag)
	return c.e.begun(r, moves), err
}

func (c *communicator) Collective(o driver.Collective) (r driver.Request, err error) {
	var moves []move
	sent, received := c.lengths(&o)
	inPlace := o.Send == o.Recv
	if o.Recv, err = c.e.stand(&moves, c.e.Collective, o.Recv, received, inPlace || o.Call == driver.Bcast && c.Rank() == o.Root, true); err != nil {
		return 0, err
	}
	if inPlace {
		o.Send = o.Recv
	} else if o.Send, err = c.e.stand(&moves, c.e.Collective, o.Send, sent, true, false); err != nil {
		return 0, err
	}
	r, err = c.Comm.Collective(o)
	return c.e.begun(r, moves), err
}

// lengths are the bytes that a collective operation reads and writes at this rank.
func (c *communicator) lengths(o *driver.Collective) (send, recv uint64) {
	ranks, root := uint64(c.Size()), c.Rank() == o.Root
	sum := func(counts []uint64) (n uint64) {
		for _, k := range counts {
			n += k
		}
		return n
	}
	switch o.Call {
	case driver.Bcast:
		return 0, o.Count
	case driver.Reduce, driver.Allreduce, driver.Scan, driver.Exscan:
		send, recv = o.Count*o.Type.Size(), o.Count*o.Type.Size()
	case driver.ReduceScatter:
		return sum(o.RecvParts.Counts) * o.Type.Size(), o.RecvParts.Counts[c.Rank()] * o.Type.Size()
	case driver.Gather, driver.Allgather:
		send, recv = o.Count, ranks*o.Count
	case driver.GatherV, driver.AllgatherV:
		send, recv = o.Count, sum(o.RecvParts.Counts)
	case driver.Scatter:
		send, recv = ranks*o.Count, o.Count
	case driver.ScatterV:
		send, recv = sum(o.SendParts.Counts), o.Count
	case driver.Alltoall:
		send, recv = ranks*o.Count, ranks*o.Count
	case driver.AlltoallV:
		send, recv = sum(o.SendParts.Counts), sum(o.RecvParts.Counts)
	}
	if o.Call.Rooted() && !root {
		if o.Call == driver.Scatter || o.Call == driver.ScatterV {
			send = 0
		} else {
			recv = 0
		}
	}
	return send, recv
}
