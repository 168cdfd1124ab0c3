package encode

import (
	"image"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
)

// Pixels returns a buffer of the pixels of an *image.RGBA or *image.NRGBA, row by row. An element has red, green, blue and alpha. Nothing is
// copied: the memory of the image is the buffer's on the host, as with [buffer.AdoptSlice]. So until the buffer has been closed, use the
// image only in functions of View, Update and Overwrite of the buffer, as in
//
//	err = pixels.View(ctx, func([][4]uint8) error { return png.Encode(w, m) })
//
// The error is of kind ErrUnsupported for an image of another type, and of kind ErrInvalidArgument if its rows do not follow each other
// without gaps, as in most results of SubImage; copy these with image/draw.
func Pixels(m image.Image, opts ...buffer.Option) (*buffer.Buffer[[4]uint8], error) {
	const op = "Pixels"
	var pix []uint8
	var stride int
	switch m := m.(type) {
	case *image.RGBA:
		if m != nil {
			pix, stride = m.Pix, m.Stride
		}
	case *image.NRGBA:
		if m != nil {
			pix, stride = m.Pix, m.Stride
		}
	default:
		return nil, hal.Errorf(op, hal.ErrUnsupported, "a %T; use an *image.RGBA or *image.NRGBA, or copy it to one with image/draw", m)
	}
	if pix == nil {
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "an image without pixels")
	}
	width, height := m.Bounds().Dx(), m.Bounds().Dy()
	n := width * height
	switch {
	case height > 1 && stride != 4*width:
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "the stride is %d bytes, and rows of %d pixels without gaps have %d", stride, width, 4*width)
	case len(pix)/4 < n:
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "the image has %d bytes, and %d pixels have %d", len(pix), n, 4*n)
	}
	return buffer.AdoptSlice(unsafe.Slice((*[4]uint8)(unsafe.Pointer(unsafe.SliceData(pix))), n), nil, opts...)
}
