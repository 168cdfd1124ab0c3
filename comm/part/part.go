package part

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/internal/comm/driver"
	launches "github.com/go-halyard/halyard/internal/parts"
	"github.com/go-halyard/halyard/internal/protocol"
)

// Buffer is one rank's part of a buffer that is divided among the ranks of a communicator, with its ghosts.
type Buffer[T buffer.Number] struct {
	state *state
	local *buffer.Buffer[T]
	owned *buffer.Buffer[T]
}

// New makes a buffer that is divided among the ranks of c. It reads as zeros, but its ghosts are stale before the first exchange. All ranks
// call New, with the same layout and the same widths. It makes a communicator of its own ([comm.Comm.Dup]), and waits for the other
// ranks until ctx ends. If one rank refuses its arguments, New fails on all: with an error of kind ErrInvalidArgument there, and
// ErrMismatch elsewhere. If ranks gave different layouts, widths or types of elements, the error is of kind ErrMismatch on all.
func New[T buffer.Number](ctx context.Context, c *comm.Comm, layout Layout, halo Halo) (*Buffer[T], error) {
	const op = "New"
	if c == nil {
		return nil, driver.Errorf(op, driver.ErrInvalidArgument, "nil communicator")
	}
	b := new(Buffer[T])
	g, err := layout.on(op, c.Size())
	if err == nil {
		err = g.surround(op, &halo, c.Rank())
	}
	if err == nil {
		err = b.allocate(op, g.divide(c.Rank(), halo.Needs))
	}
	own, err := join(ctx, c, op, err)
	if err == nil {
		b.state.c = own
		err = b.state.connect(ctx, op, b, len(halo.Needs) > 0)
		if err != nil {
			err = errors.Join(err, b.state.close())
		}
	}
	if err != nil {
		if b.local != nil {
			err = errors.Join(err, b.local.Close())
		}
		return nil, err
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

// allocate makes the local buffer.
func (b *Buffer[T]) allocate(op string, p parts) (err error) {
	if p.size > 1<<31-1 {
		return driver.Errorf(op, driver.ErrUnsupported, "%d local elements; a rank may have up to %d", p.size, 1<<31-1)
	}
	s := &state{parts: p, typ: driver.TypeFor[T]()}
	s.elem = int(reflect.TypeFor[T]().Size())
	s.m.Init(uint64(p.size))
	_ = s.m.Commit(protocol.Overwrite, owner, 0, uint64(p.size))
	b.state = s
	if p.size == 0 {
		return nil
	}
	if b.local, err = buffer.New[T](p.size); err != nil {
		return err
	}
	launches.Watched(b.local.Want(coherence.Read), func(all *buffer.Buffer[byte], _ uint64) launches.Watcher {
		s.all = all
		return s
	})
	if len(p.own) == 1 {
		b.owned, err = b.local.Slice(p.own[0].local, p.own[0].local+p.own[0].n)
	}
	return err
}

// connect finds which elements are ghosts of other ranks. With widths that follows from the layout. Needs are known only to the rank that
// has them. of is a value of the type of the elements. The call fails on all ranks if it fails on one, or if their layouts, widths or
// types differ.
func (s *state) connect(ctx context.Context, op string, of any, needs bool) error {
	f := fnv.New64a()
	fmt.Fprintf(f, "%T %v", of, *s.grid)
	v := int64(f.Sum64() >> 1)
	all := []int64{v, -v, 0}
	if needs {
		all[2] = -1
	}
	if err := comm.AllreduceSlice(ctx, s.c, all, comm.Min); err != nil {
		return err
	}
	switch {
	case all[0] != -all[1]:
		return driver.Errorf(op, comm.ErrMismatch, "ranks gave different layouts, widths or types of elements")
	case all[2] == 0:
		s.serve()
	default:
		if err := s.request(ctx); err != nil {
			return err
		}
	}
	return agree(ctx, s.c, op, s.reserve(op))
}

// request gives the owners the list of their elements that this rank has ghosts of: pairs of a global index and a length. First each rank
// gives each other one the length of the list.
func (s *state) request(ctx context.Context) error {
	size := s.c.Size()
	lists, lengths, counts := make([][]int64, size), make([][]int64, size), make([]int, size)
	for _, r := range s.ghosts {
		lists[r.owner] = append(lists[r.owner], int64(r.global), int64(r.n))
	}
	for i, list := range lists {
		lengths[i], counts[i] = []int64{int64(len(list))}, 1
	}
	theirs, err := alltoall(ctx, s.c, lengths, counts)
	if err != nil {
		return err
	}
	for i, n := range theirs {
		counts[i] = int(n)
	}
	needs, err := alltoall(ctx, s.c, lists, counts)
	for peer, n := range counts {
		for ; n > 0 && err == nil; n -= 2 {
			s.owe(peer, int(needs[0]), int(needs[1]))
			needs = needs[2:]
		}
	}
	return err
}

// alltoall sends a list to each rank, and returns those of all ranks, which have these lengths.
func alltoall(ctx context.Context, c *comm.Comm, lists [][]int64, lengths []int) ([]int64, error) {
	var sends []int
	n := 0
	for i, list := range lists {
		sends, n = append(sends, len(list)), n+lengths[i]
	}
	from, err := buffer.From(slices.Concat(lists...))
	if err != nil {
		return nil, err
	}
	defer from.Close()
	to, err := buffer.New[int64](n)
	if err != nil {
		return nil, err
	}
	defer to.Close()
	got := make([]int64, n)
	return got, errors.Join(comm.Alltoallv(ctx, c, from, sends, to, lengths), to.CopyOut(ctx, got))
}

// Shape is the extents of the whole grid, one for each dimension of the layout.
func (b *Buffer[T]) Shape() []int { return slices.Clone(b.state.grid.shape[3-b.state.grid.dims:]) }

// Local is the buffer of this rank's elements, owned ones and ghosts, on which kernels run. With widths it is a box in row-major order with
// the extents [Buffer.LocalShape]. With needs it has the owned elements and then the ghosts in the order of the list. It is nil if the rank
// has no elements. It and its slices may be used like any buffer, but only [Buffer.Close] closes it.
func (b *Buffer[T]) Local() *buffer.Buffer[T] { return b.local }

// LocalShape is the extents of the local box: those of the owned elements with the ghosts on both sides. All are 0 if the rank owns
// nothing. Ghosts of needs are not part of it.
func (b *Buffer[T]) LocalShape() []int { return slices.Clone(b.state.extent[3-b.state.grid.dims:]) }

// Owned is the slice of Local that has the owned elements. It is nil if there are none, or if they are not one range of the local
// numbering; see [Buffer.OwnedRanges].
func (b *Buffer[T]) Owned() *buffer.Buffer[T] { return b.owned }

// OwnedRanges lists the owned elements in the local numbering, ascending, for [buffer.Buffer.AcquireRanges] and AccessRanges.
func (b *Buffer[T]) OwnedRanges() []buffer.Range {
	list := make([]buffer.Range, 0, len(b.state.own))
	for _, r := range b.state.own {
		list = append(list, buffer.Range{Lo: r.local, Hi: r.local + r.n})
	}
	return union(list)
}

// Box is where the owned box begins and ends in each dimension of the whole grid.
func (b *Buffer[T]) Box() (lo, hi []int) {
	g := b.state.grid
	at := g.coords(b.state.rank)
	for d := 3 - g.dims; d < 3; d++ {
		lo, hi = append(lo, g.cut(d, at[d])), append(hi, g.cut(d, at[d]+1))
	}
	return lo, hi
}

// Stale lists the ghosts that cannot be read, in the local numbering, ascending.
func (b *Buffer[T]) Stale() []buffer.Range {
	b.state.mu.Lock()
	defer b.state.mu.Unlock()
	locals, _ := b.state.stale(0, b.state.size)
	return union(locals)
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
			b.state.done()
			return err
		}
	}
	return b.state.close() // done is not called, so later calls find the buffer closed
}

func (b *Buffer[T]) begin(op string) error {
	if b == nil {
		return (*state)(nil).begin(op)
	}
	return b.state.begin(op)
}

// bytes are the bytes of elements.
func bytes[T buffer.Number](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}
