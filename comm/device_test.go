package comm_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
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
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

// onDevices runs a test for two ranks with a stream each: on a device whose memory the host sees, and on one whose memory it does not.
func onDevices(t *testing.T, fn func(t *testing.T, streams [2]*hal.Stream, discrete bool)) {
	for ordinal, name := range []string{"unified", "discrete"} {
		t.Run(name, func(t *testing.T) {
			var streams [2]*hal.Stream
			for rank := range streams {
				b := host.New(host.Options{Name: fmt.Sprintf("rank%d", rank), Discrete: 1})
				streams[rank] = fixture.Stream(t, fixture.Device(t, b, ordinal))
			}
			fn(t, streams, ordinal == 1)
		})
	}
}

// onDevice writes v to all elements of a buffer by work of the stream, in place of a kernel.
func onDevice(ctx context.Context, s *hal.Stream, b *buffer.Buffer[float64], v float64) error {
	l, err := b.Acquire(ctx, s, coherence.Overwrite)
	if err != nil {
		return err
	}
	return errors.Join(s.Fill(l.Region(), hal.Pattern64(math.Float64bits(v))), l.Release())
}

// constant are n elements of the same value.
func constant(n int, v float64) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = v
	}
	return s
}

func floats(b []byte) (s []float64) {
	for ; len(b) > 0; b = b[8:] {
		s = append(s, math.Float64frombits(binary.NativeEndian.Uint64(b)))
	}
	return s
}

// A slice that is sent brings its own elements from the device, and one that was received its own elements to it.
func TestOnlyTheSliceMoves(t *testing.T) {
	onDevices(t, func(t *testing.T, streams [2]*hal.Stream, discrete bool) {
		run(t, 2, func(ctx context.Context, c *comm.Comm) error {
			s := streams[c.Rank()]
			b := buffered(make([]float64, 1000))
			defer b.Close()
			if err := onDevice(ctx, s, b, float64(c.Rank()+1)); err != nil {
				return err
			}
			part, err := b.Slice(100, 200)
			if err != nil {
				return err
			}
			before := b.Stats().BytesCopied
			if c.Rank() == 0 {
				err = comm.Send(ctx, c, part, 1, 0)
			} else if _, err = comm.Recv(ctx, c, part, 0, 0); err == nil {
				var l buffer.Lease
				if l, err = b.Acquire(ctx, s, coherence.Read); err == nil {
					err = l.Release()
				}
			}
			if err != nil {
				return err
			}
			want := uint64(0)
			if discrete {
				want = part.Size()
			}
			if moved := b.Stats().BytesCopied - before; moved != want {
				return fmt.Errorf("%d bytes were copied, not %d", moved, want)
			}
			if c.Rank() == 0 {
				return nil
			}
			got := contents(b)
			return errors.Join(same(got[:100], constant(100, 2)), same(got[100:200], constant(100, 1)), same(got[200:], constant(800, 2)))
		})
	})
}

// While a send is under way, the stream may read the elements and not write them. While a receive is, it may do neither.
func TestLeasesExcludeStreams(t *testing.T) {
	onDevices(t, func(t *testing.T, streams [2]*hal.Stream, _ bool) {
		run(t, 2, func(ctx context.Context, c *comm.Comm) error {
			s := streams[c.Rank()]
			b := buffered(numbers(2000, c.Rank()))
			defer b.Close()
			refused := func(mode coherence.Mode) error {
				l, err := b.TryAcquire(s, mode)
				if err == nil {
					return errors.Join(fmt.Errorf("%v was not refused", mode), l.Release())
				}
				if !errors.Is(err, coherence.ErrConflict) {
					return err
				}
				return nil
			}
			other := 1 - c.Rank()
			if c.Rank() == 0 {
				r, err := comm.Isend(ctx, c, b, other, 0)
				if err != nil {
					return err
				}
				l, err := b.TryAcquire(s, coherence.Read)
				if err != nil {
					return fmt.Errorf("a reader during a send: %w", err)
				}
				err = errors.Join(l.Release(), refused(coherence.ReadWrite), refused(coherence.Overwrite), comm.SendSlice(ctx, c, []int8{1}, other, 1))
				_, waited := r.Wait(ctx)
				return errors.Join(err, waited, onDevice(ctx, s, b, 3))
			}
			r, err := comm.Irecv(ctx, c, b, other, 0)
			if err != nil {
				return err
			}
			err = errors.Join(refused(coherence.Read), refused(coherence.ReadWrite))
			if _, e := comm.RecvSlice(ctx, c, make([]int8, 1), other, 1); e != nil {
				return errors.Join(err, e)
			}
			_, waited := r.Wait(ctx)
			return errors.Join(err, waited, same(contents(b), numbers(2000, 0)), onDevice(ctx, s, b, 3))
		}, commtest.EagerLimit(8))
	})
}

