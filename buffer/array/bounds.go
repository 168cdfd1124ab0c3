package array

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
)

// Bounds is the smallest unbroken range of the buffer that has all the elements, for code that walks it by
// [Array.Strides]; first is where in it the element is whose indices are all 0. For a contiguous array it is exactly
// the elements, for any other also what lies between them. It is closed with the array. ctx is for
// the value of a [Full] array that no place holds yet.
func (a *Array[T]) Bounds(ctx context.Context) (b *buffer.Buffer[T], first int, err error) {
	if err := a.check("Hull"); err != nil {
		return nil, 0, err
	}
	if err := a.root.onHost(ctx); err != nil {
		return nil, 0, err
	}
	h := a.at.hull()
	b, err = a.root.b.Slice(h.lo, h.hi)
	return b, a.at.off - h.lo, err
}
