package nccl_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/nccl"
	"github.com/go-halyard/halyard/hal"
)

// mean is what each process of a job does with its own sums: afterwards all have the means over the job. id is what
// [nccl.NewID] returned on one of them, which sent it to the others.
func mean(ctx context.Context, id nccl.ID, rank, size int, sums *buffer.Buffer[float32]) (err error) {
	dev, err := hal.Default(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	stream, err := dev.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	c, err := nccl.Join(ctx, id, rank, size, dev)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	if err := nccl.Allreduce(ctx, c, stream, sums, sums, comm.Sum); err != nil {
		return err
	}
	if err := c.Sync(ctx, stream); err != nil { // before what came is believed
		return err
	}
	return sums.Update(ctx, func(s []float32) error {
		for i := range s {
			s[i] /= float32(size)
		}
		return nil
	})
}

// NCCL is for devices of NVIDIA and AMD. A program that finds none is told so, and can go another way.
func ExampleJoin() {
	_ = mean
	_, err := nccl.Describe("host")
	fmt.Println(errors.Is(err, hal.ErrUnsupported))
	fmt.Println(err)
	// Output:
	// true
	// Describe: not supported: NCCL is for devices of cuda and hip, not of host
}
