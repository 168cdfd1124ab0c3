//go:build cuda && hip && linux

package nccl_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/nccl"
	"github.com/go-halyard/halyard/hal"
)

// during is how long a test waits for what is not going to happen.
const during = 300 * time.Millisecond

// An error that comes up when nobody asks aborts the communicator, and the stream goes on.
func TestAsyncErrorAborts(t *testing.T) {
	t.Setenv("HALYARD_SIM_NCCL_BUG", "async-error")
	each(t, func(t *testing.T, s simulation) {
		require.NoError(t, s.job(t, 2, func(ctx context.Context, r *rank) error {
			b := from(r, []int32{1, 2, 3})
			// It may come up at once, or later.
			if err := nccl.Allreduce(ctx, r.c, r.stream, b, b, comm.Sum); err != nil && !errors.Is(err, comm.ErrEngine) {
				return err
			}
			if err := r.stream.Sync(ctx); err != nil { // stuck if nobody aborts
				return fmt.Errorf("the stream did not go on: %w", err)
			}
			for r.c.Err() == nil && ctx.Err() == nil {
				runtime.Gosched() // the communicator tells nobody of its error
			}
			var e *comm.Error
			if !errors.As(r.c.Err(), &e) || e.Kind != comm.ErrEngine || e.Code != 2 {
				return fmt.Errorf("the communicator's error is %v", r.c.Err())
			}
			if err := nccl.Allreduce(ctx, r.c, r.stream, b, b, comm.Sum); !errors.Is(err, comm.ErrEngine) {
				return fmt.Errorf("a call after the error gives %v", err)
			}
			if err := r.c.Sync(ctx, r.stream); !errors.Is(err, comm.ErrEngine) {
				return fmt.Errorf("Sync after the error gives %v", err)
			}
			return nil
		}))
	})
}

func TestDeadlineAborts(t *testing.T) {
	each(t, func(t *testing.T, s simulation) {
		over := make(chan struct{})
		require.NoError(t, s.job(t, 2, func(ctx context.Context, r *rank) error {
			b := from(r, []float64{1})
			if r.c.Rank() == 1 { // it comes too late, and learns that the other is gone
				<-over
				var err error
				for err == nil { // the first may still find what the other has sent
					if err = nccl.Allreduce(ctx, r.c, r.stream, b, b, comm.Sum); err == nil {
						err = r.c.Sync(ctx, r.stream)
					}
				}
				if !errors.Is(err, comm.ErrRankLost) {
					return fmt.Errorf("the other rank's error is %v", err)
				}
				return nil
			}
			defer close(over)
			if err := nccl.Allreduce(ctx, r.c, r.stream, b, b, comm.Sum); err != nil {
				return err
			}
			short, cancel := context.WithTimeout(ctx, during)
			defer cancel()
			if err := r.c.Sync(short, r.stream); !errors.Is(err, comm.ErrTimeout) {
				return fmt.Errorf("Sync gives %v", err)
			}
			return r.stream.Sync(ctx)
		}))
	})
}

// A call whose work does not get onto the stream ends with the context, and its leases with it.
func TestDeadlineOfACall(t *testing.T) {
	t.Setenv("HALYARD_SIM_NCCL_BUG", "never-launched")
	each(t, func(t *testing.T, s simulation) {
		require.NoError(t, s.job(t, 2, func(ctx context.Context, r *rank) error {
			b := from(r, []float64{1})
			short, cancel := context.WithTimeout(ctx, during)
			defer cancel()
			var e *comm.Error
			if err := nccl.Allreduce(short, r.c, r.stream, b, b, comm.Sum); !errors.As(err, &e) || e.Kind != comm.ErrTimeout || e.Bytes != 8 {
				return fmt.Errorf("the call gives %v", err)
			}
			l, err := b.TryAcquire(r.stream, coherence.Overwrite)
			if err != nil {
				return fmt.Errorf("a lease is left: %w", err)
			}
			return l.Release()
		}))
	})
}

// While the library answers that the work is not on the stream yet, the lease is held: whoever writes to the buffer next would come before it.
func TestLeasesAreHeldUntilTheWorkIsOnTheStream(t *testing.T) {
	t.Setenv("HALYARD_SIM_NCCL_LATE", "30")
	each(t, func(t *testing.T, s simulation) {
		require.NoError(t, s.job(t, 2, func(ctx context.Context, r *rank) error {
			me := int64(r.c.Rank() + 1)
			b, sum := from(r, []int64{me, me}), empty[int64](r, 2)
			if err := nccl.Allreduce(ctx, r.c, r.stream, b, sum, comm.Sum); err != nil {
				return err
			}
			// Through another stream: only the event at the end of the lease orders it behind the call.
			other, err := r.dev.NewStream()
			if err != nil {
				return err
			}
			defer other.Close()
			l, err := b.Acquire(ctx, other, coherence.Overwrite)
			if err != nil {
				return err
			}
			if err := errors.Join(other.Fill(l.Region(), hal.Pattern64(99)), l.Release(), other.Sync(ctx)); err != nil {
				return err
			}
			if err := holds(ctx, r, "sum", sum, func(int) int64 { return 3 }); err != nil {
				return err
			}
			return holds(ctx, r, "what came later", b, func(int) int64 { return 99 })
		}))
	})
}

