package mpi

import (
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// communicator implements [driver.Comm].
type communicator struct {
	e          *engine
	handle     uintptr
	rank, size int
	inbox      *inbox
}

// newComm returns the communicator with a handle of MPI. It makes MPI return the communicator's errors, and not end the process.
func (e *engine) newComm(op string, handle uintptr) (driver.Comm, error) {
	c := &e.lib.call
	e.enter()
	defer e.leave()
	var rank, size int32
	if err := e.lib.failure(op, "MPI_Comm_set_errhandler", int32(c.CommSetErrhandler.Call2(handle,
		e.lib.handles[errorsReturn]))); err != nil {
		return nil, err
	}
	if err := e.lib.failure(op, "MPI_Comm_rank", int32(c.CommRank.Call2(handle, uintptr(unsafe.Pointer(&rank))))); err != nil {
		return nil, err
	}
	if err := e.lib.failure(op, "MPI_Comm_size", int32(c.CommSize.Call2(handle, uintptr(unsafe.Pointer(&size))))); err != nil {
		return nil, err
	}
	in, err := e.newInbox(handle)
	if err != nil {
		return nil, err
	}
	return &communicator{e: e, handle: handle, rank: int(rank), size: int(size), inbox: in}, nil
}

func (c *communicator) Rank() int { return c.rank }
func (c *communicator) Size() int { return c.size }

// derive makes a communicator with a call of MPI that writes the new handle to the address made.
func (c *communicator) derive(op, api string, call func(made uintptr) uintptr) (driver.Comm, error) {
	e := c.e
	made := new(uint64)
	e.enter()
	code := int32(call(dl.Address(unsafe.Pointer(made))))
	e.leave()
	if err := e.failure(op, api, code); err != nil {
		return nil, err
	}
	handle := e.lib.loadHandle(unsafe.Pointer(made))
	if handle == e.lib.handles[commNull] {
		return nil, nil
	}
	return e.newComm(op, handle)
}

func (c *communicator) Dup() (driver.Comm, error) {
	return c.derive("Dup", "MPI_Comm_dup", func(made uintptr) uintptr { return c.e.lib.call.CommDup.Call2(c.handle, made) })
}

func (c *communicator) Split(color, key int) (driver.Comm, error) {
	if color == driver.NoColor {
		color = c.e.lib.number(undefined)
	}
	return c.derive("Split", "MPI_Comm_split", func(made uintptr) uintptr {
		return c.e.lib.call.CommSplit.Call4(c.handle, uintptr(color), uintptr(key), made)
	})
}

func (c *communicator) SplitShared(key int) (driver.Comm, error) {
	lib := c.e.lib
	return c.derive("SplitShared", "MPI_Comm_split_type", func(made uintptr) uintptr {
		return lib.call.CommSplitType.Call5(c.handle, uintptr(lib.number(commTypeShared)), uintptr(key), lib.handles[infoNull], made)
	})
}

func (c *communicator) Free() error {
	c.inbox.close()
	handle := new(uint64)
	c.e.lib.storeHandle(unsafe.Pointer(handle), c.handle)
	c.e.enter()
	code := int32(c.e.lib.call.CommFree.Call1(uintptr(unsafe.Pointer(handle))))
	c.e.leave()
	return asError(c.e.failure("Free", "MPI_Comm_free", code))
}

// Abort ends all processes of the job. It does not return.
func (c *communicator) Abort(code int) {
	// Without enter and leave: the goroutine that holds e.turn may wait for ever.
	c.e.lib.call.Abort.Call2(c.handle, uintptr(code))
	leave(code)
}

func (c *communicator) Isend(p unsafe.Pointer, n uint64, dest, tag int) (driver.Request, error) {
	r, err := c.e.newRequest("Isend", "MPI_Isend", dest, tag, n)
	if err != nil {
		return 0, err
	}
	return c.begin(r, c.e.lib.call.Isend, p, n, dest, tag)
}

func (c *communicator) Irecv(p unsafe.Pointer, n uint64, source, tag int) (driver.Request, error) {
	r, err := c.e.newRequest("Irecv", "MPI_Irecv", source, tag, n)
	if err != nil {
		return 0, err
	}
	r.receive = true
	if c.inbox.matches {
		c.inbox.post(r, p, 0)
		return r.id(), nil
	}
	return c.begin(r, c.e.lib.call.Irecv, p, n, c.source(source), c.tag(tag))
}

// begin begins to send or receive n bytes.
func (c *communicator) begin(r *request, call dl.Proc, p unsafe.Pointer, n uint64, peer, tag int) (driver.Request, error) {
	e, to := c.e, address(&r.slot.handle)
	if n > e.maxCount() {
		err := e.long(r, n, func(count, datatype uintptr) uintptr {
			return call.Call7(uintptr(p), count, datatype, uintptr(peer), uintptr(tag), c.handle, to)
		})
		if err != nil {
			return 0, err
		}
		return r.id(), nil
	}
	e.enter()
	code := int32(call.Call7(uintptr(p), uintptr(n), e.lib.handles[typeByte], uintptr(peer), uintptr(tag), c.handle, to))
	e.leave()
	if code != 0 {
		return 0, e.refused(r, code)
	}
	return r.id(), nil
}

// rounds is how often a call that begins a message asks whether it is done. That takes about a microsecond, enough for a short message. If
// there are more ranks than processors, Open MPI yields its processor each time that the answer is no, so with more rounds deadlines would
// be noticed late.
const rounds = 16

// PromptSend begins to send a message and asks whether it has left, in one call from Go to C.
func (c *communicator) PromptSend(p unsafe.Pointer, n uint64, dest, tag int) (driver.Request, driver.Status, error) {
	e, lib := c.e, c.e.lib
	if n > e.maxCount() {
		id, err := c.Isend(p, n, dest, tag)
		return id, driver.Status{}, err
	}
	r, err := e.newRequest("Isend", "MPI_Isend", dest, tag, n)
	if err != nil {
		return 0, driver.Status{}, err
	}
	return e.prompt(r, lib.call.Isend, [...]uintptr{uintptr(p), uintptr(n), lib.handles[typeByte], uintptr(dest), uintptr(tag), c.handle,
		address(&r.slot.handle)})
}

// PromptRecv begins to receive a message and asks whether it has come, in one call from Go to C.
func (c *communicator) PromptRecv(p unsafe.Pointer, n uint64, source, tag int) (driver.Request, driver.Status, error) {
	e, lib := c.e, c.e.lib
	if n > e.maxCount() && !c.inbox.matches {
		id, err := c.Irecv(p, n, source, tag)
		return id, driver.Status{}, err
	}
	r, err := e.newRequest("Irecv", "MPI_Irecv", source, tag, n)
	if err != nil {
		return 0, driver.Status{}, err
	}
	r.receive = true
	if c.inbox.matches {
		if c.inbox.post(r, p, rounds) && r.done {
			return 0, e.finish(r, r.code), nil
		}
		return r.id(), driver.Status{}, nil
	}
	return e.prompt(r, lib.call.Irecv, [...]uintptr{uintptr(p), uintptr(n), lib.handles[typeByte], uintptr(c.source(source)),
		uintptr(c.tag(tag)), c.handle, address(&r.slot.handle)})
}

func (e *engine) prompt(r *request, begin dl.Proc, args [7]uintptr) (driver.Request, driver.Status, error) {
	b := &r.slot.calls.Begin
	b.Proc, b.Args = begin, args
	code, done := e.run(r, rounds)
	b.Proc = 0
	if code := b.Result(); code != 0 {
		return 0, driver.Status{}, e.refused(r, code)
	}
	if done {
		return 0, e.finish(r, code), nil
	}
	return r.id(), driver.Status{}, nil
}

// source and tag return MPI's numbers for a rank and a tag.
func (c *communicator) source(rank int) int {
	if rank == driver.AnySource {
		return c.e.lib.number(anySource)
	}
	return rank
}

func (c *communicator) tag(tag int) int {
	if tag == driver.AnyTag {
		return c.e.lib.number(anyTag)
	}
	return tag
}

// refused returns the error of a call that has started nothing.
func (e *engine) refused(r *request, code int32) error {
	err := e.describe(r, r.api, code)
	e.recycle(r)
	return err
}
