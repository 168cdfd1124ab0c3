package comm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// With HALYARD_DEBUG=comm a message whose elements have another type is refused, by every call that receives.
func TestTypesOfMessagesAreCompared(t *testing.T) {
	t.Setenv("HALYARD_DEBUG", "comm")
	for name, row := range map[string]struct {
		send, recv func(ctx context.Context, c *comm.Comm) error
		good       bool
	}{
		"slices": {send: func(ctx context.Context, c *comm.Comm) error { return comm.SendSlice(ctx, c, []float64{1}, 1, 0) },
			recv: func(ctx context.Context, c *comm.Comm) error {
				_, err := comm.RecvSlice(ctx, c, make([]int32, 2), 0, 0)
				return err
			}},
		"empty": {good: true, send: func(ctx context.Context, c *comm.Comm) error { return comm.SendSlice(ctx, c, []int32{}, 1, 0) },
			recv: func(ctx context.Context, c *comm.Comm) error {
				st, err := comm.RecvSlice(ctx, c, make([]int32, 2), 0, 0)
				if err == nil && st.Count != 0 {
					return fmt.Errorf("%+v", st)
				}
				return err
			}},
		"buffers": {send: func(ctx context.Context, c *comm.Comm) error { return sent(ctx, c, []uint32{1, 2}) },
			recv: func(ctx context.Context, c *comm.Comm) error { return got(ctx, c, []int32{1, 2}) }},
		"alike": {good: true, send: func(ctx context.Context, c *comm.Comm) error { return sent(ctx, c, []int32{1, 2}) },
			recv: func(ctx context.Context, c *comm.Comm) error { return got(ctx, c, []int32{1, 2}) }},
	} {
		t.Run(name, func(t *testing.T) {
			_ = commtest.Execute(2, func(e driver.Engine) error {
				c := comm.New(e)
				if c.Rank() == 0 {
					require.NoError(t, row.send(t.Context(), c))
				} else if err := row.recv(t.Context(), c); row.good != (err == nil) || err != nil && !errors.Is(err, comm.ErrMismatch) {
					t.Error(err)
				}
				return c.Close()
			})
		})
	}
}

func sent[T buffer.Number](ctx context.Context, c *comm.Comm, v []T) error {
	b, err := comm.NewBuffer[T](c, len(v))
	if err != nil {
		return err
	}
	defer b.Close()
	if err := b.CopyIn(ctx, v); err != nil {
		return err
	}
	return comm.Send(ctx, c, b, 1, 0)
}

func got[T buffer.Number](ctx context.Context, c *comm.Comm, want []T) error {
	b, err := comm.NewBuffer[T](c, len(want))
	if err != nil {
		return err
	}
	defer b.Close()
	if _, err := comm.Recv(ctx, c, b, 0, 0); err != nil {
		return err
	}
	return b.View(ctx, func(v []T) error {
		if !slices.Equal(v, want) {
			return fmt.Errorf("%v", v)
		}
		return nil
	})
}