func TestRanksThatDisagreeAreTold(t *testing.T) {
	each(t, func(t *testing.T, s simulation) {
		for name, call := range map[string]func(ctx context.Context, r *rank) error{
			"lengths": func(ctx context.Context, r *rank) error {
				b := from(r, make([]int32, 3+r.c.Rank()))
				return nccl.Allreduce(ctx, r.c, r.stream, b, b, comm.Sum)
			},
			"operations": func(ctx context.Context, r *rank) error {
				b := from(r, make([]int32, 3))
				if r.c.Rank() == 0 {
					return nccl.Bcast(ctx, r.c, r.stream, b, 0)
				}
				return nccl.Allreduce(ctx, r.c, r.stream, b, b, comm.Sum)
			},
			"messages": func(ctx context.Context, r *rank) error {
				b := from(r, make([]int32, 3+r.c.Rank()))
				if r.c.Rank() == 0 {
					return nccl.Group(ctx, r.c, r.stream, nccl.Send(b, 1))
				}
				return nccl.Group(ctx, r.c, r.stream, nccl.Recv(b, 0))
			},
		} {
			t.Run(name, func(t *testing.T) {
				require.NoError(t, s.job(t, 2, func(ctx context.Context, r *rank) error {
					err := call(ctx, r)
					if err == nil {
						err = r.c.Sync(ctx, r.stream)
					}
					if !errors.Is(err, comm.ErrMismatch) {
						return fmt.Errorf("the error is %w", err)
					}
					return nil
				}))
			})
		}
	})
}

func TestALostRankIsNoticed(t *testing.T) {
	each(t, func(t *testing.T, s simulation) {
		require.NoError(t, s.job(t, 4, func(ctx context.Context, r *rank) error {
			if r.c.Rank() == 2 {
				r.c.Abort()
				return nil
			}
			b := from(r, make([]int32, 3))
			err := nccl.Allreduce(ctx, r.c, r.stream, b, b, comm.Sum)
			if err == nil {
				err = r.c.Sync(ctx, r.stream)
			}
			if !errors.Is(err, comm.ErrRankLost) {
				return fmt.Errorf("the error is %w", err)
			}
			return nil
		}))
	})
}

