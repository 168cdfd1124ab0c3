package comm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

func TestStats(t *testing.T) {
	for _, word := range []string{"", "comm"} {
		t.Run("HALYARD_DEBUG="+word, func(t *testing.T) {
			t.Setenv("HALYARD_DEBUG", word)
			stream := hostStream(t)
			run(t, 2, func(ctx context.Context, c *comm.Comm) error {
				me, other := c.Rank(), 1-c.Rank()
				two, three := buffered(numbers(2, me)), buffered(numbers(3, me))
				wait := func(q *comm.Request, err error) error {
					if err == nil {
						_, err = q.Wait(ctx)
					}
					return err
				}
				for _, row := range []struct {
					name string
					add  [2]comm.Stats // by rank
					call func() error
				}{
					{"message", [2]comm.Stats{{Sent: 1, BytesSent: 16}, {Received: 1, BytesReceived: 16}}, func() error {
						if me == 0 {
							return comm.Send(ctx, c, two, other, 0)
						}
						_, err := comm.Recv(ctx, c, three, other, 0)
						return err
					}},
					{"in the order of a stream", [2]comm.Stats{{Sent: 1, BytesSent: 16}, {Received: 1, BytesReceived: 16}}, func() error {
						if me == 0 {
							return wait(comm.SendOn(ctx, c, stream, two, other, 0))
						}
						return wait(comm.RecvOn(ctx, c, stream, two, other, 0))
					}},
					{"exchange", [2]comm.Stats{{1, 1, 16, 24, 0, 0, 0}, {1, 1, 24, 16, 0, 0, 0}}, func() error {
						send, recv := []*buffer.Buffer[float64]{two, three}[me], []*buffer.Buffer[float64]{three, two}[me]
						_, err := comm.Sendrecv(ctx, c, send, other, 0, recv, other, 0)
						return err
					}},
					{"nothing", [2]comm.Stats{}, func() error { return comm.Send(ctx, c, two, comm.ProcNull, 0) }},
					{"refused", [2]comm.Stats{}, func() error {
						if comm.Send(ctx, c, two, 2, 0) == nil {
							return errors.New("sent to rank 2 of 2")
						}
						return nil
					}},
					{"barrier", [2]comm.Stats{{Collectives: 1}, {Collectives: 1}}, func() error { return c.Barrier(ctx) }},
					{"reduction", [2]comm.Stats{{Collectives: 1, CollectiveBytes: 24}, {Collectives: 1, CollectiveBytes: 24}}, func() error {
						return comm.AllreduceSlice(ctx, c, make([]int64, 3), comm.Sum)
					}},
				} {
					before := c.Stats()
					if err := row.call(); err != nil {
						return fmt.Errorf("%s: %w", row.name, err)
					}
					want, got := row.add[me], c.Stats()
					want.Sent, want.Received = before.Sent+want.Sent, before.Received+want.Received
					want.BytesSent, want.BytesReceived = before.BytesSent+want.BytesSent, before.BytesReceived+want.BytesReceived
					want.Collectives, want.CollectiveBytes = before.Collectives+want.Collectives, before.CollectiveBytes+want.CollectiveBytes
					if want.Waited = got.Waited; got != want {
						return fmt.Errorf("%s: %+v, not %+v", row.name, got, want)
					}
				}
				return errors.Join(two.Close(), three.Close())
			})
		})
	}
}

// slow is an engine that is not done at the first questions. Time passes between these.
type slow struct {
	driver.Engine
	left int
}

func (e *slow) World() driver.Comm { return slowComm{e.Engine.World(), e} }

func (e *slow) pass() bool {
	for start := time.Now(); time.Since(start) == 0; {
	}
	e.left--
	return e.left >= 0
}

func (e *slow) Test(reqs []driver.Request, out []driver.Status) (int, error) {
	if e.pass() {
		return 0, nil
	}
	return e.Engine.Test(reqs, out)
}

type slowComm struct {
	driver.Comm
	e *slow
}

func (c slowComm) Iprobe(source, tag int) (driver.Status, bool, error) {
	return driver.Status{Source: source, Tag: tag}, !c.e.pass(), nil
}

// Every call that waits counts its time, and one whose answer is there counts none.
func TestTimeOfWaitingIsCounted(t *testing.T) {
	j := commtest.New(1)
	defer j.Close()
	e := &slow{Engine: j.Engine(0)}
	c, ctx := comm.New(e), t.Context()
	b := buffered(numbers(1, 0))
	received := func() *comm.Request {
		require.NoError(t, comm.SendSlice(ctx, c, numbers(1, 0), 0, 0))
		q, err := comm.Irecv(ctx, c, b, 0, 0)
		require.NoError(t, err)
		return q
	}
	for name, wait := range map[string]func(q *comm.Request) error{
		"Wait":    func(q *comm.Request) error { _, err := q.Wait(ctx); return err },
		"Waitall": func(q *comm.Request) error { return comm.Waitall(ctx, q) },
		"Waitany": func(q *comm.Request) error { _, err := comm.Waitany(ctx, q); return err },
		"Probe":   func(*comm.Request) error { _, err := c.Probe(ctx, 0, 0); return err },
		"Barrier": func(*comm.Request) error { return c.Barrier(ctx) },
	} {
		for _, vain := range []int{0, 2} {
			q := received()
			before := c.Stats().Waited
			e.left = vain
			require.NoError(t, wait(q), name)
			require.Equal(t, vain > 0, c.Stats().Waited > before, "%s after %d questions in vain", name, vain)
			_, err := q.Wait(ctx)
			require.NoError(t, err)
		}
	}
	require.NoError(t, c.Close())
}
