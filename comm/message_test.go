package comm_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

func TestBuffersGoRound(t *testing.T) {
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			run(t, 3, func(ctx context.Context, c *comm.Comm) error {
				next, last := (c.Rank()+1)%3, (c.Rank()+2)%3
				for _, n := range []int{0, 1, 7, 512, 5000} {
					send, recv := buffered(numbers(n, c.Rank())), buffered(make([]float64, n))
					s, err := comm.Isend(ctx, c, send, next, n)
					if err != nil {
						return err
					}
					got, err := comm.Recv(ctx, c, recv, last, n)
					if err != nil {
						return err
					}
					if got != (comm.Status{Source: last, Tag: n, Count: n}) {
						return fmt.Errorf("%+v", got)
					}
					if _, err := s.Wait(ctx); err != nil {
						return err
					}
					if err := same(contents(recv), numbers(n, last)); err != nil {
						return err
					}
					got, err = comm.Sendrecv(ctx, c, recv, next, 1, recv, last, 1) // in place
					if err != nil {
						return err
					}
					if err := same(contents(recv), numbers(n, next)); err != nil || got.Count != n {
						return fmt.Errorf("replaced, %d elements: %w", got.Count, err)
					}
					if err := errors.Join(send.Close(), recv.Close()); err != nil {
						return err // a lease that was not released
					}
				}
				return nil
			}, opts...)
		})
	}
}

func TestSlicesOfOneBufferAreExchanged(t *testing.T) {
	run(t, 2, func(ctx context.Context, c *comm.Comm) error {
		b := buffered(numbers(10, c.Rank()))
		inner, _ := b.Slice(8, 9)
		ghost, _ := b.Slice(9, 10)
		if _, err := comm.Sendrecv(ctx, c, inner, 1-c.Rank(), 0, ghost, 1-c.Rank(), 0); err != nil {
			return err
		}
		want := numbers(10, c.Rank())
		want[9] = float64(1000*(1-c.Rank()) + 8)
		return same(contents(b), want)
	})
}

func TestGoSlicesAndEmptyMessages(t *testing.T) {
	run(t, 2, func(ctx context.Context, c *comm.Comm) error {
		if c.Rank() == 0 {
			return errors.Join(comm.SendSlice(ctx, c, []int32{1, 2, 3}, 1, 4), comm.SendSlice(ctx, c, []int32(nil), 1, 5))
		}
		data := []int32{9, 9, 9, 9}
		got, err := comm.RecvSlice(ctx, c, data, comm.AnySource, comm.AnyTag)
		if err != nil || got != (comm.Status{Source: 0, Tag: 4, Count: 3}) {
			return fmt.Errorf("%+v: %w", got, err)
		}
		if err := same(data, []int32{1, 2, 3, 9}); err != nil {
			return err
		}
		got, err = comm.RecvSlice(ctx, c, data[:0], 0, 5)
		if err != nil || got != (comm.Status{Source: 0, Tag: 5}) {
			return fmt.Errorf("%+v: %w", got, err)
		}
		return nil
	})
}

func TestAMessageOfOtherElementsIsAMismatch(t *testing.T) {
	run(t, 2, func(ctx context.Context, c *comm.Comm) error {
		if c.Rank() == 0 {
			return comm.SendSlice(ctx, c, make([]int8, 9), 1, 0)
		}
		_, err := comm.RecvSlice(ctx, c, make([]int64, 9), 0, 0)
		if !errors.Is(err, comm.ErrMismatch) {
			return fmt.Errorf("received: %w", err)
		}
		return nil
	})
}