// With HALYARD_DEBUG=comm all ranks are told what they do not agree on, nothing has changed, and they go on.
func TestRanksThatDoNotAgreeAreTold(t *testing.T) {
	t.Setenv("HALYARD_DEBUG", "comm")
	counts := func(n ...int) []int { return n }
	type call func(ctx context.Context, c *comm.Comm, send, recv *buffer.Buffer[int64]) error
	bcast := func(root int) call {
		return func(ctx context.Context, c *comm.Comm, _, b *buffer.Buffer[int64]) error {
			return comm.Bcast(ctx, c, b, root)
		}
	}
	reduce := func(op comm.Op) call {
		return func(ctx context.Context, c *comm.Comm, a, b *buffer.Buffer[int64]) error {
			return comm.Allreduce(ctx, c, a, b, op)
		}
	}
	part := func(n int, fn call) call { // of the first n elements
		return func(ctx context.Context, c *comm.Comm, a, b *buffer.Buffer[int64]) error {
			some, err := a.Slice(0, n)
			if err != nil {
				return err
			}
			more, err := b.Slice(0, n)
			if err != nil {
				return err
			}
			return fn(ctx, c, some, more)
		}
	}
	gatherV := func(own int, list []int) call {
		return func(ctx context.Context, c *comm.Comm, a, b *buffer.Buffer[int64]) error {
			some, err := a.Slice(0, own)
			if err != nil {
				return err
			}
			if c.Rank() == 0 {
				if b, err = b.Slice(0, list[0]+list[1]+list[2]); err != nil {
					return err
				}
			}
			return comm.GatherV(ctx, c, some, b, list, 0)
		}
	}
	for _, x := range []struct {
		name   string
		calls  [3]call
		want   string // of the error
		nobody bool   // the error need not be the same everywhere
	}{
		{"calls", [3]call{bcast(0), bcast(0), reduce(comm.Sum)}, "rank 0 calls Bcast of 48 bytes with root 0, and rank 2 Allreduce by Sum of 6 int64", false},
		{"roots", [3]call{bcast(0), bcast(1), bcast(0)}, "rank 0 calls Bcast of 48 bytes with root 0, and rank 1 Bcast of 48 bytes with root 1", false},
		{"lengths", [3]call{bcast(0), bcast(0), part(5, bcast(0))}, "and rank 2 Bcast of 40 bytes", false},
		{"operations", [3]call{reduce(comm.Min), reduce(comm.Max), reduce(comm.Max)}, "rank 0 calls Allreduce by Min of 6 int64, and rank 1 Allreduce by Max", false},
		{"types", [3]call{reduce(comm.Sum), func(ctx context.Context, c *comm.Comm, a, _ *buffer.Buffer[int64]) error {
			return comm.AllreduceSlice(ctx, c, make([]float64, 6), comm.Sum)
		}, reduce(comm.Sum)}, "and rank 1 Allreduce by Sum of 6 float64", false},
		{"barrier", [3]call{bcast(0), bcast(0), func(ctx context.Context, c *comm.Comm, _, _ *buffer.Buffer[int64]) error { return c.Barrier(ctx) }}, "and rank 2 Barrier", false},
		{"parts", [3]call{gatherV(1, counts(1, 3, 2)), gatherV(2, counts(1, 2, 2)), gatherV(2, counts(1, 2, 2))}, "", true},
	} {
		t.Run(x.name, func(t *testing.T) {
			run(t, 3, func(ctx context.Context, c *comm.Comm) error {
				send, recv := ints(1, 2, 3, 4, 5, 6), ints(7, 7, 7, 7, 7, 7)
				err := x.calls[c.Rank()](ctx, c, send, recv)
				require.ErrorIs(t, err, comm.ErrMismatch)
				if x.nobody {
					want := []string{"rank 1 sends 16 bytes to rank 0, which expects 24", "ranks 1 and 0 do not agree on the length of a part"}[min(c.Rank(), 1)]
					require.ErrorContains(t, err, want)
				} else {
					require.ErrorContains(t, err, x.want)
				}
				require.NoError(t, c.Err())
				require.NoError(t, recv.View(ctx, func(s []int64) error {
					require.Equal(t, []int64{7, 7, 7, 7, 7, 7}, s)
					return nil
				}))
				require.NoError(t, comm.Allreduce(ctx, c, send, recv, comm.Sum))
				require.NoError(t, recv.View(ctx, func(s []int64) error {
					require.Equal(t, []int64{3, 6, 9, 12, 15, 18}, s)
					return nil
				}))
				d, err := c.Dup(ctx)
				require.NoError(t, err)
				require.ErrorIs(t, x.calls[c.Rank()](ctx, d, send, recv), comm.ErrMismatch)
				require.NoError(t, d.Close())
				require.NoError(t, send.Close())
				return recv.Close()
			})
		})
	}
}

// A rank that does not come is waited for until the context ends.
func TestAgreementEndsWithItsContext(t *testing.T) {
	t.Setenv("HALYARD_DEBUG", "comm")
	j := commtest.New(2)
	defer j.Close()
	c := comm.New(j.Engine(0))
	b := ints(1, 2)
	defer b.Close()
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, comm.Bcast(short, c, b, 0), comm.ErrTimeout)
	require.ErrorIs(t, comm.Bcast(t.Context(), c, b, 0), comm.ErrTimeout, "the next one")
	require.NoError(t, b.View(t.Context(), func(s []int64) error {
		require.Equal(t, []int64{1, 2}, s)
		return nil
	}))
}

// What is right is not refused: the tests of collective operations once more.
func TestRanksThatAgreeGoOn(t *testing.T) {
	t.Setenv("HALYARD_DEBUG", "comm")
	t.Run("buffers", TestCollectiveOperationsOnBuffers)
}
