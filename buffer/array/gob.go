package array

import (
	"context"

	"github.com/go-halyard/halyard/hal"
	wire "github.com/go-halyard/halyard/internal/layout"
)

// GobEncode returns the shape and the elements in row-major order, for package encoding/gob. It waits as [buffer.Buffer.GobEncode] does.
func (a *Array[T]) GobEncode() ([]byte, error) {
	values, err := a.values(context.Background(), "GobEncode")
	if err != nil {
		return nil, err
	}
	return wire.Encode(a.at.shape, values), nil
}

// GobDecode makes the zero Array a row-major one with the shape and the elements that [Array.GobEncode] has encoded. Its errors are those of
// [buffer.Buffer.GobDecode].
func (a *Array[T]) GobDecode(data []byte) error {
	const op = "GobDecode"
	if a == nil || a.b != nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "only the zero Array takes elements; close the other and decode into a new one")
	}
	shape, elements, err := wire.Decode[T](data)
	if err != nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "%v", err)
	}
	b, err := From(elements, shape...)
	if err != nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "%d elements of shape %v", len(elements), shape)
	}
	*a = *b
	return nil
}