// While an operation is under way, the accesses that it excludes are refused, and others are not.
func TestLeasesAreHeldUntilTheEnd(t *testing.T) {
	run(t, 2, func(ctx context.Context, c *comm.Comm) error {
		b := buffered(numbers(2000, c.Rank()))
		defer b.Close()
		other := 1 - c.Rank()
		soon, cancel := context.WithCancel(ctx)
		cancel()
		if c.Rank() == 0 {
			r, err := comm.Isend(ctx, c, b, other, 0)
			if err != nil {
				return err
			}
			if err := b.View(ctx, func([]float64) error { return nil }); err != nil {
				return fmt.Errorf("a reader during a send: %w", err)
			}
			if _, err := b.AcquireHost(soon, coherence.ReadWrite); err == nil {
				return errors.New("a writer during a send")
			}
			if err := b.Close(); err == nil {
				return errors.New("closed during a send")
			}
			if err := comm.SendSlice(ctx, c, []int8{1}, other, 1); err != nil {
				return err
			}
			if _, err := r.Wait(ctx); err != nil {
				return err
			}
			return b.Update(ctx, func([]float64) error { return nil })
		}
		if _, err := comm.RecvSlice(ctx, c, make([]int8, 1), other, 1); err != nil {
			return err
		}
		r, err := comm.Irecv(ctx, c, b, other, 0)
		if err != nil {
			return err
		}
		_, err = r.Wait(ctx)
		return errors.Join(err, b.Update(ctx, func([]float64) error { return nil }))
	}, commtest.EagerLimit(8))
}

func TestADeadlineEndsAReceiveAndTheCommunicator(t *testing.T) {
	j := commtest.New(2)
	defer j.Close()
	c := comm.New(j.Engine(0))
	b := buffered(make([]float64, 4))
	ctx, cancel := context.WithCancelCause(t.Context())
	r, err := comm.Irecv(ctx, c, b, 1, 3)
	require.NoError(t, err)
	require.ErrorIs(t, c.Close(), hal.ErrInvalidArgument, "an operation is under way")
	_, done, err := r.Test()
	require.False(t, done)
	require.NoError(t, err)
	cancel(errors.New("enough"))
	_, err = r.Wait(ctx)
	require.ErrorIs(t, err, comm.ErrTimeout)
	require.ErrorContains(t, err, "rank 1, tag 3, 32 bytes")
	require.ErrorContains(t, err, "enough")
	var e *comm.Error
	require.ErrorAs(t, err, &e)
	_, again := r.Wait(t.Context())
	require.Equal(t, err, again)

	require.Equal(t, err, c.Err())
	err = comm.SendSlice(t.Context(), c, []int8{1}, 1, 0)
	require.ErrorIs(t, err, comm.ErrTimeout)
	require.ErrorContains(t, err, "SendSlice: given up before the operation was done: refused, because the communicator failed before: Irecv")
	require.NoError(t, b.Close(), "the lease has ended")
	require.NoError(t, c.Close())
	require.Empty(t, j.Leftovers())
}

// A send cannot be cancelled, so its memory is kept.
func TestADeadlineEndsASendAndKeepsItsMemory(t *testing.T) {
	j := commtest.New(2, commtest.EagerLimit(0))
	defer j.Close()
	c := comm.New(j.Engine(0))
	b := buffered(numbers(4, 0))
	ctx, cancel := context.WithCancel(t.Context())
	r, err := comm.Isend(ctx, c, b, 1, 3)
	require.NoError(t, err)
	cancel()
	_, err = r.Wait(ctx)
	require.ErrorIs(t, err, comm.ErrTimeout)
	require.NoError(t, b.Close(), "the elements were copied")
	require.NoError(t, c.Close())
	require.Contains(t, j.Leftovers(), "rank 0 did not free 4096 bytes")

	c = comm.New(j.Engine(1))
	got := make([]float64, 4)
	_, err = comm.RecvSlice(t.Context(), c, got, 0, 3)
	require.NoError(t, err)
	require.Equal(t, numbers(4, 0), got)
}

func TestALostRankIsNamed(t *testing.T) {
	j := commtest.New(3)
	defer j.Close()
	c := comm.New(j.Engine(0))
	j.Lose(2)
	_, err := comm.RecvSlice(t.Context(), c, make([]int8, 1), 2, 0)
	require.ErrorIs(t, err, comm.ErrRankLost)
	require.ErrorContains(t, err, "rank 2 was lost")
	require.ErrorIs(t, c.Barrier(t.Context()), comm.ErrRankLost)
}

