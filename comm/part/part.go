package part

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/watch"
)

// Buffer is one rank's part of a buffer that is divided among the ranks of a communicator, with its ghosts.
type Buffer[T buffer.Number] struct {
	parts
	c      *comm.Comm
	local  *buffer.Buffer[T]
	owned  *buffer.Buffer[T]
	state  *state
	mail   []*mail        // one for each link
	ranges []buffer.Range // of the collective call under way; the memory is used again
	head   [2][]span      // the same
}

// New makes a buffer that is divided among the ranks of c. It reads as zeros, but its ghosts are stale before the first exchange. All ranks
// call New, with the same layout and the same widths. It makes a communicator of its own ([comm.Comm.Dup]), and waits for the other
// ranks until ctx ends. If one rank refuses its arguments, New fails on all: with an error of kind ErrInvalidArgument there, and
// ErrMismatch elsewhere. If ranks gave different layouts, widths or types of elements, the error is of kind ErrMismatch on all.
func New[T buffer.Number](ctx context.Context, c *comm.Comm, layout Layout, halo Halo) (*Buffer[T], error) {
	const op = "New"
	if c == nil {
		return nil, driver.Errorf(op, comm.ErrInvalidArgument, "nil communicator")
	}
	halo = Halo{slices.Clone(halo.Lo), slices.Clone(halo.Hi), slices.Clone(halo.Periodic), slices.Clone(halo.Needs)}
	var zero T
	b := new(Buffer[T])
	g, err := layout.on(op, c.Size())
	if err == nil {
		err = halo.check(op, g, c.Rank())
	}
	if err == nil {
		b.parts = g.divide(c.Rank(), &halo)
		err = b.allocate(op)
	}
	if b.c, err = join(ctx, c, op, err); err != nil {
		return nil, errors.Join(err, b.close())
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%T %v %v %v %v %v %v", zero, b.grid.shape, b.grid.procs, b.grid.cuts, halo.Lo, halo.Hi, halo.Periodic)
	needs, err := b.alike(ctx, op, int64(h.Sum64()>>1), len(halo.Needs) > 0)
	if err == nil {
		err = b.connect(ctx, &halo, needs)
	}
	if err != nil {
		return nil, errors.Join(err, b.close(), b.c.Close())
	}
	if b.local != nil {
		watch.Attach(b.local, b.state)
	}
	return b, nil
}

// join duplicates the communicator, unless some rank gives an error.
func join(ctx context.Context, c *comm.Comm, op string, err error) (*comm.Comm, error) {
	if err = agree(ctx, c, op, err); err != nil {
		return nil, err
	}
	return c.Dup(ctx)
}

// agree returns an error on every rank if some rank gives one.
func agree(ctx context.Context, c *comm.Comm, op string, err error) error {
	first := []int64{int64(c.Size())}
	if err != nil {
		first[0] = int64(c.Rank())
	}
	if e := comm.AllreduceSlice(ctx, c, first, comm.Min); e != nil {
		return errors.Join(err, e)
	}
	if err == nil && first[0] < int64(c.Size()) {
		e := driver.Errorf(op, comm.ErrMismatch, "the call failed on that rank")
		e.Peer = int(first[0])
		return e
	}
	return err
}

// alike fails on all ranks if a value is not the same on all. It reports whether some rank has needs.
func (b *Buffer[T]) alike(ctx context.Context, op string, v int64, needs bool) (some bool, err error) {
	all := []int64{v, -v, 0}
	if needs {
		all[2] = -1
	}
	if err := comm.AllreduceSlice(ctx, b.c, all, comm.Min); err != nil {
		return false, err
	}
	if all[0] != -all[1] {
		return false, driver.Errorf(op, comm.ErrMismatch, "ranks gave different layouts, widths or types of elements")
	}
	return all[2] < 0, nil
}

// allocate makes the local buffer.
func (b *Buffer[T]) allocate(op string) (err error) {
	var zero T
	if b.size > 1<<31-1 {
		return driver.Errorf(op, comm.ErrUnsupported, "%d local elements; a rank may have up to %d", b.size, 1<<31-1)
	}
	b.state = &state{elem: uint64(unsafe.Sizeof(zero)), rank: b.rank, global: b.globalOf}
	if b.size == 0 {
		return nil
	}
	if b.local, err = buffer.New[T](b.size); err != nil {
		return err
	}
	if len(b.own) == 1 {
		b.owned, err = b.local.Slice(b.own[0].local, b.own[0].local+b.own[0].n)
	}
	return err
}

// Shape is the extents of the whole grid, one for each dimension of the layout.
func (b *Buffer[T]) Shape() []int { return slices.Clone(b.grid.shape) }

// Local is the buffer of this rank's elements, owned ones and ghosts, on which kernels run. With widths it is a box in row-major order with
// the extents [Buffer.LocalShape]. With needs it has the owned elements and then the ghosts in the order of the list. It is nil if the rank
// has no elements. It and its slices may be used like any buffer, but only [Buffer.Close] closes it.
func (b *Buffer[T]) Local() *buffer.Buffer[T] { return b.local }

// LocalShape is the extents of the local box: those of the owned elements with the ghosts on both sides. All are 0 if the rank owns
// nothing. Ghosts of needs are not part of it.
func (b *Buffer[T]) LocalShape() []int { return slices.Clone(b.extent[:len(b.grid.shape)]) }

// Owned is the slice of Local that has the owned elements. It is nil if there are none, or if they are not one range of the local
// numbering; see [Buffer.OwnedRanges].
func (b *Buffer[T]) Owned() *buffer.Buffer[T] { return b.owned }

// OwnedRanges lists the owned elements in the local numbering, ascending, for [buffer.Buffer.AcquireRanges] and AccessRanges.
func (b *Buffer[T]) OwnedRanges() []buffer.Range {
	list := make([]buffer.Range, 0, len(b.own))
	for _, r := range b.own {
		list = append(list, buffer.Range{Lo: r.local, Hi: r.local + r.n})
	}
	return union(list)
}

// Range is the owned elements in the global numbering for a layout of one dimension. For others see [Buffer.Box].
func (b *Buffer[T]) Range() (lo, hi int) {
	if len(b.grid.shape) > 1 {
		if b.count == 0 {
			return 0, 0
		}
		last := b.own[len(b.own)-1]
		return b.own[0].global, last.global + last.n
	}
	return b.grid.cut(0, b.rank), b.grid.cut(0, b.rank+1)
}

// Box is where the owned box begins and ends in each dimension of the whole grid.
func (b *Buffer[T]) Box() (lo, hi []int) {
	at := b.grid.coords(b.rank)
	for d := range b.grid.shape {
		lo = append(lo, b.grid.cut(d, at[d]))
		hi = append(hi, b.grid.cut(d, at[d]+1))
	}
	return lo, hi
}

// Stale lists the ghosts that cannot be read, in the local numbering, ascending.
func (b *Buffer[T]) Stale() []buffer.Range {
	b.state.mu.Lock()
	defer b.state.mu.Unlock()
	return b.state.stale(0, b.size)
}

// Expire makes all ghosts stale that hold elements of their owners. Call it if the owners have written since, and this rank has not: a
// write of owned elements does the same.
func (b *Buffer[T]) Expire() {
	b.state.mu.Lock()
	defer b.state.mu.Unlock()
	b.state.expire()
}

// Close frees the elements of this rank. All ranks call it. It fails, and changes nothing, while an exchange or another access is under
// way.
func (b *Buffer[T]) Close() error {
	if err := b.begin("Close"); err != nil {
		return err
	}
	if b.local != nil {
		if err := b.local.Close(); err != nil {
			b.done()
			return err
		}
	}
	return errors.Join(b.close(), b.c.Close()) // b.done is not called, so later calls find b closed
}

// close frees what was allocated.
func (b *Buffer[T]) close() (err error) {
	if b.local != nil {
		err = b.local.Close()
	}
	for _, m := range b.mail {
		if e := m.close(); b.c.Err() == nil { // after a failure the engine may still use a buffer, and Close fails
			err = errors.Join(err, e)
		}
	}
	return err
}

// begin begins a collective call, unless another one is under way.
func (b *Buffer[T]) begin(op string) error {
	if b == nil || b.state == nil {
		return driver.Errorf(op, comm.ErrInvalidArgument, "nil buffer")
	}
	b.state.mu.Lock()
	defer b.state.mu.Unlock()
	if b.state.closed {
		return driver.Errorf(op, comm.ErrClosed, "the buffer was closed")
	}
	if b.state.busy {
		return driver.Errorf(op, comm.ErrInvalidArgument, "another collective call of the buffer is under way")
	}
	if b.state.failed != nil && op != "Close" {
		return b.state.refusal(op)
	}
	b.state.busy, b.state.began, b.state.closed = true, false, op == "Close"
	return nil
}

// fail notes that the call under way has failed. It returns false, and changes nothing, if the call has neither sent nor received.
func (s *state) fail(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.began && s.failed == nil {
		s.failed = err
	}
	return s.began
}

// begun notes that the call under way has sent or received.
func (s *state) begun() {
	s.mu.Lock()
	s.began = true
	s.mu.Unlock()
}

func (s *state) refusal(op string) error {
	kind := comm.ErrMismatch
	if e := (*comm.Error)(nil); errors.As(s.failed, &e) {
		kind = e.Kind
	}
	e := driver.Errorf(op, kind, "refused, because an earlier call on the buffer failed")
	e.Err = s.failed
	return e
}

func (b *Buffer[T]) done() {
	b.state.mu.Lock()
	b.state.busy, b.state.quiet, b.state.closed = false, false, false
	b.state.settle()
	b.state.mu.Unlock()
}

// bytes are the bytes of elements.
func bytes[T buffer.Number](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}
