package array

import (
	"context"
	"encoding/binary"
	"encoding/gob"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
)

var (
	_ gob.GobEncoder = (*Array[int8])(nil)
	_ gob.GobDecoder = (*Array[int8])(nil)
)

// GobEncode returns the shape and the elements in row-major order, for package encoding/gob. It waits as [buffer.Buffer.GobEncode] does.
func (a *Array[T]) GobEncode() ([]byte, error) {
	const op = "GobEncode"
	if err := a.check(op); err != nil {
		return nil, err
	}
	b, err := a.whole(op)
	if err != nil {
		c, err := a.Pack(context.Background(), RowMajor)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		b = c.b
	}
	data := binary.AppendUvarint(nil, uint64(len(a.at.shape)))
	for _, e := range a.at.shape {
		data = binary.AppendUvarint(data, uint64(e))
	}
	elements, err := b.GobEncode()
	return append(data, elements...), err
}

// GobDecode makes the zero Array a row-major one with the shape and the elements that [Array.GobEncode] has encoded. Its errors are those of
// [buffer.Buffer.GobDecode].
func (a *Array[T]) GobDecode(data []byte) error {
	const op = "GobDecode"
	if a == nil || a.b != nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "only the zero Array takes elements; close the other and decode into a new one")
	}
	var shape []int
	rank, k := binary.Uvarint(data)
	for ; k > 0 && rank > 0 && len(shape) <= MaxRank; rank-- {
		data = data[k:]
		var e uint64
		e, k = binary.Uvarint(data)
		shape = append(shape, int(e))
	}
	if k <= 0 {
		return hal.Errorf(op, hal.ErrInvalidArgument, "the data ends within the shape")
	}
	n, err := count(op, shape)
	if err != nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "invalid shape %v", shape)
	}
	var b buffer.Buffer[T]
	if err := b.GobDecode(data[k:]); err != nil {
		return err
	}
	if n != b.Len() {
		_ = b.Close()
		return hal.Errorf(op, hal.ErrInvalidArgument, "the data has %d elements instead of the %d of shape %v", b.Len(), n, shape)
	}
	*a = Array[T]{b: &b, at: dense(RowMajor, shape)}
	return nil
}
