package nccl

import (
	"context"
	"reflect"
	"runtime"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/kernel/half"
)

// operation is one call of the library that is to be made.
type operation struct {
	name       string
	peer       int
	bytes      uint64
	send, recv int // indices in batch.wants, -1 for none
	fn         func(l *library, send, recv, comm, stream uintptr) int32
	own        int64 // the address of send minus that of recv if the operation is in place
}

// Number are the types of the elements of messages and reductions. NCCL has bfloat16 since version 2.10.
type Number interface {
	buffer.Number | half.Float16 | half.BFloat16
}

// batch is a list of operations that begin together.
type batch struct {
	c     *Comm
	rank  int // the rank and the size of c
	size  int
	name  string
	wants []buffer.Want // the buffers of all operations
	sizes []uint64      // their sizes in bytes
	list  []operation
	err   error
}

func (p *batch) refuse(kind error, format string, args ...any) {
	if p.err == nil {
		p.err = driver.Errorf(p.name, kind, format, args...)
	}
}

// want adds a buffer, and returns its index in wants.
func want[T Number](p *batch, what string, b *buffer.Buffer[T], mode coherence.Mode) int {
	if b == nil {
		p.refuse(driver.ErrInvalidArgument, "nil buffer to %s", what)
		return -1
	}
	p.wants = append(p.wants, b.Want(mode))
	p.sizes = append(p.sizes, b.Size())
	return len(p.wants) - 1
}

// peer refuses a rank that is out of range.
func (p *batch) peer(rank int) {
	if rank < 0 || rank >= p.size {
		p.refuse(driver.ErrInvalidArgument, "rank %d is not between 0 and %d", rank, p.size-1)
	}
}

func newBatch(c *Comm, name string) *batch {
	if c == nil {
		p := &batch{name: name, size: 1}
		p.refuse(driver.ErrInvalidArgument, "nil communicator")
		return p
	}
	return &batch{c: c, name: name, rank: c.rank, size: c.size}
}

