package comm_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/hal"
	haldriver "github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// copied enqueues a copy of the elements to memory of the device, in place of a kernel that reads them.
func copied(ctx context.Context, s *hal.Stream, b *buffer.Buffer[float64]) (*hal.Memory, error) {
	m, err := s.Device().Alloc(hal.KindDevice, b.Size(), 0)
	if err != nil {
		return nil, err
	}
	l, err := b.Acquire(ctx, s, coherence.Read)
	if err == nil {
		err = errors.Join(s.Copy(m.All(), l.Region()), l.Release())
	}
	return m, err
}

// read waits for the stream and returns what is in the memory, which is closed.
func read(ctx context.Context, s *hal.Stream, m *hal.Memory) ([]float64, error) {
	raw := make([]byte, m.Size())
	err := errors.Join(s.CopyOut(raw, m.All()), s.Sync(ctx), m.Close())
	return floats(raw), err
}

// A message takes the elements as they are between the work that the stream was given before and after it.
func TestAStreamSendsWhatItHasMade(t *testing.T) {
	onDevices(t, func(t *testing.T, streams [2]*hal.Stream, _ bool) {
		run(t, 2, func(ctx context.Context, c *comm.Comm) error {
			const n = 1000
			if c.Rank() == 1 {
				for _, want := range []float64{1, 2} {
					got := make([]float64, n)
					if _, err := comm.RecvSlice(ctx, c, got, 0, 5); err != nil {
						return err
					}
					if err := same(got, constant(n, want)); err != nil {
						return err
					}
				}
				return nil
			}
			s := streams[0]
			b := buffered(make([]float64, n))
			defer b.Close()
			g, err := s.Gate()
			if err != nil {
				return err
			}
			var requests [2]*comm.Request
			for i := range requests {
				err = errors.Join(err, onDevice(ctx, s, b, float64(i+1)))
				var e error
				requests[i], e = comm.SendOn(ctx, c, s, b, 1, 5)
				err = errors.Join(err, e)
			}
			if err = errors.Join(err, onDevice(ctx, s, b, 3)); err != nil {
				return errors.Join(err, g.Signal())
			}
			c.Ask()
			for i, r := range requests {
				if _, done, err := r.Test(); done || err != nil {
					return errors.Join(fmt.Errorf("message %d left a stream that is held: %w", i, err), g.Signal())
				}
			}
			if err := g.Signal(); err != nil {
				return err
			}
			// The second is waited for first, and leaves second all the same.
			for _, i := range []int{1, 0} {
				if _, err := requests[i].Wait(ctx); err != nil {
					return err
				}
			}
			return same(contents(b), constant(n, 3))
		})
	})
}

// A stream waits for a message, and the program does not.
func TestAStreamWaitsForAMessage(t *testing.T) {
	onDevices(t, func(t *testing.T, streams [2]*hal.Stream, _ bool) {
		run(t, 2, func(ctx context.Context, c *comm.Comm) error {
			const n = 1000
			if c.Rank() == 0 {
				// Nothing is sent before the other rank has enqueued what reads it.
				if _, err := comm.RecvSlice(ctx, c, make([]int64, 1), 1, 6); err != nil {
					return err
				}
				return comm.SendSlice(ctx, c, numbers(n, 0), 1, 5)
			}
			s := streams[1]
			b := buffered(constant(n, -1))
			defer b.Close()
			r, err := comm.RecvOn(ctx, c, s, b, comm.AnySource, 5)
			if err != nil {
				return err
			}
			m, err := copied(ctx, s, b)
			if err != nil {
				return err
			}
			if _, done, err := r.Test(); done {
				return fmt.Errorf("done before the message was sent: %w", err)
			}
			if done, _ := s.Done(); done {
				return errors.New("the stream did not wait")
			}
			if err := comm.SendSlice(ctx, c, []int64{1}, 0, 6); err != nil {
				return err
			}
			if err := same(contents(b), numbers(n, 0)); err != nil { // waits, too
				return err
			}
			got, err := read(ctx, s, m)
			if err := errors.Join(err, same(got, numbers(n, 0))); err != nil {
				return err
			}
			status, err := r.Wait(ctx)
			if want := (comm.Status{Source: 0, Tag: 5, Count: n}); err == nil && status != want {
				err = fmt.Errorf("%+v", status)
			}
			return err
		})
	})
}

