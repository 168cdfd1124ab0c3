package comm

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// SendSlice is [Send] for values that are not in a buffer. It copies them before it waits.
func SendSlice[T buffer.Number](ctx context.Context, c *Comm, data []T, dest, tag int) error {
	r, err := sending(ctx, "SendSlice", c, false, dest, tag, (*operation).sendNow, func(r *operation) error {
		return takeSlice(r, 0, data, coherence.Read)
	})
	if err != nil {
		return err
	}
	_, err = r.finally(ctx)
	return err
}

// RecvSlice is [Recv] for values that are not in a buffer. If the message is shorter than data, the rest of data is unchanged. After an
// error all of data is unchanged.
func RecvSlice[T buffer.Number](ctx context.Context, c *Comm, data []T, source, tag int) (Status, error) {
	r, err := receiving(ctx, "RecvSlice", c, false, source, tag, size[T](), (*operation).receiveNow, func(r *operation) error {
		return takeSlice(r, 1, data, coherence.Overwrite)
	})
	if err != nil {
		return Status{}, err
	}
	return r.finally(ctx)
}

// AllreduceSlice combines data of all ranks, element by element, and puts the result into data of every rank. After an error data is
// unchanged.
func AllreduceSlice[T buffer.Number](ctx context.Context, c *Comm, data []T, op Op) error {
	const name = "AllreduceSlice"
	a := driver.Collective{Call: driver.Allreduce, Type: driver.TypeFor[T](), Op: op, Count: uint64(len(data))}
	if !op.Takes(a.Type) {
		return driver.Errorf(name, driver.ErrInvalidArgument, "%v is not defined for %v", op, a.Type)
	}
	return collectiveSlice(ctx, c, name, data, a, coherence.ReadWrite)
}

// BcastSlice gives every rank the elements that data has at the root. After an error data is unchanged.
func BcastSlice[T buffer.Number](ctx context.Context, c *Comm, data []T, root int) error {
	const name = "BcastSlice"
	if c != nil && (root < 0 || root >= c.size) {
		return driver.Errorf(name, driver.ErrInvalidArgument, "root %d is not between 0 and %d", root, c.size-1)
	}
	a := driver.Collective{Call: driver.Bcast, Root: root, Count: uint64(len(data)) * size[T]()}
	return collectiveSlice(ctx, c, name, data, a, coherence.ReadWrite)
}

func collectiveSlice[T buffer.Number](ctx context.Context, c *Comm, op string, data []T, a driver.Collective, mode coherence.Mode) error {
	r, err := begin(ctx, c, op, driver.NoPeer, driver.NoTag)
	if err != nil {
		return err
	}
	if err := takeSlice(r, 1, data, mode); err != nil {
		return r.refuse(err, false)
	}
	r.bytes = r.sides[1].n
	a.Send, a.Recv = r.sides[1].at(), r.sides[1].at()
	if err := r.collective(&a); err != nil {
		return err
	}
	_, err = r.finally(ctx)
	return err
}