func TestATruncatedMessageIsAnError(t *testing.T) {
	run(t, 2, func(ctx context.Context, c *comm.Comm) error {
		if c.Rank() == 0 {
			return comm.SendSlice(ctx, c, make([]int8, 9), 1, 0)
		}
		_, err := comm.RecvSlice(ctx, c, make([]int8, 8), 0, 0)
		if !errors.Is(err, comm.ErrTruncated) || !errors.Is(c.Err(), comm.ErrTruncated) {
			return fmt.Errorf("received: %w", err)
		}
		return nil
	})
}

func TestArgumentsAreRefusedAndChangeNothing(t *testing.T) {
	j := commtest.New(2)
	defer j.Close()
	c := comm.New(j.Engine(0))
	b := buffered(numbers(4, 0))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, row := range map[string]struct {
		kind error
		call func(ctx context.Context) error
	}{
		"rank too high":       {hal.ErrInvalidArgument, func(ctx context.Context) error { return comm.Send(ctx, c, b, 2, 0) }},
		"any rank to send to": {hal.ErrInvalidArgument, func(ctx context.Context) error { return comm.Send(ctx, c, b, comm.AnySource, 0) }},
		"negative tag":        {hal.ErrInvalidArgument, func(ctx context.Context) error { return comm.Send(ctx, c, b, 1, -1) }},
		"tag too high":        {hal.ErrInvalidArgument, func(ctx context.Context) error { return comm.Send(ctx, c, b, 1, 1<<40) }},
		"source":              {hal.ErrInvalidArgument, func(ctx context.Context) error { _, err := comm.Recv(ctx, c, b, -3, 0); return err }},
		"nil buffer":          {hal.ErrInvalidArgument, func(ctx context.Context) error { return comm.Send[int8](ctx, c, nil, 1, 0) }},
		"nil communicator":    {hal.ErrInvalidArgument, func(ctx context.Context) error { return comm.Send(ctx, nil, b, 1, 0) }},
		"ended context":       {comm.ErrTimeout, func(context.Context) error { return comm.Send(ended, c, b, 1, 0) }},
	} {
		require.ErrorIs(t, row.call(t.Context()), row.kind, name)
		require.NoError(t, c.Err(), name)
	}
	require.Equal(t, numbers(4, 0), contents(b))
	closed, err := buffer.New[int8](3)
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	require.Error(t, comm.Send(t.Context(), c, closed, 1, 0))
	require.NoError(t, c.Err(), "the buffer is to blame")
	require.NoError(t, c.Close())
	require.ErrorIs(t, c.Close(), hal.ErrClosed)
	require.ErrorIs(t, comm.Send(t.Context(), c, b, 1, 0), hal.ErrClosed)
	require.Empty(t, j.Leftovers())
}

func TestCommunicatorsAreDerived(t *testing.T) {
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			run(t, 4, func(ctx context.Context, c *comm.Comm) error {
				d, err := c.Dup(ctx)
				if err != nil {
					return err
				}
				odd, err := c.Split(ctx, c.Rank()%2, -c.Rank())
				if err != nil {
					return err
				}
				if want := 1 - c.Rank()/2; odd.Size() != 2 || odd.Rank() != want {
					return fmt.Errorf("rank %d of %d", odd.Rank(), odd.Size())
				}
				some, err := c.Split(ctx, -c.Rank(), 0)
				if err != nil || (some == nil) != (c.Rank() > 0) {
					return fmt.Errorf("a part without color: %w", err)
				}
				machine, err := c.SplitShared(ctx)
				if err != nil || machine.Size() != 4 {
					return fmt.Errorf("a machine: %w", err)
				}
				if some != nil {
					err = some.Close()
				}
				return errors.Join(err, d.Barrier(ctx), machine.Close(), odd.Close(), d.Close())
			}, opts...)
		})
	}
}

// A steady exchange of small messages allocates a request each, and no memory of the engine.
func TestStagingIsUsedAgain(t *testing.T) {
	j := commtest.New(1)
	defer j.Close()
	e := &counting{Engine: j.Engine(0)}
	c := comm.New(e)
	for range 100 {
		require.NoError(t, comm.SendSlice(t.Context(), c, []int64{1}, 0, 0))
		_, err := comm.RecvSlice(t.Context(), c, make([]int64, 1), 0, 0)
		require.NoError(t, err)
	}
	require.Equal(t, 1, e.allocs)
	runtime.KeepAlive(c)
}