// usable checks what every call needs: a communicator that can be used, a context that has not ended, and a stream of the communicator's
// device.
func (c *Comm) usable(ctx context.Context, op string, stream *hal.Stream) error {
	switch {
	case c == nil:
		return driver.Errorf(op, driver.ErrInvalidArgument, "nil communicator")
	case stream == nil:
		return driver.Errorf(op, driver.ErrInvalidArgument, "nil stream")
	case ctx.Err() != nil:
		return driver.Interrupted(op, ctx, driver.NoPeer, driver.NoTag, 0, 0)
	case !stream.Device().Same(c.dev):
		return driver.Errorf(op, driver.ErrInvalidArgument, "the stream is on device %s, the communicator on %s", stream.Device().Name(),
			c.dev.Name())
	}
	if c.err.Load() != nil { // without the lock, which an abort may hold
		return c.refusal(op)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handle == 0 || c.closed {
		return c.refusal(op)
	}
	return nil
}

// run puts the operations on the stream.
func (p *batch) run(ctx context.Context, stream *hal.Stream) error {
	if p.err != nil {
		return p.err
	}
	if err := p.c.usable(ctx, p.name, stream); err != nil {
		return err
	}
	if len(p.list) == 0 {
		return nil
	}
	if len(p.wants) > 0 {
		p.wants[0] = p.wants[0].For(p.name)
	}
	leases, err := buffer.ReserveAll(ctx, stream, p.wants...)
	if err != nil {
		return err
	}
	begun, err := p.begin(ctx, stream, leases)
	if begun {
		if e := leases.Commit(); err == nil {
			err = e
		}
	}
	if e := leases.Release(); err == nil {
		err = e
	}
	return err
}

// begin makes the calls, and waits until their work is on the stream. After an error begun says whether some work may be on the stream.
func (p *batch) begin(ctx context.Context, stream *hal.Stream, leases buffer.Leases) (begun bool, err error) {
	c := p.c
	at := make([]uintptr, len(p.wants))
	for i := range at {
		at[i] = leases.At(i).Pointer()
	}
	if err := p.apart(at); err != nil {
		return false, err
	}
	if err := c.take(ctx, p.name); err != nil {
		return false, err
	}
	defer func() { <-c.turn }()
	first := &p.list[0]
	peer, bytes := first.peer, first.bytes
	if len(p.list) > 1 {
		peer, bytes = driver.NoPeer, 0
	}
	begun, err = p.call(stream, at)
	if err != nil {
		return begun, err
	}
	return true, c.settle(ctx, p.name, first.api(), peer, bytes)
}

// api is the name of the library's function.
func (o *operation) api() string { return "nccl" + o.name }

// apart refuses an operation whose buffers overlap, unless it is in place: NCCL allows no other overlap. It also refuses operations of a
// group that share memory which one of them writes.
func (p *batch) apart(at []uintptr) error {
	overlap := func(i, j int) bool { return at[i] < at[j]+uintptr(p.sizes[j]) && at[j] < at[i]+uintptr(p.sizes[i]) }
	for i := range p.list {
		o := &p.list[i]
		if o.send >= 0 && o.recv >= 0 && overlap(o.send, o.recv) && at[o.send] != at[o.recv]+uintptr(o.own) {
			return driver.Errorf(p.name, driver.ErrInvalidArgument,
				"the buffers to send and to receive into share elements, and the operation is not in place")
		}
		for j := range p.list[:i] {
			q := &p.list[j]
			for _, w := range [][2]int{{o.recv, q.recv}, {o.recv, q.send}, {o.send, q.recv}} {
				if w[0] >= 0 && w[1] >= 0 && overlap(w[0], w[1]) {
					return driver.Errorf(p.name, driver.ErrInvalidArgument,
						"operations %d and %d of the group share elements, and one of them writes", j, i)
				}
			}
		}
	}
	return nil
}

// call makes the calls of the library, as a group if there are several. It locks the goroutine to its thread, because a group belongs to a
// thread.
func (p *batch) call(stream *hal.Stream, at []uintptr) (begun bool, err error) {
	c, l := p.c, p.c.lib
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handle == 0 {
		return false, c.refusal(p.name)
	}
	s := stream.Handle()
	if s == 0 {
		return false, driver.Errorf(p.name, driver.ErrClosed, "the stream was closed")
	}
	refused := func(api string, code int32) *driver.Error {
		if code == success || code == inProgress {
			return nil
		}
		return l.failure(p.name, api, code, c.handle)
	}
	group := len(p.list) > 1
	if group {
		if e := refused("ncclGroupStart", int32(l.call.GroupStart.Call0())); e != nil {
			c.abort(e)
			return false, e
		}
	}
	var failed *driver.Error
	address := func(i int) uintptr {
		if i < 0 {
			return 0
		}
		return at[i]
	}
	for i := range p.list {
		o := &p.list[i]
		if failed = refused(o.api(), o.fn(l, address(o.send), address(o.recv), c.handle, s)); failed != nil {
			failed.Peer, failed.Bytes = o.peer, o.bytes
			break
		}
	}
	if group {
		code := int32(l.call.GroupEnd.Call0())
		if failed == nil {
			failed = refused("ncclGroupEnd", code)
			begun = true
		}
	}
	if failed != nil {
		c.abort(failed)
		return begun, failed
	}
	return true, nil
}

// Values of ncclDataType_t.
const (
	ncclInt8     = 0
	ncclUint8    = 1
	ncclInt32    = 2
	ncclUint32   = 3
	ncclInt64    = 4
	ncclUint64   = 5
	ncclFloat16  = 6
	ncclFloat32  = 7
	ncclFloat64  = 8
	ncclBfloat16 = 9
)

// element is NCCL's type, and how many values of it make an element.
type element struct{ nccl, n uintptr }

// types has NCCL's element for each type of package internal/comm/driver.
var types = map[driver.Type]element{
	driver.Int8: {ncclInt8, 1}, driver.Uint8: {ncclUint8, 1}, driver.Int16: {ncclUint8, 2}, driver.Uint16: {ncclUint8, 2},
	driver.Int32: {ncclInt32, 1}, driver.Uint32: {ncclUint32, 1}, driver.Int64: {ncclInt64, 1}, driver.Uint64: {ncclUint64, 1},
	driver.Float32: {ncclFloat32, 1}, driver.Float64: {ncclFloat64, 1}, driver.Complex64: {ncclFloat32, 2}, driver.Complex128: {ncclFloat64,
		2},
}

// Values of ncclRedOp_t, by the operations of package comm.
var reductions = map[driver.Op]uintptr{driver.Sum: 0, driver.Prod: 1, driver.Max: 2, driver.Min: 3}

// elementOf returns the element for T, and a type with the same operations.
func elementOf[T Number]() (element, driver.Type) {
	switch r := reflect.TypeFor[T](); r {
	case reflect.TypeFor[half.Float16]():
		return element{ncclFloat16, 1}, driver.Float32
	case reflect.TypeFor[half.BFloat16]():
		return element{ncclBfloat16, 1}, driver.Float32
	default:
		t := driver.TypeFor[T]()
		return types[t], t
	}
}

// typed returns NCCL's type for elements of T, and the number of values of that type in n elements.
func typed[T Number](n int) (t, count uintptr) {
	k, _ := elementOf[T]()
	return k.nccl, uintptr(n) * k.n
}

// reduces returns NCCL's operation. It refuses one that NCCL does not have for elements of T.
func reduces[T Number](p *batch, op driver.Op) uintptr {
	k, t := elementOf[T]()
	r, ok := reductions[op]
	whole := k.n == 1 || op == driver.Sum && t >= driver.Complex64 // complex numbers are summed part by part
	switch {
	case !op.Takes(t):
		p.refuse(driver.ErrInvalidArgument, "%v is not defined for %v", op, reflect.TypeFor[T]())
	case !ok || !whole:
		p.refuse(driver.ErrUnsupported, "NCCL does not have %v for %v", op, reflect.TypeFor[T]())
	}
	return r
}
