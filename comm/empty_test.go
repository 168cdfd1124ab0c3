package comm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm"
)

// Messages and collective operations of no elements are like any other.
func TestNoElements(t *testing.T) {
	type B = *buffer.Buffer[int64]
	calls := map[string]func(ctx context.Context, c *comm.Comm, a, b B) error{
		"Sendrecv": func(ctx context.Context, c *comm.Comm, a, b B) error {
			got, err := comm.Sendrecv(ctx, c, a, (c.Rank()+1)%3, 1, b, (c.Rank()+2)%3, 1)
			if err == nil && got.Count != 0 {
				err = fmt.Errorf("%+v", got)
			}
			return err
		},
		"Bcast":     func(ctx context.Context, c *comm.Comm, a, _ B) error { return comm.Bcast(ctx, c, a, 2) },
		"Reduce":    func(ctx context.Context, c *comm.Comm, a, b B) error { return comm.Reduce(ctx, c, a, b, comm.Sum, 1) },
		"Allreduce": func(ctx context.Context, c *comm.Comm, a, b B) error { return comm.Allreduce(ctx, c, a, b, comm.Max) },
		"Gather":    func(ctx context.Context, c *comm.Comm, a, b B) error { return comm.Gather(ctx, c, a, b, 0) },
		"Scatter":   func(ctx context.Context, c *comm.Comm, a, b B) error { return comm.Scatter(ctx, c, a, b, 0) },
		"Allgather": func(ctx context.Context, c *comm.Comm, a, b B) error { return comm.Allgather(ctx, c, a, b) },
		"Alltoall":  func(ctx context.Context, c *comm.Comm, a, b B) error { return comm.Alltoall(ctx, c, a, b) },
	}
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			for name, call := range calls {
				run(t, 3, func(ctx context.Context, c *comm.Comm) error {
					a, err := buffer.New[int64](0)
					if err != nil {
						return err
					}
					b, err := comm.NewBuffer[int64](c, 0)
					if err != nil {
						return err
					}
					err = errors.Join(call(ctx, c, a, b), a.Close(), b.Close())
					if err != nil {
						err = fmt.Errorf("%s: %w", name, err)
					}
					return err
				}, opts...)
			}
		})
	}
}
