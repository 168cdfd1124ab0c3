package comm

import (
	"context"
	"fmt"
	"hash/fnv"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/nap"
)

// agreement compares the collective operations that the ranks of a communicator are about to start, if HALYARD_DEBUG has the word "comm". It uses a
// communicator of its own, which is made when it is first needed.
type agreement struct {
	mu   sync.Mutex
	e    driver.Engine
	d    driver.Comm    // nil until it is needed
	n    int            // ranks
	mem  unsafe.Pointer // of the engine
	mine *intent
	all  []intent  // of every rank
	to   []promise // for every rank
	from []promise // of every rank
}

// intent is what all ranks have to agree on about a collective operation. Ranks send it to each other as it is in memory.
type intent struct {
	call, root, typ, op int32
	count               uint64 // bytes, or elements that are combined; 0 if the ranks may differ
	parts               uint64 // hash of the lengths of parts, if all ranks give these, else 0
}

// promise says how many bytes a rank sends to another, and expects from it, in an operation on parts.
type promise struct{ sends, receives uint64 }

// unknown stands for a length that a rank does not know.
const unknown = ^uint64(0)

const (
	intentSize  = uint64(unsafe.Sizeof(intent{}))
	promiseSize = uint64(unsafe.Sizeof(promise{}))
)

// open makes the communicator and takes the memory, if that has not been done. All ranks call it. No context can
// end the wait of Dup, so a barrier comes first, whose wait ctx ends.
func (a *agreement) open(ctx context.Context, r *operation) error {
	if a.d != nil {
		return nil
	}
	c := r.c
	a.e = c.engine.d
	if err := a.run(ctx, r, c.d, driver.Collective{Call: driver.Barrier}); err != nil {
		return err
	}
	d, err := c.d.Dup()
	if err != nil {
		return r.refuse(err, true)
	}
	a.n = d.Size()
	if a.mem, err = a.e.Alloc(a.size()); err != nil {
		return r.refuse(err, true)
	}
	a.d, a.mine = d, (*intent)(a.mem)
	a.all = unsafe.Slice((*intent)(unsafe.Add(a.mem, intentSize)), a.n)
	a.to = unsafe.Slice((*promise)(unsafe.Add(a.mem, intentSize*uint64(a.n+1))), a.n)
	a.from = unsafe.Slice((*promise)(unsafe.Add(a.mem, intentSize*uint64(a.n+1)+promiseSize*uint64(a.n))), a.n)
	return nil
}

func (a *agreement) size() uint64 { return intentSize*uint64(a.n+1) + 2*promiseSize*uint64(a.n) }

// close frees the communicator and the memory. All ranks call it. After a failure it frees nothing, because messages may still use the memory.
func (a *agreement) close(failed bool) error {
	if a.d == nil || failed {
		return nil
	}
	a.e.Free(a.mem, a.size())
	return a.d.Free()
}

// agree returns an error of kind ErrMismatch, on every rank, if the ranks are about to start different operations. It waits for them until ctx ends. It
// is called before the operation takes a lease, so that an error changes nothing.
func (r *operation) agree(ctx context.Context, o *driver.Collective) error {
	if !r.c.engine.compares {
		return nil
	}
	a := &r.c.agreement
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.open(ctx, r); err != nil {
		return err
	}
	*a.mine = intended(o)
	if err := a.run(ctx, r, a.d, driver.Collective{Call: driver.Allgather, Send: unsafe.Pointer(a.mine), Recv: unsafe.Pointer(&a.all[0]), Count: intentSize}); err != nil {
		return err
	}
	for rank := range a.all { // all ranks find the same pair
		if a.all[rank] != a.all[0] {
			return r.disagree(rank, "rank 0 calls %v, and rank %d %v", &a.all[0], rank, &a.all[rank])
		}
	}
	if !hasParts(o.Call) {
		return nil
	}
	for rank := range a.n {
		a.to[rank] = promised(o, a.d.Rank(), rank)
	}
	if err := a.run(ctx, r, a.d, driver.Collective{Call: driver.Alltoall, Send: unsafe.Pointer(&a.to[0]), Recv: unsafe.Pointer(&a.from[0]), Count: promiseSize}); err != nil {
		return err
	}
	wrong, me := uint64(0), a.d.Rank()
	detail := ""
	for rank := range a.n {
		if got, want := a.from[rank].sends, a.to[rank].receives; got != want && got != unknown && want != unknown && wrong == 0 {
			wrong = uint64(rank) + 1
			detail = fmt.Sprintf("rank %d sends %d bytes to rank %d, which expects %d", rank, got, me, want)
		}
	}
	// Ranks that found nothing wrong learn here that another rank has.
	a.to[0].sends = wrong
	if err := a.run(ctx, r, a.d, driver.Collective{Call: driver.Allgather, Send: unsafe.Pointer(&a.to[0]), Recv: unsafe.Pointer(&a.from[0]), Count: promiseSize}); err != nil {
		return err
	}
	for rank := range a.n {
		switch {
		case detail != "":
			return r.disagree(int(wrong)-1, "%s", detail)
		case a.from[rank].sends != 0:
			return r.disagree(rank, "ranks %d and %d do not agree on the length of a part", a.from[rank].sends-1, rank)
		}
	}
	return nil
}

