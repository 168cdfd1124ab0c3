package array

import "github.com/go-halyard/halyard/buffer"

// Bounds returns the smallest unbroken range of the buffer that contains all elements of the array, for code that finds elements by
// [Array.Strides]. first is the position in that range of the element whose indices are all 0. If the array is not contiguous,
// the range includes the gaps. The range is closed with the array.
func (a *Array[T]) Bounds() (b *buffer.Buffer[T], first int, err error) {
	if err := a.check("Bounds"); err != nil {
		return nil, 0, err
	}
	h := a.at.hull()
	b, err = a.b.Slice(h.lo, h.hi)
	return b, a.at.off - h.lo, err
}
