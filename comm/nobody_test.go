package comm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-halyard/halyard/comm"
)

// Messages to and from ProcNull touch no buffer, and half of an exchange with it is a message.
func TestProcNull(t *testing.T) {
	const null = comm.ProcNull
	nobody := comm.Status{Source: null, Tag: comm.AnyTag}
	run(t, 2, func(ctx context.Context, c *comm.Comm) error {
		a, b := buffered(numbers(3, c.Rank())), buffered(numbers(3, 7))
		replaced := buffered(numbers(3, c.Rank()))
		me, other := c.Rank(), 1-c.Rank()
		wait := func(q *comm.Request, err error) (comm.Status, error) {
			if err != nil {
				return comm.Status{}, err
			}
			return q.Wait(ctx)
		}
		none := func(err error) (comm.Status, error) { return comm.Status{}, err }
		to, from := []int{other, null}[me], []int{null, other}[me] // rank 0 sends to rank 1
		var got, want = nobody, comm.Status{Tag: 2, Count: 3}
		if me == 0 {
			want = nobody
		}
		for _, row := range []struct {
			name string
			want comm.Status
			call func() (comm.Status, error)
		}{
			{"Send", comm.Status{}, func() (comm.Status, error) { return none(comm.Send(ctx, c, a, null, 1)) }},
			{"Isend", comm.Status{}, func() (comm.Status, error) { return wait(comm.Isend(ctx, c, a, null, 1)) }},
			{"SendSlice", comm.Status{}, func() (comm.Status, error) { return none(comm.SendSlice(ctx, c, []int8{1}, null, 1)) }},
			{"Recv", nobody, func() (comm.Status, error) { return comm.Recv(ctx, c, b, null, comm.AnyTag) }},
			{"Irecv", nobody, func() (comm.Status, error) { return wait(comm.Irecv(ctx, c, b, null, 1)) }},
			{"RecvSlice", nobody, func() (comm.Status, error) { return comm.RecvSlice(ctx, c, []int8{1}, null, 1) }},
			{"Sendrecv", nobody, func() (comm.Status, error) { return comm.Sendrecv(ctx, c, a, null, 1, b, null, 1) }},
			{"half a Sendrecv", want, func() (comm.Status, error) { return comm.Sendrecv(ctx, c, a, to, 2, b, from, 2) }},
			{"half a Sendrecv in place", want, func() (comm.Status, error) { return comm.Sendrecv(ctx, c, replaced, to, 2, replaced, from, 2) }},
		} {
			var err error
			if got, err = row.call(); err != nil || got != row.want {
				return fmt.Errorf("%s: %+v, %w", row.name, got, err)
			}
		}
		held := numbers(3, 7)
		if me == 1 {
			held = numbers(3, 0)
		}
		err := errors.Join(same(contents(a), numbers(3, me)), same(contents(b), held), same(contents(replaced), numbers(3, 0)))
		return errors.Join(err, a.Close(), b.Close(), replaced.Close())
	})
}
