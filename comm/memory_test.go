package comm_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

// watched notes the addresses that its ranks give to the engine.
type watched struct {
	driver.Engine
	world watchedComm
}

type watchedComm struct {
	driver.Comm
	mu   sync.Mutex
	seen []unsafe.Pointer
}

func (e *watched) World() driver.Comm {
	e.world.Comm = e.Engine.World()
	return &e.world
}

func (c *watchedComm) see(p ...unsafe.Pointer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, p...)
}

func (c *watchedComm) Isend(p unsafe.Pointer, n uint64, dest, tag int) (driver.Request, error) {
	c.see(p)
	return c.Comm.Isend(p, n, dest, tag)
}

func (c *watchedComm) Irecv(p unsafe.Pointer, n uint64, source, tag int) (driver.Request, error) {
	c.see(p)
	return c.Comm.Irecv(p, n, source, tag)
}

func (c *watchedComm) Collective(a driver.Collective) (driver.Request, error) {
	c.see(a.Send, a.Recv)
	return c.Comm.Collective(a)
}

func pointer[T buffer.Element](b *buffer.Buffer[T]) (p unsafe.Pointer) {
	if err := b.View(context.Background(), func(s []T) error { p = unsafe.Pointer(&s[0]); return nil }); err != nil {
		panic(err)
	}
	return p
}

// Memory of the engine goes to the engine as it is, whole, in part, and in place, also after a device had the elements. Other memory does not.
func TestMemoryOfTheEngineIsNotCopied(t *testing.T) {
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			commtest.Run(t, 2, func(e driver.Engine) error {
				w := &watched{Engine: e}
				c := comm.New(w)
				rank, other := c.Rank(), 1-c.Rank()
				b, err := comm.NewBuffer[float64](c, 1000)
				if err != nil {
					return err
				}
				if err := same(contents(b), make([]float64, 1000)); err != nil {
					return err
				}
				if err := b.CopyIn(ctx, numbers(1000, rank)); err != nil {
					return err
				}
				part, err := b.Slice(100, 400)
				if err != nil {
					return err
				}
				plain := buffered(numbers(300, rank))
				whole := pointer(b)
				expect := func(what string, want ...unsafe.Pointer) error {
					got := w.world.seen
					w.world.seen = nil
					if fmt.Sprint(got) != fmt.Sprint(want) {
						return fmt.Errorf("%s: the engine was given %v, not %v", what, got, want)
					}
					return nil
				}
				if rank == 0 {
					err = errors.Join(comm.Send(ctx, c, part, other, 1), expect("send", unsafe.Add(whole, 800)))
				} else {
					_, err = comm.Recv(ctx, c, part, other, 1)
					err = errors.Join(err, expect("receive", unsafe.Add(whole, 800)))
				}
				if err != nil {
					return err
				}
				if err := same(contents(part), numbers(400, 0)[100:]); err != nil {
					return err
				}
				if err := errors.Join(comm.Allreduce(ctx, c, b, b, comm.Sum), expect("in place", whole, whole)); err != nil {
					return err
				}
				if got, want := contents(b)[150], 2*150.0; got != want {
					return fmt.Errorf("the sum is %v, not %v", got, want)
				}
				if _, err := comm.Sendrecv(ctx, c, plain, other, 2, part, other, 2); err != nil {
					return err
				}
				if w.world.seen[0] != unsafe.Add(whole, 800) || w.world.seen[1] == pointer(plain) {
					return fmt.Errorf("the engine was given %v", w.world.seen)
				}
				if err := same(contents(part), numbers(300, other)); err != nil {
					return err
				}
				if _, err := comm.Sendrecv(ctx, c, part, other, 3, part, other, 3); err != nil {
					return err
				}
				return errors.Join(same(contents(part), numbers(300, rank)), b.Close(), plain.Close(), c.Close())
			}, opts...)
		})
	}
}

// A device's replica goes to and from the engine's memory.
func TestMemoryOfTheEngineOnADevice(t *testing.T) {
	run(t, 2, func(ctx context.Context, c *comm.Comm) error {
		s := fixture.Stream(t, fixture.Device(t, host.New(host.Options{Name: fmt.Sprintf("lent%d", c.Rank()), Discrete: 1}), 1))
		b, err := comm.NewBuffer[float64](c, 100)
		if err != nil {
			return err
		}
		if c.Rank() == 0 {
			err = errors.Join(onDevice(ctx, s, b, 5), comm.Send(ctx, c, b, 1, 0))
		} else {
			_, err = comm.Recv(ctx, c, b, 0, 0)
			if l, e := b.Acquire(ctx, s, coherence.ReadWrite); e == nil {
				err = errors.Join(err, l.Release(), same(contents(b), constant(100, 5)))
			} else {
				err = errors.Join(err, e)
			}
		}
		return errors.Join(err, b.Close())
	})
}

func TestBuffersOfTheEngineAreClosedFirst(t *testing.T) {
	j := commtest.New(1)
	defer j.Close()
	c := comm.New(j.Engine(0))
	_, err := comm.NewBuffer[int64](c, -1)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	_, err = comm.NewBuffer[int64](nil, 1)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	_, err = comm.NewBuffer[int64](c, math.MaxInt)
	require.ErrorIs(t, err, hal.ErrOutOfMemory)
	d := fixture.Device(t, host.New(host.Options{Name: "pinned"}), 0)
	_, err = comm.NewBuffer[int64](c, 1, buffer.WithPinnedHost(d))
	require.ErrorIs(t, err, hal.ErrInvalidArgument)

	var all []*buffer.Buffer[int64]
	for range 5 {
		b, err := comm.NewBuffer[int64](c, 1000)
		require.NoError(t, err)
		all = append(all, b)
	}
	two, err := c.Dup(t.Context())
	require.NoError(t, err)
	require.NoError(t, two.Close(), "not the last one")
	for i, b := range all {
		require.ErrorContains(t, c.Close(), fmt.Sprintf("%d buffers with memory of the engine are open", 5-i))
		require.NoError(t, b.Close())
	}
	require.NoError(t, c.Close())
	require.Empty(t, j.Leftovers())
	_, err = comm.NewBuffer[int64](c, 1)
	require.ErrorIs(t, err, hal.ErrClosed)
}

// The engine may go on to read what it was given, so a buffer is not free again when a send is given up.
func TestASendThatIsGivenUpKeepsTheBuffer(t *testing.T) {
	j := commtest.New(2, commtest.EagerLimit(0))
	defer j.Close()
	c := comm.New(j.Engine(0))
	b, err := comm.NewBuffer[float64](c, 4)
	require.NoError(t, err)
	require.NoError(t, b.CopyIn(t.Context(), numbers(4, 7)))
	ctx, cancel := context.WithCancel(t.Context())
	r, err := comm.Isend(ctx, c, b, 1, 3)
	require.NoError(t, err)
	cancel()
	_, err = r.Wait(ctx)
	require.ErrorIs(t, err, comm.ErrTimeout)
	require.Error(t, b.Close())
	require.NoError(t, b.View(t.Context(), func([]float64) error { return nil }))
	require.NoError(t, c.Close(), "what cannot be closed need not be")

	to := comm.New(j.Engine(1))
	got := make([]float64, 4)
	_, err = comm.RecvSlice(t.Context(), to, got, 0, 3)
	require.NoError(t, err)
	require.Equal(t, numbers(4, 7), got)
}
