package comm

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
)

// SendSlice is [Send] for values that are not in a buffer. They are copied before it waits.
func SendSlice[T buffer.Element](ctx context.Context, c *Comm, data []T, dest, tag int) error {
	const op = "SendSlice"
	if err := c.checkDest(op, dest, tag); err != nil {
		return err
	}
	r, err := begin(ctx, c, op, dest, tag)
	if err != nil {
		return err
	}
	if err := takeSlice(r, 0, data, coherence.Read); err != nil {
		return r.refuse(err, false)
	}
	r.bytes = r.sides[0].n
	if err := r.send(dest, tag); err != nil {
		return r.refuse(err, true)
	}
	_, err = r.Wait(ctx)
	return err
}

// RecvSlice is [Recv] for values that are not in a buffer. After an error, and behind a message that is shorter than data, data is as it was.
func RecvSlice[T buffer.Element](ctx context.Context, c *Comm, data []T, source, tag int) (Status, error) {
	const op = "RecvSlice"
	if err := c.checkSource(op, source, tag); err != nil {
		return Status{}, err
	}
	r, err := begin(ctx, c, op, source, tag)
	if err != nil {
		return Status{}, err
	}
	r.elem = size[T]()
	if err := takeSlice(r, 1, data, coherence.Overwrite); err != nil {
		return Status{}, r.refuse(err, false)
	}
	r.bytes, r.sides[1].writes = r.sides[1].n, true
	if err := r.receive(source, tag); err != nil {
		return Status{}, r.refuse(err, true)
	}
	return r.Wait(ctx)
}