// Messages of a stream that is held do not hold up those of another.
func TestStreamsSendOnTheirOwn(t *testing.T) {
	_, one := device(t)
	two := fixture.Stream(t, one.Device())
	run(t, 2, func(ctx context.Context, c *comm.Comm) error {
		if c.Rank() == 1 {
			got := make([]float64, 10)
			for _, want := range []float64{2, 1} {
				if _, err := comm.RecvSlice(ctx, c, got, 0, int(want)); err != nil {
					return err
				}
				if err := same(got, constant(10, want)); err != nil {
					return err
				}
				if err := comm.SendSlice(ctx, c, []int64{1}, 0, 9); err != nil {
					return err
				}
			}
			return nil
		}
		g, err := one.Gate()
		if err != nil {
			return err
		}
		for i, s := range []*hal.Stream{one, two} {
			b := buffered(constant(10, float64(i+1)))
			defer b.Close()
			if _, err := comm.SendOn(ctx, c, s, b, 1, i+1); err != nil {
				return errors.Join(err, g.Signal())
			}
		}
		_, err = comm.RecvSlice(ctx, c, make([]int64, 1), 1, 9) // the message of the other stream was received
		if err = errors.Join(err, g.Signal()); err == nil {
			_, err = comm.RecvSlice(ctx, c, make([]int64, 1), 1, 9)
		}
		return err
	})
}

// Operations that nobody waits for end all the same, and one goroutine goes on with all of them.
func TestNobodyHasToWaitForAStream(t *testing.T) {
	_, s := device(t)
	j := commtest.New(2)
	defer j.Close()
	c := comm.New(j.Engine(0))
	const n = 200
	before := runtime.NumGoroutine()
	var buffers []*buffer.Buffer[float64]
	for i := range n {
		b := buffered(make([]float64, 3))
		buffers = append(buffers, b)
		_, err := comm.RecvOn(t.Context(), c, s, b, 1, i)
		require.NoError(t, err)
	}
	fixture.Goroutines(t, before+8)
	require.ErrorIs(t, c.Close(), comm.ErrInvalidArgument, "operations are under way")
	other := comm.New(j.Engine(1))
	for i := range n { // the stream needs the first message first
		require.NoError(t, comm.SendSlice(t.Context(), other, numbers(3, n-1-i), 0, n-1-i))
	}
	for i, b := range buffers {
		require.Equal(t, numbers(3, i), contents(b))
		require.NoError(t, b.Close())
	}
	require.Eventually(t, func() bool { return c.Close() == nil }, 10*time.Second, time.Millisecond)
	require.NoError(t, other.Close())
}

// asked counts how often an engine is asked.
type asked struct {
	driver.Engine
	n atomic.Int64
}

func (e *asked) Test(reqs []driver.Request, out []driver.Status) (int, error) {
	e.n.Add(1)
	return e.Engine.Test(reqs, out)
}

// What a stream waits for later costs nothing now.
func TestOnlyTheNextMessageOfAStreamIsAskedFor(t *testing.T) {
	_, s := device(t)
	j := commtest.New(2)
	defer j.Close()
	e := &asked{Engine: j.Engine(0)}
	c := comm.New(e)
	const n = 300
	b := buffered(make([]float64, n))
	for i := range n {
		part, err := b.Slice(i, i+1)
		require.NoError(t, err)
		_, err = comm.RecvOn(t.Context(), c, s, part, 1, i)
		require.NoError(t, err)
	}
	c.Ask() // the first time all are new
	before, most := e.n.Load(), int64(0)
	for range 20 {
		c.Ask()
		c.Ask()
		most = max(most, e.n.Load()-before)
		before = e.n.Load()
	}
	require.LessOrEqual(t, most, int64(100), "of %d operations", n) // two here, and some of the goroutine's
	other := comm.New(j.Engine(1))
	for i := range n {
		require.NoError(t, comm.SendSlice(t.Context(), other, []float64{float64(i)}, 0, i))
	}
	require.Equal(t, numbers(n, 0), contents(b))
	require.NoError(t, b.Close())
	require.Eventually(t, func() bool { return c.Close() == nil }, 10*time.Second, time.Millisecond)
}

