//go:build cuda && linux

package parts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/nccl"
	"github.com/go-halyard/halyard/hal"
)

// Two ranks on the first device, which NCCL allows with NCCL_MULTI_RANK_GPU_ENABLE=1, add, broadcast, gather and exchange elements.
func TestTwoRanksOnOneDevice(t *testing.T) {
	d := cudaDevices(t)[0]
	t.Setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1")
	info, err := nccl.Describe("cuda")
	if err != nil {
		t.Skipf("there is no NCCL: %v", err)
	}
	t.Logf("%s %s, %s, two ranks on %s", info.Name, info.Version, info.Path, described(d))
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	dev, err := hal.Open(ctx, d.Name())
	require.NoError(t, err)
	id, err := nccl.NewID(dev)
	require.NoError(t, err)
	var errs [2]error
	var both sync.WaitGroup
	for rank := range errs {
		both.Go(func() { errs[rank] = take(ctx, dev, id, rank) })
	}
	both.Wait()
	err = errors.Join(errs[:]...)
	if errors.Is(err, comm.ErrMismatch) && strings.Contains(err.Error(), "uplicate GPU") {
		t.Skipf("%s %s does not take two ranks on one device: %v", info.Name, info.Version, err)
	}
	require.NoError(t, err)
	require.NoError(t, dev.Close())
}

const elements = 100_000

// take is what one of two ranks does.
func take(ctx context.Context, dev *hal.Device, id nccl.ID, rank int) (err error) {
	stream, err := dev.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	c, err := nccl.Join(ctx, id, rank, 2, dev)
	if err != nil {
		return err
	}
	mine := make([]int64, elements)
	for i := range mine {
		mine[i] = number(rank, i)
	}
	send, e1 := buffer.From(mine)
	one, e2 := buffer.New[int64](elements)
	two, e3 := buffer.New[int64](2 * elements)
	defer func() {
		if err != nil {
			c.Abort()
		}
		end, cancel := context.WithTimeout(context.Background(), 10*time.Second) // an aborted communicator's work has to leave the stream
		defer cancel()
		err = errors.Join(err, c.Close(end), stream.Sync(end), hal.CloseAll(send, one, two))
	}()
	if err := errors.Join(e1, e2, e3); err != nil {
		return err
	}
	other := 1 - rank
	for _, step := range []struct {
		name string
		do   func() error
		got  *buffer.Buffer[int64]
		want func(i int) int64
	}{
		{"all-reduce", func() error { return nccl.Allreduce(ctx, c, stream, send, one, comm.Sum) }, one, func(i int) int64 { return number(0, i) + number(1, i) }},
		{"all-gather", func() error { return nccl.Allgather(ctx, c, stream, send, two) }, two, func(i int) int64 { return number(i/elements, i%elements) }},
		{"exchange", func() error {
			return nccl.Group(ctx, c, stream, nccl.Send(send, other), nccl.Recv(one, other))
		}, one, func(i int) int64 { return number(other, i) }},
		{"broadcast", func() error { return nccl.Bcast(ctx, c, stream, send, 1) }, send, func(i int) int64 { return number(1, i) }},
	} {
		if err := errors.Join(step.do(), c.Sync(ctx, stream)); err != nil {
			return fmt.Errorf("rank %d: %s: %w", rank, step.name, err)
		}
		err := step.got.View(ctx, func(s []int64) error {
			for i, v := range s {
				if v != step.want(i) {
					return fmt.Errorf("element %d is %d, and should be %d", i, v, step.want(i))
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("rank %d: %s: %w", rank, step.name, err)
		}
	}
	return nil
}

// number is an element of a rank.
func number(rank, i int) int64 { return int64(i)*int64(rank*2+1) + int64(rank)<<40 }
