package array

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
)

// Bounds returns the smallest unbroken range of the buffer that contains all the elements, for code that walks it by
// [Array.Strides]; first is the place in that range of the element whose indices are all 0. If the array is not contiguous,
// the range includes the gaps. It is closed with the array. ctx limits the wait while the value of a [Full] array is
// written first.
func (a *Array[T]) Bounds(ctx context.Context) (b *buffer.Buffer[T], first int, err error) {
	if err := a.check("Bounds"); err != nil {
		return nil, 0, err
	}
	if err := a.root.onHost(ctx); err != nil {
		return nil, 0, err
	}
	h := a.at.hull()
	b, err = a.root.b.Slice(h.lo, h.hi)
	return b, a.at.off - h.lo, err
}