// A context that ends is heeded although the stream waits for another message first.
func TestADeadlineBehindAnotherMessage(t *testing.T) {
	_, s := device(t)
	j := commtest.New(2)
	defer j.Close()
	c := comm.New(j.Engine(0))
	first, second := buffered(numbers(4, 0)), buffered(numbers(4, 0))
	q, err := comm.RecvOn(t.Context(), c, s, first, 1, 1)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = comm.RecvOn(ctx, c, s, second, 1, 2)
	require.NoError(t, err)
	cancel()
	require.Eventually(t, func() bool { return errors.Is(c.Err(), comm.ErrTimeout) }, 10*time.Second, time.Millisecond)
	require.NoError(t, comm.SendSlice(t.Context(), comm.New(j.Engine(1)), numbers(4, 1), 0, 1))
	_, err = q.Wait(t.Context())
	require.NoError(t, err, "what had begun goes on")
	require.Equal(t, numbers(4, 1), contents(first))
	require.ErrorIs(t, second.View(t.Context(), func([]float64) error { panic("ran") }), comm.ErrTimeout)
	require.NoError(t, hal.CloseAll(first, second))
	require.Eventually(t, func() bool { return c.Close() == nil }, 10*time.Second, time.Millisecond)
}

// A rank that leaves with messages under way does not take memory from streams that still copy.
func TestARankLeavesWithMessagesUnderWay(t *testing.T) {
	for range 20 {
		_, s := device(t)
		err := commtest.Execute(2, func(e driver.Engine) error {
			c := comm.New(e)
			for range 10 {
				b := buffered(make([]float64, 1<<14))
				defer b.Close()
				if _, err := comm.SendOn(t.Context(), c, s, b, 1-c.Rank(), 0); err != nil {
					return err
				}
				if _, err := comm.RecvOn(t.Context(), c, s, b, 1-c.Rank(), 0); err != nil {
					return err
				}
			}
			return errors.New("this rank leaves")
		})
		require.ErrorContains(t, err, "this rank leaves")
		require.NoError(t, s.Sync(t.Context()))
	}
}