type counting struct {
	driver.Engine
	allocs int
}

func (e *counting) Alloc(n uint64) (p unsafe.Pointer, err error) {
	e.allocs++
	return e.Engine.Alloc(n)
}

// A probe tells the length of a message, for which the program then makes a buffer.
func TestProbe(t *testing.T) {
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			run(t, 2, func(ctx context.Context, c *comm.Comm) error {
				if c.Rank() == 0 {
					for n := range 3 {
						if err := comm.SendSlice(ctx, c, numbers(n*2000, n), 1, n); err != nil {
							return err
						}
					}
					return nil
				}
				for n := range 3 {
					status, err := comm.Probe[float64](ctx, c, comm.AnySource, comm.AnyTag)
					if err != nil || status != (comm.Status{Source: 0, Tag: n, Count: n * 2000}) {
						return fmt.Errorf("%+v, %w", status, err)
					}
					got := make([]float64, status.Count)
					if _, err := comm.RecvSlice(ctx, c, got, status.Source, status.Tag); err != nil {
						return err
					}
					if err := same(got, numbers(n*2000, n)); err != nil {
						return err
					}
				}
				return nil
			}, opts...)
		})
	}
}

// Neither a probe that finds nothing nor one that finds half an element ends the communicator.
func TestProbesInVain(t *testing.T) {
	j := commtest.New(2)
	defer j.Close()
	ctx, c, other := t.Context(), comm.New(j.Engine(0)), comm.New(j.Engine(1))
	short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	_, err := comm.Probe[int32](short, c, 1, 0)
	require.ErrorIs(t, err, comm.ErrTimeout)
	require.NoError(t, comm.SendSlice(ctx, other, []int32{1, 2, 3}, 0, 0))
	_, err = comm.Probe[float64](ctx, c, 1, 0)
	require.ErrorIs(t, err, comm.ErrMismatch)
	_, err = comm.Probe[float64](ctx, c, 2, 0)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	s, err := comm.Probe[int32](ctx, c, comm.ProcNull, 0)
	require.NoError(t, err)
	require.Equal(t, comm.Status{Source: comm.ProcNull, Tag: comm.AnyTag}, s)
	s, err = comm.Probe[int32](ctx, c, 1, 0)
	require.NoError(t, err)
	require.Equal(t, comm.Status{Source: 1, Count: 3}, s)
	_, err = comm.RecvSlice(ctx, c, make([]int32, 3), 1, 0)
	require.NoError(t, err)
	j.Lose(1)
	_, err = comm.Probe[int32](ctx, c, 1, 0)
	require.ErrorIs(t, err, comm.ErrRankLost)
	require.ErrorIs(t, c.Err(), comm.ErrRankLost)
}

// Waitany returns each outcome once, whichever comes first, and gives up nothing when its context ends.
func TestWaitany(t *testing.T) {
	j := commtest.New(2)
	defer j.Close()
	ctx, c, other := t.Context(), comm.New(j.Engine(0)), comm.New(j.Engine(1))
	var reqs []*comm.Request
	for tag := range 3 {
		b := buffered(make([]float64, 2))
		defer func() { require.NoError(t, b.Close()) }()
		q, err := comm.Irecv(ctx, c, b, 1, tag)
		require.NoError(t, err)
		reqs = append(reqs, q, nil)
	}
	short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	i, _, err := comm.Waitany(short, reqs)
	require.ErrorIs(t, err, comm.ErrTimeout)
	require.Equal(t, -1, i)
	require.NoError(t, c.Err())
	for _, tag := range []int{2, 0, 1} {
		require.NoError(t, comm.SendSlice(ctx, other, []float64{1}, 0, tag))
		i, s, err := comm.Waitany(ctx, reqs)
		require.NoError(t, err)
		require.Equal(t, 2*tag, i)
		require.Equal(t, comm.Status{Source: 1, Tag: tag, Count: 1}, s)
	}
	i, _, err = comm.Waitany(ctx, reqs)
	require.NoError(t, err)
	require.Equal(t, -1, i)
	_, _, err = comm.Waitany(ctx, []*comm.Request{nil, {}})
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
}