// Bad arguments are refused, change nothing, and leave the communicator as it was.
func TestArgumentsAreChecked(t *testing.T) {
	each(t, func(t *testing.T, s simulation) {
		require.NoError(t, s.job(t, 2, func(ctx context.Context, r *rank) error {
			c, st := r.c, r.stream
			b, short, long := from(r, []int32{1, 2}), from(r, []int32{1}), from(r, []int32{1, 2, 3, 4})
			words := from(r, []int16{1, 2})
			var none *nccl.Comm
			host, err := hal.OpenAll(ctx)
			if err != nil {
				return err
			}
			defer func() {
				for _, d := range host {
					_ = d.Close()
				}
			}()
			var foreign *hal.Stream
			for _, d := range host {
				if !d.Same(r.dev) {
					if foreign, err = d.NewStream(); err != nil {
						return err
					}
					defer foreign.Close()
					break
				}
			}
			over, cancel := context.WithCancel(ctx)
			cancel()
			for i, row := range []struct {
				err  error
				want error
			}{
				{nccl.Allreduce(ctx, none, st, b, b, comm.Sum), hal.ErrInvalidArgument},
				{nccl.Allreduce(ctx, c, nil, b, b, comm.Sum), hal.ErrInvalidArgument},
				{nccl.Allreduce(ctx, c, foreign, b, b, comm.Sum), hal.ErrInvalidArgument},
				{nccl.Allreduce(ctx, c, st, b, nil, comm.Sum), hal.ErrInvalidArgument},
				{nccl.Allreduce(ctx, c, st, nil, b, comm.Sum), hal.ErrInvalidArgument},
				{nccl.Allreduce(ctx, c, st, b, short, comm.Sum), hal.ErrInvalidArgument},
				{nccl.Allreduce(ctx, c, st, part(long, 0, 2), part(long, 1, 3), comm.Sum), hal.ErrInvalidArgument},
				{nccl.Allreduce(ctx, c, st, b, b, comm.And), hal.ErrUnsupported},
				{nccl.Allreduce(ctx, c, st, b, b, comm.Op(99)), hal.ErrInvalidArgument},
				{nccl.Allreduce(ctx, c, st, words, words, comm.Sum), hal.ErrUnsupported},
				{nccl.Allreduce(ctx, c, st, from(r, []complex64{1}), from(r, []complex64{1}), comm.Prod), hal.ErrUnsupported},
				{nccl.Allreduce(ctx, c, st, from(r, []complex64{1}), from(r, []complex64{1}), comm.Max), hal.ErrInvalidArgument},
				{nccl.Allreduce(over, c, st, b, b, comm.Sum), comm.ErrTimeout},
				{nccl.Bcast(ctx, c, st, b, 2), hal.ErrInvalidArgument},
				{nccl.Bcast(ctx, c, st, b, -1), hal.ErrInvalidArgument},
				{nccl.Bcast[int32](ctx, c, st, nil, 0), hal.ErrInvalidArgument},
				{nccl.Reduce(ctx, c, st, b, b, comm.Sum, 2), hal.ErrInvalidArgument},
				{nccl.Reduce(ctx, c, st, b, nil, comm.Sum, c.Rank()), hal.ErrInvalidArgument},
				{nccl.Allgather(ctx, c, st, b, b), hal.ErrInvalidArgument},
				{nccl.Allgather(ctx, c, st, part(long, 2-2*c.Rank(), 4-2*c.Rank()), long), hal.ErrInvalidArgument},
				{nccl.ReduceScatter(ctx, c, st, b, b, comm.Sum), hal.ErrInvalidArgument},
				{nccl.ReduceScatter(ctx, c, st, short, b, comm.Sum), hal.ErrInvalidArgument},
				{nccl.Group(ctx, c, st, nccl.Send(b, 2)), hal.ErrInvalidArgument},
				{nccl.Group(ctx, c, st, nccl.Recv(b, -1)), hal.ErrInvalidArgument},
				{nccl.Group(ctx, c, st, nccl.Message{}), hal.ErrInvalidArgument},
				{nccl.Group(ctx, c, st, nccl.Send[int32](nil, 1)), hal.ErrInvalidArgument},
				{nccl.Group(ctx, c, st, nccl.Send(b, 1), nccl.Recv(b, 1)), hal.ErrInvalidArgument},
				{nccl.Group(ctx, c, st, nccl.Send(b, 1), nccl.Recv(b, 7)), hal.ErrInvalidArgument},
				{nccl.Group(ctx, c, st), nil},
				{c.Sync(ctx, nil), hal.ErrInvalidArgument},
				{none.Close(ctx), hal.ErrInvalidArgument},
			} {
				if !errors.Is(row.err, row.want) {
					return fmt.Errorf("row %d: %v, not %v", i, row.err, row.want)
				}
			}
			if v := b.Version(nil); v < 0 {
				return fmt.Errorf("a refused call has made the host's elements stale: version %d", v)
			}
			return everything(ctx, r)
		}))
	})
}

func TestCloseOnce(t *testing.T) {
	each(t, func(t *testing.T, s simulation) {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		require.NoError(t, s.job(t, 2, func(ctx context.Context, r *rank) error {
			if err := everything(ctx, r); err != nil {
				return err
			}
			return nil
		}))
		dev, err := hal.Open(ctx, s.backend+":0")
		require.NoError(t, err)
		defer dev.Close()
		id, err := nccl.NewID(dev)
		require.NoError(t, err)
		c, err := nccl.Join(ctx, id, 0, 1, dev)
		require.NoError(t, err)
		require.Equal(t, []any{0, 1}, []any{c.Rank(), c.Size()})
		require.NoError(t, c.Close(ctx))
		require.ErrorIs(t, c.Close(ctx), hal.ErrClosed)
		stream, err := dev.NewStream()
		require.NoError(t, err)
		defer stream.Close()
		require.ErrorIs(t, c.Sync(ctx, stream), hal.ErrClosed)
		require.NoError(t, c.Err())
		c.Abort()
	})
}

// Close waits for work on streams, and a context ends that.
func TestCloseEndsWithItsContext(t *testing.T) {
	each(t, func(t *testing.T, s simulation) {
		require.NoError(t, s.job(t, 1, func(ctx context.Context, r *rank) error {
			gate, err := r.stream.Gate()
			if err != nil {
				return err
			}
			b := from(r, []int32{1})
			if err := nccl.Allreduce(ctx, r.c, r.stream, b, b, comm.Sum); err != nil {
				return err
			}
			short, cancel := context.WithTimeout(ctx, during)
			defer cancel()
			dev := r.dev
			id, err := nccl.NewID(dev)
			if err != nil {
				return err
			}
			c, err := nccl.Join(ctx, id, 0, 1, dev)
			if err != nil {
				return err
			}
			if err := nccl.Allreduce(ctx, c, r.stream, b, b, comm.Sum); err != nil {
				return err
			}
			if err := c.Close(short); !errors.Is(err, comm.ErrTimeout) {
				return fmt.Errorf("Close gives %v", err)
			}
			return errors.Join(gate.Signal(), r.c.Sync(ctx, r.stream))
		}))
	})
}