// A receive that fails lets the stream go on, and loses its elements and what the stream has made of them.
func TestAStreamGoesOnWithoutItsMessage(t *testing.T) {
	for name, row := range map[string]struct {
		kind error
		fail func(t *testing.T, j *commtest.Job, r *comm.Request, stop func())
	}{
		"its deadline": {comm.ErrTimeout, func(t *testing.T, j *commtest.Job, r *comm.Request, stop func()) { stop() }},
		"deadline of a wait": {comm.ErrTimeout, func(t *testing.T, j *commtest.Job, r *comm.Request, _ func()) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			_, err := r.Wait(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}},
		"truncated message": {comm.ErrTruncated, func(t *testing.T, j *commtest.Job, _ *comm.Request, _ func()) {
			require.NoError(t, comm.SendSlice(t.Context(), comm.New(j.Engine(1)), numbers(5, 1), 0, 3))
		}},
		"parts of elements": {comm.ErrMismatch, func(t *testing.T, j *commtest.Job, _ *comm.Request, _ func()) {
			require.NoError(t, comm.SendSlice(t.Context(), comm.New(j.Engine(1)), make([]int8, 31), 0, 3))
		}},
		"lost rank": {comm.ErrRankLost, func(t *testing.T, j *commtest.Job, _ *comm.Request, _ func()) { j.Lose(1) }},
	} {
		t.Run(name, func(t *testing.T) {
			j := commtest.New(2)
			defer j.Close()
			c := comm.New(j.Engine(0))
			_, s := device(t)
			b, made := buffered(numbers(8, 0)), buffered(numbers(4, 0))
			part, err := b.Slice(2, 6)
			require.NoError(t, err)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			r, err := comm.RecvOn(ctx, c, s, part, 1, 3)
			require.NoError(t, err)
			both, err := buffer.AcquireAll(ctx, s, part.Want(coherence.Read), made.Want(coherence.Overwrite))
			require.NoError(t, err)
			require.NoError(t, s.Copy(both.At(1).Region(), both.At(0).Region()))
			require.NoError(t, both.Release())

			row.fail(t, j, r, stop)
			require.NoError(t, s.Sync(t.Context()), "the stream goes on")
			_, failed := r.Wait(t.Context())
			require.ErrorIs(t, failed, row.kind)
			require.ErrorIs(t, c.Err(), row.kind)
			for range 2 {
				for _, lost := range []*buffer.Buffer[float64]{part, b, made} {
					err = lost.View(t.Context(), func([]float64) error { panic("ran") })
					require.ErrorIs(t, err, failed)
				}
			}
			rest, err := b.Slice(0, 2)
			require.NoError(t, err)
			require.Equal(t, numbers(2, 0), contents(rest))
			require.NoError(t, part.Overwrite(t.Context(), func(s []float64) error { copy(s, numbers(6, 0)[2:]); return nil }))
			require.Equal(t, numbers(8, 0), contents(b))
			require.NoError(t, hal.CloseAll(b, made))
			require.Eventually(t, func() bool { return c.Close() == nil }, 10*time.Second, time.Millisecond)
		})
	}
}

// What a stream may still write stays, although the send was given up or refused, until the stream has come so far.
func TestASendThatEndsEarlyKeepsItsMemory(t *testing.T) {
	const n = 1000
	recordFails := false
	backend := &hooked.Backend{Backend: host.New(host.Options{Name: "host", Discrete: 1})}
	backend.Record = func(s *hooked.Stream, e *hooked.Event) error {
		if recordFails {
			return hal.Errorf("record", hal.ErrDriver, "planned")
		}
		return s.Stream.Record(e.Event)
	}
	s := fixture.Stream(t, fixture.Device(t, backend, 1))
	for name, begin := range map[string]func(ctx context.Context, c *comm.Comm, b *buffer.Buffer[float64]) error{
		"given up": func(ctx context.Context, c *comm.Comm, b *buffer.Buffer[float64]) error {
			soon, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
			defer cancel()
			r, err := comm.SendOn(soon, c, s, b, 0, 3)
			if err != nil {
				return err
			}
			if _, err := r.Wait(ctx); !errors.Is(err, comm.ErrTimeout) { // its own context ends
				return fmt.Errorf("the send ended: %w", err)
			}
			if _, err := comm.SendOn(ctx, c, s, b, 0, 3); !errors.Is(err, comm.ErrTimeout) {
				return fmt.Errorf("not refused: %w", err)
			}
			return nil
		},
		"no event": func(ctx context.Context, c *comm.Comm, b *buffer.Buffer[float64]) error {
			recordFails = true
			defer func() { recordFails = false }()
			if _, err := comm.SendOn(ctx, c, s, b, 0, 3); !errors.Is(err, hal.ErrDriver) {
				return fmt.Errorf("the send began: %w", err)
			}
			return c.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := commtest.New(1, commtest.EagerLimit(0))
			defer j.Close()
			c := comm.New(j.Engine(0))
			ctx := t.Context()
			other, err := c.Dup(ctx)
			require.NoError(t, err)
			held, sent := buffered(constant(n, 7)), buffered(constant(n, 1))
			require.NoError(t, held.Prefetch(s))
			g := fixture.Gate(t, s)
			require.NoError(t, begin(ctx, c, held))
			// A message of the same length is under way while the stream copies.
			r, err := comm.Isend(ctx, other, sent, 0, 3)
			require.NoError(t, err)
			require.NoError(t, g.Signal())
			require.NoError(t, s.Sync(ctx))
			got := make([]float64, n)
			_, err = comm.RecvSlice(ctx, other, got, 0, 3)
			require.NoError(t, err)
			_, err = r.Wait(ctx)
			require.NoError(t, err)
			require.NoError(t, same(got, constant(n, 1)))
			require.NoError(t, hal.CloseAll(held, sent, other, c))
		})
	}
}

