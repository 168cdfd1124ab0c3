package comm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/internal/comm/driver"
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
			{"Probe", nobody, func() (comm.Status, error) { return c.Probe(ctx, null, 1) }},
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

func TestWaitallAndWaitany(t *testing.T) {
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			run(t, 2, func(ctx context.Context, c *comm.Comm) error {
				const n = 5
				if c.Rank() == 1 { // answers in the other order
					for tag := n - 1; tag >= 0; tag-- {
						if err := errors.Join(comm.SendSlice(ctx, c, numbers(1, tag), 0, tag), c.Barrier(ctx)); err != nil {
							return err
						}
					}
					return comm.SendSlice(ctx, c, []float64{1, 2}, 0, n)
				}
				var reqs []*comm.Request
				var bufs []*buffer.Buffer[float64]
				for tag := range n {
					bufs = append(bufs, buffered([]float64{-1}))
					q, err := comm.Irecv(ctx, c, bufs[tag], 1, tag)
					if err != nil {
						return err
					}
					reqs = append(reqs, q)
				}
				all := append([]*comm.Request{nil}, reqs...)
				for tag := n - 1; tag >= 0; tag-- {
					if i, err := comm.Waitany(ctx, reqs...); i != tag || err != nil {
						return fmt.Errorf("request %d ended, not %d: %w", i, tag, err)
					}
					reqs[tag] = nil
					if err := c.Barrier(ctx); err != nil {
						return err
					}
				}
				if i, err := comm.Waitany(ctx, reqs...); i != -1 || err != nil {
					return fmt.Errorf("of no requests %d ended: %w", i, err)
				}
				if err := comm.Waitall(ctx, all...); err != nil {
					return err
				}
				for tag, b := range bufs {
					if err := same(contents(b), numbers(1, tag)); err != nil {
						return err
					}
				}
				if err := comm.Waitall(ctx, new(comm.Request)); !errors.Is(err, comm.ErrInvalidArgument) {
					return fmt.Errorf("a zero request: %w", err)
				}
				_, err := comm.RecvSlice(ctx, c, make([]float64, 2), 1, n)
				return err
			}, opts...)
		})
	}
}

// If the context ends, both calls give up all that is under way, as Wait does.
func TestWaitsForManyEndWithTheirContext(t *testing.T) {
	for name, wait := range map[string]func(ctx context.Context, q ...*comm.Request) error{
		"Waitall": comm.Waitall,
		"Waitany": func(ctx context.Context, q ...*comm.Request) error {
			i, err := comm.Waitany(ctx, q...)
			if i != 1 {
				return fmt.Errorf("request %d ended: %w", i, err)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			commtest.Run(t, 1, func(e driver.Engine) error {
				c := comm.New(e)
				a, b := buffered(numbers(1, 0)), buffered(numbers(1, 0))
				p, err := comm.Irecv(t.Context(), c, a, 0, 0)
				require.NoError(t, err)
				q, err := comm.Irecv(t.Context(), c, b, 0, 1)
				require.NoError(t, err)
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				require.ErrorIs(t, wait(ended, nil, p, q), comm.ErrTimeout)
				_, err = q.Wait(t.Context())
				require.ErrorIs(t, err, comm.ErrTimeout)
				return errors.Join(a.Close(), b.Close(), c.Close()) // no lease and no operation is left
			})
		})
	}
}

// Probe tells the length of a message, so that a receiver can make room, and waits no longer than its context.
func TestProbe(t *testing.T) {
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			run(t, 2, func(ctx context.Context, c *comm.Comm) error {
				if c.Rank() == 0 {
					ended, cancel := context.WithCancel(ctx)
					cancel()
					if _, err := c.Probe(ended, 1, 0); !errors.Is(err, comm.ErrTimeout) {
						return fmt.Errorf("with a context that has ended: %w", err)
					}
					err := comm.SendSlice(ctx, c, numbers(700, 0), 1, 6)
					_, bad := c.Probe(ctx, 2, 0)
					if !errors.Is(bad, comm.ErrInvalidArgument) {
						return fmt.Errorf("from rank 2: %w", bad)
					}
					return err
				}
				got, err := c.Probe(ctx, comm.AnySource, comm.AnyTag)
				if err != nil || got != (comm.Status{Source: 0, Tag: 6, Count: 5600}) {
					return fmt.Errorf("%+v, %w", got, err)
				}
				data := make([]float64, got.Count/8)
				if _, err := comm.RecvSlice(ctx, c, data, got.Source, got.Tag); err != nil {
					return err
				}
				return same(data, numbers(700, 0))
			}, opts...)
		})
	}
}

func TestProbeOfALostRankFails(t *testing.T) {
	j := commtest.New(2)
	defer j.Close()
	_ = j.Run(func(e driver.Engine) error {
		c := comm.New(e)
		if c.Rank() == 0 {
			j.Lose(0)
			return nil
		}
		_, err := c.Probe(t.Context(), 0, 0)
		require.ErrorIs(t, err, comm.ErrRankLost)
		require.ErrorIs(t, c.Err(), comm.ErrRankLost)
		return nil
	})
}

// probed is an engine that has no message, and does something else when it is asked for one.
type probed struct {
	driver.Engine
	ask func()
}

type probedComm struct {
	driver.Comm
	ask func()
}

func (e probed) World() driver.Comm {
	if e.ask == nil {
		return struct{ driver.Comm }{e.Engine.World()}
	}
	return probedComm{e.Engine.World(), e.ask}
}

func (c probedComm) Iprobe(int, int) (driver.Status, bool, error) {
	c.ask()
	return driver.Status{}, false, nil
}

// A Probe whose context ends while it waits has begun nothing, so the communicator goes on.
func TestProbeEndsWithItsContext(t *testing.T) {
	j := commtest.New(1)
	defer j.Close()
	ctx, cancel := context.WithCancel(t.Context())
	for kind, ask := range map[error]func(){comm.ErrTimeout: cancel, comm.ErrUnsupported: nil} {
		c := comm.New(probed{j.Engine(0), ask})
		_, err := c.Probe(ctx, 0, 0)
		require.ErrorIs(t, err, kind)
		require.NoError(t, errors.Join(c.Err(), c.Close()))
	}
}