// What a stream has still to write is sent, not what was there before.
func TestKernelBeforeSendIsWaitedFor(t *testing.T) {
	onDevices(t, func(t *testing.T, streams [2]*hal.Stream, _ bool) {
		run(t, 2, func(ctx context.Context, c *comm.Comm) error {
			b := buffered(numbers(500, c.Rank()))
			defer b.Close()
			if c.Rank() == 1 {
				r, err := comm.Irecv(ctx, c, b, 0, 0)
				if err != nil {
					return err
				}
				// The other rank's stream is shut until it hears of this one.
				if _, done, err := r.Test(); done || err != nil {
					return fmt.Errorf("received before the kernel ended: %w", err)
				}
				if err := comm.SendSlice(ctx, c, []int8{1}, 0, 1); err != nil {
					return err
				}
				_, err = r.Wait(ctx)
				return errors.Join(err, same(contents(b), constant(500, 7)))
			}
			g, err := streams[0].Gate()
			if err != nil {
				return err
			}
			if err := onDevice(ctx, streams[0], b, 7); err != nil {
				return errors.Join(err, g.Signal())
			}
			soon, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			defer cancel()
			if _, err := comm.Isend(soon, c, b, 1, 0); err == nil {
				return errors.Join(errors.New("sent while the kernel was under way"), g.Signal())
			}
			sent := make(chan error)
			go func() { sent <- comm.Send(ctx, c, b, 1, 0) }()
			_, err = comm.RecvSlice(ctx, c, make([]int8, 1), 1, 1)
			return errors.Join(err, g.Signal(), <-sent)
		})
	})
}

// What a stream has still to read is not replaced by what is received.
func TestKernelBeforeReceiveIsNotOverrun(t *testing.T) {
	onDevices(t, func(t *testing.T, streams [2]*hal.Stream, discrete bool) {
		run(t, 2, func(ctx context.Context, c *comm.Comm) error {
			b := buffered(numbers(500, c.Rank()))
			defer b.Close()
			if c.Rank() == 0 {
				return comm.Send(ctx, c, b, 1, 0)
			}
			s := streams[1]
			copied, err := s.Device().Alloc(hal.KindDevice, b.Size(), 0)
			if err != nil {
				return err
			}
			defer copied.Close()
			if err := b.Prefetch(s); err != nil { // the device has the elements before the gate
				return err
			}
			if err := s.Sync(ctx); err != nil {
				return err
			}
			g, err := s.Gate()
			if err != nil {
				return err
			}
			l, err := b.Acquire(ctx, s, coherence.Read)
			if err == nil {
				err = errors.Join(s.Copy(copied.All(), l.Region()), l.Release())
			}
			if err != nil {
				return errors.Join(err, g.Signal())
			}
			if discrete { // the message has a place of its own
				_, err = comm.Recv(ctx, c, b, 0, 0)
				err = errors.Join(err, g.Signal())
			} else { // it would come where the stream reads
				soon, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
				defer cancel()
				if _, err = comm.Irecv(soon, c, b, 0, 0); err == nil {
					return errors.Join(errors.New("received under work that reads"), g.Signal())
				}
				if err = g.Signal(); err == nil {
					_, err = comm.Recv(ctx, c, b, 0, 0)
				}
			}
			if err != nil {
				return err
			}
			got := make([]byte, b.Size())
			if err := errors.Join(s.CopyOut(got, copied.All()), s.Sync(ctx)); err != nil {
				return err
			}
			return errors.Join(same(floats(got), numbers(500, 1)), same(contents(b), numbers(500, 0)))
		})
	})
}

// counted counts how often an engine is asked once the first millisecond of a wait is over.
type counted struct {
	driver.Engine
	start time.Time
	late  atomic.Int64
}

func (e *counted) Test(reqs []driver.Request, out []driver.Status) (int, error) {
	if time.Since(e.start) > 2*time.Millisecond {
		e.late.Add(1)
	}
	return e.Engine.Test(reqs, out)
}

// A rank that waits sleeps before each question after the first millisecond, so the questions are no more than the sleeps that fit.
func TestWaitingIsCheap(t *testing.T) {
	j := commtest.New(2)
	defer j.Close()
	e := &counted{Engine: j.Engine(0)}
	c := comm.New(e)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	e.start = time.Now()
	_, err := comm.RecvSlice(ctx, c, make([]int64, 1), 1, 0)
	waited := time.Since(e.start)
	require.ErrorIs(t, err, comm.ErrTimeout)
	require.Positive(t, e.late.Load())
	require.LessOrEqual(t, e.late.Load(), int64(waited/(10*time.Microsecond))+1)
	require.NoError(t, c.Close())
}
