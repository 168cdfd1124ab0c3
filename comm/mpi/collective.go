package mpi

import (
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

var collectiveNames = [...]string{driver.Barrier: "MPI_Ibarrier", driver.Bcast: "MPI_Ibcast", driver.Reduce: "MPI_Ireduce",
	driver.Allreduce: "MPI_Iallreduce",
	driver.Gather:    "MPI_Igather", driver.Scatter: "MPI_Iscatter", driver.Allgather: "MPI_Iallgather", driver.Alltoall: "MPI_Ialltoall",
	driver.Gatherv: "MPI_Igatherv", driver.Scatterv: "MPI_Iscatterv", driver.Alltoallv: "MPI_Ialltoallv"}

// Collective begins a collective operation.
func (c *communicator) Collective(o driver.Collective) (driver.Request, error) {
	peer := driver.NoPeer
	if o.Call.Rooted() {
		peer = o.Root
	}
	if int(o.Call) >= len(collectiveNames) || o.Call.Reduces() && !o.Op.Takes(o.Type) {
		return 0, driver.Errorf(o.Call.String(), driver.ErrInvalidArgument, "%v of %v is not defined", o.Op, o.Type)
	}
	bytes := o.Count
	if o.Call.Reduces() || o.Call.Varies() {
		bytes *= o.Type.Size()
	}
	r, err := c.e.newRequest(o.Call.String(), collectiveNames[o.Call], peer, driver.NoTag, bytes)
	if err != nil {
		return 0, err
	}
	if bytes <= quickBytes {
		if begun, err := c.quick(r, &o); err != nil {
			return 0, err
		} else if begun {
			return r.id(), nil
		}
	}
	switch o.Call {
	case driver.Bcast: // with Intel MPI 2021.18 one of more than 2 GiB never ends
		_, at := c.buffers(&o, false)
		err = c.inPieces(r, o.Count, func(done, n uint64) func(uintptr) uintptr {
			return func(h uintptr) uintptr {
				return c.e.lib.call.Ibcast.Call6(at+uintptr(done), uintptr(n), c.e.lib.handles[typeByte], uintptr(o.Root), c.handle, h)
			}
		})
	case driver.Reduce, driver.Allreduce:
		err = c.reduce(r, &o)
	case driver.Gatherv, driver.Scatterv, driver.Alltoallv:
		err = c.vary(r, &o)
	default:
		err = c.move(r, &o)
	}
	if err != nil {
		return 0, err
	}
	return r.id(), nil
}

// quickBytes is the largest size of operations that quick begins.
const quickBytes = 4096

// quick begins an operation and asks a few times whether it is done, all in one call from Go to C, because such a call costs more than a
// small operation. It reports false for operations that have too many arguments for that.
func (c *communicator) quick(r *request, o *driver.Collective) (begun bool, err error) {
	e, f, h := c.e, &c.e.lib.call, address(&r.slot.handle)
	b := &r.slot.calls.Begin
	switch o.Call {
	case driver.Barrier:
		b.Proc, b.Args = f.Ibarrier, [...]uintptr{0: c.handle, 1: h, 6: 0}
	case driver.Bcast:
		_, at := c.buffers(o, false)
		b.Proc, b.Args = f.Ibcast, [...]uintptr{at, uintptr(o.Count), e.lib.handles[typeByte], uintptr(o.Root), c.handle, h, 0}
	case driver.Allreduce:
		op, err := e.opOf(o.Op, o.Type)
		if err != nil || o.Count > e.maxCount() {
			return false, nil // the caller then makes the calls one by one, and reports the error
		}
		send, recv := c.buffers(o, true)
		b.Proc, b.Args = f.Iallreduce, [...]uintptr{send, recv, uintptr(o.Count), e.lib.typeOf(o.Type), op, c.handle, h}
	default:
		return false, nil
	}
	r.code, r.done = e.run(r, rounds)
	b.Proc = 0
	if code := b.Result(); code != 0 {
		return false, e.refused(r, code)
	}
	return true, nil
}

// start makes a call. If it fails, the request is recycled.
func (c *communicator) start(r *request, call func(h uintptr) uintptr) error {
	c.e.enter()
	code := int32(call(address(&r.slot.handle)))
	c.e.leave()
	if code != 0 {
		return c.e.refused(r, code)
	}
	return nil
}

// buffers returns the addresses for MPI. For an operation in place one of them is MPI_IN_PLACE: send if inSend is set, otherwise recv. A
// nil address, of no bytes, is replaced by an address that is not nil, a different one for each side, because some libraries refuse nil
// and equal addresses.
func (c *communicator) buffers(o *driver.Collective, inSend bool) (send, recv uintptr) {
	send, recv = uintptr(o.Send), uintptr(o.Recv)
	if !o.InPlace(c.rank) {
		if send == 0 {
			send = 64
		}
		if recv == 0 {
			recv = 128
		}
		return send, recv
	}
	if inSend {
		send = c.e.lib.layout.inPlace
	} else {
		recv = c.e.lib.layout.inPlace
	}
	if recv == 0 {
		recv = 128
	}
	return send, recv
}

// move starts a call that moves parts of one length.
func (c *communicator) move(r *request, o *driver.Collective) error {
	lib := c.e.lib
	f := &lib.call
	send, recv := c.buffers(o, o.Call != driver.Scatter)
	call := func(n, t uintptr) uintptr {
		h := address(&r.slot.handle)
		switch o.Call {
		case driver.Gather:
			return f.Igather.Call9(send, n, t, recv, n, t, uintptr(o.Root), c.handle, h)
		case driver.Scatter:
			return f.Iscatter.Call9(send, n, t, recv, n, t, uintptr(o.Root), c.handle, h)
		case driver.Allgather:
			return f.Iallgather.Call8(send, n, t, recv, n, t, c.handle, h)
		default:
			return f.Ialltoall.Call8(send, n, t, recv, n, t, c.handle, h)
		}
	}
	if o.Count > c.e.maxCount() {
		return c.e.long(r, o.Count, call)
	}
	return c.start(r, func(uintptr) uintptr { return call(uintptr(o.Count), lib.handles[typeByte]) })
}

// vary starts a call that moves parts of different lengths. MPI reads their lengths and offsets until the request is done, so they are in
// memory that the request keeps.
func (c *communicator) vary(r *request, o *driver.Collective) error {
	f, t, h := &c.e.lib.call, c.e.lib.typeOf(o.Type), address(&r.slot.handle)
	var lists [2][]uint64 // the others are ignored
	if o.Call != driver.Gatherv && (o.Call != driver.Scatterv || c.rank == o.Root) {
		lists[0] = o.Sends
	}
	if o.Call != driver.Scatterv && (o.Call != driver.Gatherv || c.rank == o.Root) {
		lists[1] = o.Recvs
	}
	var err error
	if r.parts, err = c.partsOf(r.op, lists); err != nil {
		c.e.recycle(r)
		return err
	}
	at := func(i int) uintptr { return uintptr(r.parts.p) + uintptr(4*i*c.size) }
	send, recv := c.buffers(o, true)
	return c.start(r, func(uintptr) uintptr {
		switch o.Call {
		case driver.Gatherv:
			return f.Igatherv.Call10(send, uintptr(o.Count), t, recv, at(2), at(3), t, uintptr(o.Root), c.handle, h)
		case driver.Scatterv:
			return f.Iscatterv.Call10(send, at(0), at(1), t, recv, uintptr(o.Count), t, uintptr(o.Root), c.handle, h)
		default:
			return f.Ialltoallv.Call10(send, at(0), at(1), t, recv, at(2), at(3), t, c.handle, h)
		}
	})
}

// partsOf writes the lengths and the offsets of the parts that are sent, and then those of the parts that are received, as C ints.
func (c *communicator) partsOf(op string, lists [2][]uint64) (m block, err error) {
	e, n := c.e, c.size
	m.n = uint64(16 * n)
	if m.p, err = e.memory.alloc(op, m.n); err != nil {
		return block{}, err
	}
	for k, list := range lists {
		to := unsafe.Slice((*int32)(unsafe.Add(m.p, 8*k*n)), 2*n)
		sum := uint64(0)
		for i, count := range list {
			to[i], to[n+i] = int32(count), int32(sum)
			if sum += count; sum > e.maxCount() {
				e.memory.release(m.p, m.n)
				return block{}, driver.Errorf(op, driver.ErrUnsupported,
					"parts of more than %d elements together; MPI counts them in a C int: send them as messages", e.maxCount())
			}
		}
	}
	return m, nil
}

func (l *library) typeOf(t driver.Type) uintptr { return l.handles[typeInt8+object(t)] }

// opOf returns the handle of an operation on elements of a type.
func (e *engine) opOf(o driver.Op, t driver.Type) (uintptr, error) {
	if combine := e.lib.own(o, t); combine != nil {
		return e.ownOp(o, t, combine)
	}
	return e.lib.opOf(o), nil
}

func (l *library) opOf(o driver.Op) uintptr {
	return l.handles[[...]object{driver.Sum: opSum, driver.Prod: opProd, driver.Min: opMin, driver.Max: opMax, driver.And: opBand,
		driver.Or: opBor, driver.Xor: opBxor}[o]]
}

// reduce starts Reduce or Allreduce.
func (c *communicator) reduce(r *request, o *driver.Collective) error {
	f := &c.e.lib.call
	t := c.e.lib.typeOf(o.Type)
	op, err := c.e.opOf(o.Op, o.Type)
	if err != nil {
		c.e.recycle(r)
		return err
	}
	inPlace := o.InPlace(c.rank)
	send, recv := c.buffers(o, true)
	begin := func(done, n uint64) func(uintptr) uintptr {
		at := uintptr(done * o.Type.Size())
		from, to := send, recv+at
		if !inPlace {
			from += at
		}
		return func(h uintptr) uintptr {
			if o.Call == driver.Reduce {
				return f.Ireduce.Call8(from, to, uintptr(n), t, op, uintptr(o.Root), c.handle, h)
			}
			return f.Iallreduce.Call7(from, to, uintptr(n), t, op, c.handle, h)
		}
	}
	return c.inPieces(r, o.Count, begin)
}

// inPieces starts an operation on count elements. If the count does not fit into a C int, it starts several calls of MPI. All ranks start
// the same ones, as they give the same count. begin returns the call for the n elements that follow the first done elements.
func (c *communicator) inPieces(r *request, count uint64, begin func(done, n uint64) func(h uintptr) uintptr) error {
	most := c.e.maxCount()
	if err := c.start(r, begin(0, min(count, most))); err != nil {
		return err
	}
	for done := most; done < count; done += most {
		c.piece(r, begin(done, min(most, count-done)))
	}
	return nil
}

// piece starts a further request of MPI that belongs to r. The first one is under way already, so a failure is reported when r is done.
func (c *communicator) piece(r *request, call func(h uintptr) uintptr) {
	if r.failed != nil {
		return
	}
	p, err := c.e.newRequest(r.op, r.api, r.peer, r.tag, r.bytes)
	if err != nil {
		r.failed = &driver.Error{Op: r.op, Kind: driver.ErrOutOfMemory, Err: err, Peer: r.peer, Tag: r.tag}
		return
	}
	c.e.enter()
	code := int32(call(address(&p.slot.handle)))
	c.e.leave()
	if code != 0 {
		r.failed = c.e.describe(r, r.api, code)
		c.e.recycle(p)
		return
	}
	r.pieces = append(r.pieces, p)
}