// Memory that a stream may still write is not freed with the communicator.
func TestMemoryOfAStreamOutlivesTheCommunicator(t *testing.T) {
	_, s := device(t)
	j := commtest.New(1)
	c := comm.New(j.Engine(0))
	b := buffered(constant(1000, 7))
	g := fixture.Gate(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := comm.SendOn(ctx, c, s, b, 0, 3)
	require.NoError(t, err)
	cancel()
	_, err = r.Wait(t.Context())
	require.ErrorIs(t, err, comm.ErrTimeout)
	require.NoError(t, c.Close())
	later := comm.New(j.Engine(0))
	var others []*buffer.Buffer[float64]
	for range 8 {
		o, err := comm.NewBuffer[float64](later, 1024) // as much as a message of b takes
		require.NoError(t, err)
		require.NoError(t, o.Fill(t.Context(), 1))
		others = append(others, o)
	}
	require.NoError(t, g.Signal())
	require.NoError(t, s.Sync(t.Context()))
	for _, o := range others {
		require.Equal(t, constant(1024, 1), contents(o))
		require.NoError(t, o.Close())
	}
	require.NoError(t, hal.CloseAll(b, later))
}

// A send that is given up does not hold up those after it.
func TestAGivenUpSendMakesWay(t *testing.T) {
	_, s := device(t)
	j := commtest.New(2)
	defer j.Close()
	c := comm.New(j.Engine(0))
	b := buffered(constant(10, 7))
	g := fixture.Gate(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	first, err := comm.SendOn(ctx, c, s, b, 1, 3)
	require.NoError(t, err)
	second, err := comm.SendOn(t.Context(), c, s, b, 1, 4)
	require.NoError(t, err)
	c.Ask()
	require.Equal(t, 1, c.Lanes())
	cancel()
	_, err = first.Wait(t.Context())
	require.ErrorIs(t, err, comm.ErrTimeout)
	require.NoError(t, g.Signal())
	_, err = second.Wait(t.Context())
	require.NoError(t, err)
	c.Ask()
	require.Zero(t, c.Lanes(), "nothing is kept of streams without sends")
	require.NoError(t, b.Close())
	require.NoError(t, c.Close())
}

// Bad arguments are refused, and nothing changes.
func TestBadInputOfStreamsIsRefused(t *testing.T) {
	_, s := device(t)
	j := commtest.New(1)
	defer j.Close()
	c := comm.New(j.Engine(0))
	b := buffered(numbers(4, 0))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	closed, err := s.Device().NewStream()
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	type call func(context.Context, *comm.Comm, *hal.Stream, *buffer.Buffer[float64], int, int) (*comm.Request, error)
	for name, do := range map[string]call{"SendOn": comm.SendOn[float64], "RecvOn": comm.RecvOn[float64]} {
		for what, row := range map[string]struct {
			kind error
			try  func() (*comm.Request, error)
		}{
			"nil communicator": {comm.ErrInvalidArgument, func() (*comm.Request, error) { return do(t.Context(), nil, s, b, 0, 0) }},
			"nil stream":       {comm.ErrInvalidArgument, func() (*comm.Request, error) { return do(t.Context(), c, nil, b, 0, 0) }},
			"zero stream":      {comm.ErrInvalidArgument, func() (*comm.Request, error) { return do(t.Context(), c, new(hal.Stream), b, 0, 0) }},
			"closed stream":    {hal.ErrClosed, func() (*comm.Request, error) { return do(t.Context(), c, closed, b, 0, 0) }},
			"nil buffer":       {comm.ErrInvalidArgument, func() (*comm.Request, error) { return do(t.Context(), c, s, nil, 0, 0) }},
			"zero buffer":      {hal.ErrInvalidArgument, func() (*comm.Request, error) { return do(t.Context(), c, s, new(buffer.Buffer[float64]), 0, 0) }},
			"no such rank":     {comm.ErrInvalidArgument, func() (*comm.Request, error) { return do(t.Context(), c, s, b, 1, 0) }},
			"no such tag":      {comm.ErrInvalidArgument, func() (*comm.Request, error) { return do(t.Context(), c, s, b, 0, -5) }},
			"ended context":    {comm.ErrTimeout, func() (*comm.Request, error) { return do(ended, c, s, b, 0, 0) }},
		} {
			r, err := row.try()
			require.Nil(t, r, "%s, %s", name, what)
			require.ErrorIs(t, err, row.kind, "%s, %s", name, what)
			require.NoError(t, c.Err(), "%s, %s", name, what)
			require.Equal(t, numbers(4, 0), contents(b), "%s, %s", name, what)
		}
	}
	require.NoError(t, b.Close())
	require.NoError(t, c.Close())
}

// A receive that the engine refuses has lost its elements, and the stream goes on.
func TestAStreamGoesOnAfterARefusedReceive(t *testing.T) {
	_, s := device(t)
	j := commtest.New(2)
	defer j.Close()
	c := comm.New(refusing{j.Engine(0)})
	b := buffered(numbers(8, 0))
	_, err := comm.RecvOn(t.Context(), c, s, b, 1, 3)
	require.ErrorIs(t, err, comm.ErrUnsupported)
	require.NoError(t, s.Sync(t.Context()))
	require.ErrorIs(t, b.View(t.Context(), func([]float64) error { panic("ran") }), err)
	require.NoError(t, b.Close())
	require.NoError(t, c.Close())
}

// without takes capabilities from all devices.
func without(caps hal.Caps) func(haldriver.Info) haldriver.Info {
	return func(i haldriver.Info) haldriver.Info { i.Caps &^= caps; return i }
}

// Where a device cannot hold a stream, or a copy of the host's memory may wait, the calls wait.
func TestCallsWaitWhereStreamsCannot(t *testing.T) {
	for name, lacks := range map[string]hal.Caps{"gates": hal.CapGate, "copies in order": hal.CapOrderedPageable} {
		t.Run(name, func(t *testing.T) {
			run(t, 2, func(ctx context.Context, c *comm.Comm) error {
				backend := &hooked.Backend{Backend: host.New(host.Options{Name: fmt.Sprint("rank", c.Rank()), Discrete: 1})}
				backend.Info = without(lacks)
				s := fixture.Stream(t, fixture.Device(t, backend, 1))
				b := buffered(numbers(100, c.Rank()))
				defer b.Close()
				other := 1 - c.Rank()
				if c.Rank() == 0 {
					if lacks == hal.CapOrderedPageable {
						g, err := s.Gate()
						if err != nil {
							return err
						}
						soon, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
						_, err = comm.SendOn(soon, c, s, b, other, 1)
						cancel()
						if err := errors.Join(g.Signal(), c.Err()); err != nil {
							return err
						}
						if !errors.Is(err, comm.ErrTimeout) {
							return fmt.Errorf("the call did not wait for the stream: %w", err)
						}
					}
					if _, err := comm.SendOn(ctx, c, s, b, other, 1); err != nil {
						return err
					}
					_, err := comm.RecvOn(ctx, c, s, b, other, 2)
					return errors.Join(err, same(contents(b), constant(100, math.Pi)))
				}
				if _, err := comm.RecvOn(ctx, c, s, b, other, 1); err != nil {
					return err
				}
				if err := same(contents(b), numbers(100, 0)); err != nil {
					return err
				}
				if err := onDevice(ctx, s, b, math.Pi); err != nil {
					return err
				}
				r, err := comm.SendOn(ctx, c, s, b, other, 2)
				if err == nil {
					_, err = r.Wait(ctx)
				}
				return err
			})
		})
	}
}

// A call that waits for the message ends with its context, and has changed nothing then.
func TestACallThatWaitsEndsWithItsContext(t *testing.T) {
	for name, lacks := range map[string]hal.Caps{"gates": hal.CapGate, "copies in order": hal.CapOrderedPageable} {
		t.Run(name, func(t *testing.T) {
			backend := &hooked.Backend{Backend: host.New(host.Options{Name: "host", Discrete: 1})}
			backend.Info = without(lacks)
			s := fixture.Stream(t, fixture.Device(t, backend, 1))
			j := commtest.New(2)
			defer j.Close()
			c := comm.New(j.Engine(0))
			b := buffered(numbers(4, 0))
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
			defer cancel()
			_, err := comm.RecvOn(ctx, c, s, b, 1, 1)
			require.ErrorIs(t, err, comm.ErrTimeout)
			require.Equal(t, numbers(4, 0), contents(b))
			require.NoError(t, b.Close())
			require.NoError(t, c.Close())
		})
	}
}

// A SendOn that is given up while it waits for the copy keeps its memory no longer than the copy takes.
func TestASendThatIsGivenUpKeepsNoMemory(t *testing.T) {
	backend := &hooked.Backend{Backend: host.New(host.Options{Name: "host", Discrete: 1})}
	backend.Info = without(hal.CapOrderedPageable)
	s := fixture.Stream(t, fixture.Device(t, backend, 1))
	j := commtest.New(2)
	defer j.Close()
	e := &counting{Engine: j.Engine(0)}
	c := comm.New(e)
	b := buffered(numbers(1<<10, 0))
	for range 20 {
		g := fixture.Gate(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_, err := comm.SendOn(ctx, c, s, b, 1, 1)
		cancel()
		require.ErrorIs(t, err, comm.ErrTimeout)
		require.NoError(t, c.Err())
		copied, err := s.Record()
		require.NoError(t, err)
		passed := make(chan struct{})
		require.NoError(t, copied.OnDone(func(error) { close(passed) }))
		require.NoError(t, g.Signal())
		<-passed // that of the send's own copy is noticed at about the same time
		require.NoError(t, copied.Close())
	}
	require.Less(t, e.allocs, 10)
	require.NoError(t, b.Close())
	require.NoError(t, c.Close())
}

// Who waits for one message holds up neither those after it, nor those who ask with a copy of the request.
func TestAWaitHoldsUpNobody(t *testing.T) {
	_, s := device(t)
	run(t, 2, func(ctx context.Context, c *comm.Comm) error {
		if c.Rank() == 1 { // the second message first
			got := make([]float64, 4)
			for _, tag := range []int{2, 1} {
				if _, err := comm.RecvSlice(ctx, c, got, 0, tag); err != nil {
					return err
				}
			}
			return same(got, constant(4, 1))
		}
		g, err := s.Gate()
		if err != nil {
			return err
		}
		one, two := buffered(constant(4, 1)), buffered(constant(4, 2))
		first, err := comm.SendOn(ctx, c, s, one, 1, 1)
		if err != nil {
			return errors.Join(err, g.Signal())
		}
		second, err := comm.SendOn(ctx, c, s, two, 1, 2)
		if err != nil {
			return errors.Join(err, g.Signal())
		}
		asking := *first
		waited := make(chan error, 1)
		go func() { _, err := first.Wait(ctx); waited <- err }()
		for range 100 {
			if _, done, _ := asking.Test(); done {
				return errors.Join(errors.New("done behind a gate"), g.Signal())
			}
		}
		if err := errors.Join(g.Signal(), <-waited); err != nil {
			return err
		}
		_, err = second.Wait(ctx)
		return errors.Join(err, hal.CloseAll(one, two))
	}, commtest.EagerLimit(0))
}

// A message that came before the context ended counts, although the stream has not copied its elements.
func TestAContextThatEndsAfterTheMessage(t *testing.T) {
	_, s := device(t)
	j := commtest.New(2)
	defer j.Close()
	c, other := comm.New(j.Engine(0)), comm.New(j.Engine(1))
	for range 50 {
		g := fixture.Gate(t, s)
		b := buffered(make([]float64, 4))
		ctx, cancel := context.WithCancel(t.Context())
		r, err := comm.RecvOn(ctx, c, s, b, 1, 1)
		require.NoError(t, err)
		require.NoError(t, comm.SendSlice(t.Context(), other, numbers(4, 1), 0, 1))
		cancel()
		require.NoError(t, g.Signal())
		_, err = r.Wait(t.Context())
		require.NoError(t, err)
		require.NoError(t, c.Err())
		require.Equal(t, numbers(4, 1), contents(b))
		require.NoError(t, b.Close())
	}
	require.NoError(t, hal.CloseAll(c, other))
}

// Where the call waits for the message, nobody finds its elements undecided, however much the buffer's other parts are used.
func TestAReceiveThatWaitedIsDecided(t *testing.T) {
	backend := &hooked.Backend{Backend: host.New(host.Options{Name: "host", Discrete: 1})}
	backend.Info = without(hal.CapOrderedPageable)
	written := false
	backend.Record = func(s *hooked.Stream, e *hooked.Event) error {
		err := s.Stream.Record(e.Event)
		if written { // what is recorded has ended when others ask
			err = errors.Join(err, s.Stream.Sync())
		}
		return err
	}
	s := fixture.Stream(t, fixture.Device(t, backend, 1))
	j := commtest.New(2)
	defer j.Close()
	c, other := comm.New(j.Engine(0)), comm.New(j.Engine(1))
	const parts = 32
	b := buffered(make([]float64, parts))
	g := fixture.Gate(t, s)
	for i := range parts {
		part, err := b.Slice(i, i+1)
		require.NoError(t, err)
		require.NoError(t, onDevice(t.Context(), s, part, float64(i)))
	}
	require.NoError(t, g.Signal())
	require.NoError(t, s.Sync(t.Context()))
	written = true
	last, err := b.Slice(parts-1, parts)
	require.NoError(t, err)
	require.NoError(t, comm.SendSlice(t.Context(), other, []float64{7}, 0, 1))
	_, err = comm.RecvOn(t.Context(), c, s, last, 1, 1)
	require.NoError(t, err)
	require.Equal(t, append(numbers(parts-1, 0), 7), contents(b))
	require.NoError(t, hal.CloseAll(b))
	require.Eventually(t, func() bool { return c.Close() == nil }, 10*time.Second, time.Millisecond)
	require.NoError(t, other.Close())
}

// Several goroutines give one stream sends, in whatever order they come.
func TestGoroutinesSendOnOneStream(t *testing.T) {
	_, s := device(t)
	run(t, 2, func(ctx context.Context, c *comm.Comm) error {
		const hands, each = 3, 300
		if c.Rank() == 1 {
			got := make([]float64, 2)
			for range each {
				for hand := range hands {
					if _, err := comm.RecvSlice(ctx, c, got, 0, hand); err != nil {
						return err
					}
				}
			}
			return comm.SendSlice(ctx, c, []int64{1}, 0, 9)
		}
		var all sync.WaitGroup
		var errs [hands]error
		for hand := range hands {
			all.Go(func() {
				b := buffered(numbers(2, hand))
				for range each {
					if _, err := comm.SendOn(ctx, c, s, b, 1, hand); err != nil {
						errs[hand] = err
						return
					}
				}
				errs[hand] = b.Close()
			})
		}
		all.Wait()
		_, err := comm.RecvSlice(ctx, c, make([]int64, 1), 1, 9) // the other rank has all of them
		return errors.Join(err, errors.Join(errs[:]...))
	})
}
