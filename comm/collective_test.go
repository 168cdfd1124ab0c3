package comm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/hal"
)

// ints is a buffer of the values, nil for none.
func ints(values ...int64) *buffer.Buffer[int64] {
	if values == nil {
		return nil
	}
	b, err := buffer.From(values)
	if err != nil {
		panic(err)
	}
	return b
}

// What collective operations on the host leave.
func TestCollectiveOperationsOnBuffers(t *testing.T) {
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			run(t, 3, func(ctx context.Context, c *comm.Comm) error {
				return collectiveOperations(ctx, c, func(*buffer.Buffer[int64]) error { return nil })
			}, opts...)
		})
	}
}

// What they leave if each rank has some of the buffers, or all, on a device.
func TestCollectiveOperationsOnDevices(t *testing.T) {
	for name, opts := range modes {
		for what, ranks := range map[string][]int{"all": {4, 4, 4}, "one rank": {0, 4, 0}, "some buffers": {1, 2, 3}} { // of 4 buffers of each rank
			t.Run(name+" "+what, func(t *testing.T) {
				streams := make([]*hal.Stream, len(ranks))
				for i := range streams {
					_, streams[i] = device(t)
				}
				run(t, len(ranks), func(ctx context.Context, c *comm.Comm) error {
					n := 0
					return collectiveOperations(ctx, c, func(b *buffer.Buffer[int64]) error {
						if n++; n%4 >= ranks[c.Rank()] {
							return nil
						}
						l, err := b.Acquire(ctx, streams[c.Rank()], coherence.ReadWrite)
						if err != nil {
							return err
						}
						return l.Release()
					})
				}, opts...)
			})
		}
	}
}

// collectiveOperations are those of three ranks, with r as rank: what each leaves, and that it gives all leases back. Each buffer is given to place
// before it is used.
func collectiveOperations(ctx context.Context, c *comm.Comm, place func(b *buffer.Buffer[int64]) error) error {
	type row struct {
		name       string
		send, recv []int64
		call       func(ctx context.Context, c *comm.Comm, send, recv *buffer.Buffer[int64]) error
		want       []int64 // nil: recv is as it was
	}
	k, r := c.Rank(), int64(c.Rank())
	at := func(rank int, want ...int64) []int64 {
		if k == rank {
			return want
		}
		return nil
	}
	for _, x := range []row{
		{"Bcast", nil, []int64{r, r + 5}, func(ctx context.Context, c *comm.Comm, _, b *buffer.Buffer[int64]) error {
			return comm.Bcast(ctx, c, b, 2)
		}, []int64{2, 7}},
		{"Reduce", []int64{r, -r}, []int64{9, 9}, func(ctx context.Context, c *comm.Comm, a, b *buffer.Buffer[int64]) error {
			return comm.Reduce(ctx, c, a, b, comm.Min, 1)
		}, at(1, 0, -2)},
		{"Allreduce", []int64{r, 1}, []int64{9, 9}, func(ctx context.Context, c *comm.Comm, a, b *buffer.Buffer[int64]) error {
			return comm.Allreduce(ctx, c, a, b, comm.Sum)
		}, []int64{3, 3}},
		{"Allreduce in place", nil, []int64{r, 1}, func(ctx context.Context, c *comm.Comm, _, b *buffer.Buffer[int64]) error {
			return comm.Allreduce(ctx, c, b, b, comm.Sum)
		}, []int64{3, 3}},
		{"Iallreduce", []int64{r, 1}, []int64{9, 9}, func(ctx context.Context, c *comm.Comm, a, b *buffer.Buffer[int64]) error {
			q, err := comm.Iallreduce(ctx, c, a, b, comm.Sum)
			if err != nil {
				return err
			}
			if err := a.Close(); !errors.Is(err, coherence.ErrConflict) {
				return fmt.Errorf("a buffer that an operation under way reads is closed: %w", err)
			}
			_, err = q.Wait(ctx)
			return err
		}, []int64{3, 3}},
		{"Gatherv", []int64{r, -r, 7}[:r+1], []int64{9, 9, 9, 9, 9, 9}, func(ctx context.Context, c *comm.Comm, a, b *buffer.Buffer[int64]) error {
			return comm.Gatherv(ctx, c, a, b, []int{1, 2, 3}, 2)
		}, at(2, 0, 1, -1, 2, -2, 7)},
		{"Scatterv", []int64{r, r + 1, r + 2}, []int64{9, 9}[:2-k], func(ctx context.Context, c *comm.Comm, a, b *buffer.Buffer[int64]) error {
			return comm.Scatterv(ctx, c, a, []int{2, 1, 0}, b, 1)
		}, [][]int64{{1, 2}, {3}, {}}[k]},
		{"Alltoallv", [][]int64{{}, {10}, {20, 21}}[k], [][]int64{{9}, {9, 9}, {}}[k], func(ctx context.Context, c *comm.Comm, a, b *buffer.Buffer[int64]) error {
			to := [][]int{{0, 0, 0}, {0, 1, 0}, {1, 1, 0}}
			from := make([]int, 3)
			for i := range from {
				from[i] = to[i][k]
			}
			return comm.Alltoallv(ctx, c, a, to[k], b, from)
		}, [][]int64{{20}, {10, 21}, {}}[k]},
		{"Gather", []int64{r, -r}, []int64{9, 9, 9, 9, 9, 9}, func(ctx context.Context, c *comm.Comm, a, b *buffer.Buffer[int64]) error {
			return comm.Gather(ctx, c, a, b, 2)
		}, at(2, 0, 0, 1, -1, 2, -2)},
		{"Scatter", []int64{r, r + 1, r + 2}, []int64{9}, func(ctx context.Context, c *comm.Comm, a, b *buffer.Buffer[int64]) error {
			return comm.Scatter(ctx, c, a, b, 1)
		}, []int64{1 + r}},
		{"Allgather", []int64{r}, []int64{9, 9, 9}, func(ctx context.Context, c *comm.Comm, a, b *buffer.Buffer[int64]) error {
			return comm.Allgather(ctx, c, a, b)
		}, []int64{0, 1, 2}},
		{"Alltoall", []int64{10 * r, 10*r + 1, 10*r + 2}, []int64{9, 9, 9}, func(ctx context.Context, c *comm.Comm, a, b *buffer.Buffer[int64]) error {
			return comm.Alltoall(ctx, c, a, b)
		}, []int64{r, 10 + r, 20 + r}},
	} {
		a, b := ints(x.send...), ints(x.recv...)
		for _, b := range []*buffer.Buffer[int64]{a, b} {
			if b == nil {
				continue
			}
			if err := place(b); err != nil {
				return err
			}
		}
		if err := x.call(ctx, c, a, b); err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
		want := x.want
		if want == nil {
			want = x.recv
		}
		if b == nil {
			b, x.recv = ints(1), nil
			if want = []int64{1}; len(x.want) > 0 {
				return fmt.Errorf("%s: no buffer for %v", x.name, x.want)
			}
		}
		if a == nil {
			a = ints(1)
		}
		if err := same(contents(b), want); err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
		if err := errors.Join(a.Close(), b.Close()); err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
	}
	sum := []float32{1, float32(k)}
	if err := comm.AllreduceSlice(ctx, c, sum, comm.Max); err != nil {
		return err
	}
	if err := comm.BcastSlice(ctx, c, sum[:1], 1); err != nil {
		return err
	}
	return same(sum, []float32{1, 2})
}

