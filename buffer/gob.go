package buffer

import (
	"context"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layout"
	"github.com/go-halyard/halyard/internal/protocol"
)

// GobEncode returns the elements, for package encoding/gob. It has no context: it waits as [Buffer.View] does for as long as that takes, so
// it must not be called within an access that excludes it. Options of the buffer are not encoded.
func (b *Buffer[T]) GobEncode() (data []byte, err error) {
	err = b.access(context.Background(), "GobEncode", protocol.Read, func(s []T) error {
		data = layout.Encode(nil, s)
		return nil
	})
	return data, err
}

// GobDecode makes the zero Buffer one with the elements that [Buffer.GobEncode] has encoded, on the host. The program closes it. If the data
// is malformed or of another type of elements, or b is not the zero Buffer, the error is of kind ErrInvalidArgument.
func (b *Buffer[T]) GobDecode(data []byte) error {
	const op = "GobDecode"
	if b == nil || b.s != nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "only the zero Buffer takes elements; close the other and decode into a new one")
	}
	_, elements, err := layout.Decode[T](data)
	if err != nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "%v", err)
	}
	c, err := From(elements)
	if err == nil {
		*b = *c
	}
	return err
}
