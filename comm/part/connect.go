package part

import (
	"context"
	"errors"
	"math"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// The tags of messages.
const (
	tagNeeds    = iota // which elements a rank has ghosts of
	tagExchange        // of an exchange: what was written, what is requested
	tagAnswer          // of an exchange: what was requested
	tagGhosts          // of Accumulate
)

// connect makes the links with the neighbours. With widths they follow from the layout. Needs are known only to the rank that has them, so
// that rank sends them to the owners. If connect fails on one rank, it fails on all.
func (b *Buffer[T]) connect(ctx context.Context, h *Halo, needs bool) error {
	if needs {
		if err := b.request(ctx, h); err != nil {
			return err
		}
	} else {
		b.serve(h)
	}
	b.state.links = b.links
	var err error
	for _, l := range b.links {
		l.out.ready()
		l.in.ready()
		var m *mail
		if m, err = newMail(b.c, l, b.state.elem); err != nil {
			break
		}
		b.mail = append(b.mail, m)
	}
	b.state.settle()
	return agree(ctx, b.c, "New", err)
}

// request sends to the owners the list of their elements that this rank has ghosts of, and receives such lists from other ranks. First a
// sum over all ranks gives each rank the number of lists that it will receive; for that, every rank sends one number for each rank.
func (b *Buffer[T]) request(ctx context.Context, h *Halo) error {
	needs := map[int][]int64{}
	h.runs(b.grid, b.rank, func(r run) {
		if r.ghost {
			needs[r.owner] = append(needs[r.owner], int64(r.global), int64(r.n))
		}
	})
	expected := make([]int64, b.c.Size())
	for peer := range needs {
		expected[peer] = 1
	}
	if err := comm.AllreduceSlice(ctx, b.c, expected, comm.Sum); err != nil {
		return err
	}
	var sends []*comm.Request
	var bufs []*buffer.Buffer[int64]
	defer func() {
		for _, m := range bufs {
			_ = m.Close()
		}
	}()
	send := func(peer int, list []int64) error {
		m, err := buffer.From(list)
		if err != nil {
			return err
		}
		bufs = append(bufs, m)
		r, err := comm.Isend(ctx, b.c, m, peer, tagNeeds)
		if err == nil {
			sends = append(sends, r)
		}
		return err
	}
	finish := func(err error) error {
		for _, r := range sends {
			_, e := r.Wait(ctx)
			err = errors.Join(err, e)
		}
		return err
	}
	// Two messages to each owner: the length of the list, and then the list.
	for peer, list := range needs {
		if peer == b.rank {
			b.owes(peer, list)
			expected[b.rank]--
			continue
		}
		if err := send(peer, []int64{int64(len(list))}); err != nil {
			return finish(err)
		}
		if err := send(peer, list); err != nil {
			return finish(err)
		}
	}
	for range expected[b.rank] {
		length := []int64{0}
		status, err := comm.RecvSlice(ctx, b.c, length, comm.AnySource, tagNeeds)
		if err != nil {
			return finish(err)
		}
		list := make([]int64, length[0])
		if _, err := comm.RecvSlice(ctx, b.c, list, status.Source, tagNeeds); err != nil {
			return finish(err)
		}
		b.owes(status.Source, list)
	}
	return finish(nil)
}

// owes notes which elements a rank has ghosts of: pairs of a global index and a length.
func (p *parts) owes(peer int, list []int64) {
	for i := 0; i+1 < len(list); i += 2 {
		p.owe(peer, int(list[i]), int(list[i+1]))
	}
}

// mail is the messages to and from a neighbour.
type mail struct {
	out, in  *buffer.Buffer[byte]
	part     *buffer.Buffer[byte] // the slice of out that was sent last
	send     posted
	receive  posted
	received int
}

// posted is a send or a receive that may be under way.
type posted struct {
	comm.Request
	under bool
}

// wait waits for the operation, if one is under way.
func (p *posted) wait(ctx context.Context) (comm.Status, error) {
	if !p.under {
		return comm.Status{}, nil
	}
	p.under = false
	return p.Wait(ctx)
}

// headSize is the size in bytes of the two numbers of spans with which a message begins, and spanSize the size of a span.
const headSize, spanSize = 8, 8

// newMail makes memory for the longest messages of a link.
func newMail(c *comm.Comm, l *link, elem uint64) (*mail, error) {
	size := uint64(headSize) + spanSize*uint64((l.out.n+1)/2+(l.in.n+1)/2) + elem*uint64(max(l.out.n, l.in.n))
	if size > math.MaxInt32 {
		return nil, driver.Errorf("New", comm.ErrUnsupported, "messages of %d bytes; there may be up to %d", size, math.MaxInt32)
	}
	m := new(mail)
	var err error
	if m.out, err = comm.NewBuffer[byte](c, int(size)); err == nil {
		m.in, err = comm.NewBuffer[byte](c, int(size))
	}
	return m, err
}

func (m *mail) close() error {
	var err error
	if m.out != nil {
		err = m.out.Close()
	}
	if m.in != nil {
		err = errors.Join(err, m.in.Close())
	}
	return err
}