func (r *operation) disagree(rank int, format string, args ...any) error {
	err := driver.Errorf(r.op, ErrMismatch, format, args...)
	err.Peer = rank
	return r.refuse(err, false)
}

// run does a collective operation for the comparison. If it fails, the communicator fails.
func (a *agreement) run(ctx context.Context, r *operation, d driver.Comm, o driver.Collective) error {
	q, err := d.Collective(o)
	var w nap.Waiter
	for err == nil {
		reqs, out := [1]driver.Request{q}, [1]driver.Status{}
		var done int
		if done, err = a.e.Test(reqs[:], out[:]); done > 0 && err == nil {
			if out[0].Err == nil {
				return nil
			}
			err = out[0].Err
		}
		if err == nil && w.Rest(ctx) {
			r.c.engine.pool.abandon(&loss{req: q}) // it may still use the memory, which is not freed
			err = interrupted(r.op, ctx, driver.NoPeer, driver.NoTag, 0, w.Since())
		}
	}
	failure := broken(r.op, err)
	r.finish(failure, failure)
	r.over()
	return failure
}

func hasParts(c driver.Call) bool {
	return c == driver.GatherV || c == driver.ScatterV || c == driver.AlltoallV
}

// intended returns what all ranks have to agree on.
func intended(o *driver.Collective) intent {
	i := intent{call: int32(o.Call), count: o.Count}
	if o.Call.Rooted() {
		i.root = int32(o.Root)
	}
	if o.Call.Reduces() {
		i.typ, i.op = int32(o.Type), int32(o.Op)
	}
	switch o.Call {
	case driver.GatherV, driver.ScatterV, driver.AlltoallV:
		i.count = 0
	case driver.AllgatherV, driver.ReduceScatter:
		i.count = 0
		h := fnv.New64a()
		for _, n := range o.RecvParts.Counts {
			_, _ = fmt.Fprintf(h, "%d ", n)
		}
		i.parts = h.Sum64()
	}
	return i
}

// promised returns the lengths of this rank's messages to and from another, as far as this rank knows them.
func promised(o *driver.Collective, me, rank int) promise {
	p := promise{unknown, unknown}
	switch o.Call {
	case driver.GatherV:
		if rank == o.Root {
			p.sends = o.Count
		}
		if me == o.Root {
			p.receives = o.RecvParts.Counts[rank]
		}
	case driver.ScatterV:
		if rank == o.Root {
			p.receives = o.Count
		}
		if me == o.Root {
			p.sends = o.SendParts.Counts[rank]
		}
	case driver.AlltoallV:
		p.sends, p.receives = o.SendParts.Counts[rank], o.RecvParts.Counts[rank]
	}
	return p
}

// String is how an error names the operation.
func (i *intent) String() string {
	c := driver.Call(i.call)
	s := c.String()
	switch {
	case i.parts != 0 && c.Reduces():
		s += fmt.Sprintf(" by %v of parts of %v, with lengths %x", driver.Op(i.op), driver.Type(i.typ), i.parts&0xffff)
	case i.parts != 0:
		s += fmt.Sprintf(" of parts with lengths %x", i.parts&0xffff)
	case c.Reduces():
		s += fmt.Sprintf(" by %v of %d %v", driver.Op(i.op), i.count, driver.Type(i.typ))
	case c != driver.Barrier && !hasParts(c):
		s += fmt.Sprintf(" of %d bytes", i.count)
	}
	if c.Rooted() {
		s += fmt.Sprintf(" with root %d", i.root)
	}
	return s
}