func TestCollectiveArgumentsAreRefused(t *testing.T) {
	j := commtest.New(2)
	defer j.Close()
	ctx, c := t.Context(), comm.New(j.Engine(0))
	two, three := ints(1, 2), ints(1, 2, 3)
	for name, err := range map[string]error{
		"root":                comm.Bcast(ctx, c, two, 2),
		"nil":                 comm.Bcast[int8](ctx, c, nil, 0),
		"nil communicator":    comm.Bcast(ctx, nil, two, 0),
		"lengths":             comm.Allreduce(ctx, c, two, three, comm.Sum),
		"op":                  comm.Allreduce(ctx, c, two, two, comm.Op(99)),
		"one buffer for both": comm.Alltoall(ctx, c, two, two),
		"share":               comm.Alltoall(ctx, c, three, ints(1, 2, 3)),
		"parts":               comm.Gatherv(ctx, c, two, three, []int{2}, 0),
		"parts too short":     comm.Gatherv(ctx, c, two, three, []int{2, 0}, 0),
		"parts too long":      comm.Scatterv(ctx, c, three, []int{2, 2}, two, 0),
		"negative part":       comm.Alltoallv(ctx, c, three, []int{4, -1}, two, []int{1, 1}),
		"own part":            comm.Alltoallv(ctx, c, three, []int{2, 1}, two, []int{1, 1}),
		"mine":                comm.Scatterv(ctx, c, three, []int{1, 2}, two, 0),
		"slice":               comm.AllreduceSlice(ctx, c, []float32{1}, comm.Xor),
		"slice's root":        comm.BcastSlice(ctx, c, []float32{1}, -1),
	} {
		require.ErrorIs(t, err, hal.ErrInvalidArgument, name)
	}
	require.NoError(t, c.Err())
	require.NoError(t, c.Close())
	require.Equal(t, []int64{1, 2}, contents(two))
}
