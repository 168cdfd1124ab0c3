package encode_test

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"log"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer/encode"
	"github.com/go-halyard/halyard/hal"
)

// The pixels of an image are the elements of a buffer. Here the host changes them; a kernel does so with the same buffer.
func ExamplePixels() {
	ctx := context.Background()
	m := image.NewNRGBA(image.Rect(0, 0, 3, 2))
	m.SetNRGBA(1, 1, color.NRGBA{R: 200, G: 100, B: 50, A: 255})
	pixels, err := encode.Pixels(m)
	if err != nil {
		log.Fatal(err)
	}
	defer pixels.Close()
	err = pixels.Update(ctx, func(p [][4]uint8) error {
		for i := range p {
			p[i][0] /= 2 // red
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	err = pixels.View(ctx, func(p [][4]uint8) error {
		fmt.Println(len(p), p[4], m.NRGBAAt(1, 1)) // both are the same memory
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 6 [100 100 50 255] {100 100 50 255}
}

// An image becomes a buffer if its pixels follow each other, and gives an error with a kind if they do not.
func TestPixels(t *testing.T) {
	whole := image.NewRGBA(image.Rect(-2, 3, 4, 8))
	for i := range whole.Pix {
		whole.Pix[i] = uint8(i)
	}
	rows := whole.SubImage(image.Rect(-2, 4, 4, 6)).(*image.RGBA) // whole rows
	b, err := encode.Pixels(rows)
	require.NoError(t, err)
	require.NoError(t, b.View(t.Context(), func(p [][4]uint8) error {
		require.Len(t, p, 12)
		require.Equal(t, [4]uint8{24, 25, 26, 27}, p[0])
		require.Equal(t, [4]uint8{68, 69, 70, 71}, p[11])
		return nil
	}))
	require.NoError(t, b.Close())
	line, err := encode.Pixels(whole.SubImage(image.Rect(0, 4, 2, 5))) // a part of one row
	require.NoError(t, err)
	require.Equal(t, 2, line.Len())
	require.NoError(t, line.Close())

	short := image.NewNRGBA(image.Rect(0, 0, 4, 4))
	short.Pix = short.Pix[:60]
	for _, c := range []struct {
		m    image.Image
		kind error
		text string
	}{
		{whole.SubImage(image.Rect(0, 4, 2, 6)), hal.ErrInvalidArgument, "the stride is 24 bytes, and rows of 2 pixels without gaps have 8"},
		{short, hal.ErrInvalidArgument, "the image has 60 bytes, and 16 pixels have 64"},
		{(*image.RGBA)(nil), hal.ErrInvalidArgument, "an image without pixels"},
		{(*image.NRGBA)(nil), hal.ErrInvalidArgument, "an image without pixels"},
		{image.NewGray(image.Rect(0, 0, 1, 1)), hal.ErrUnsupported, "a *image.Gray; use an *image.RGBA"},
		{nil, hal.ErrUnsupported, "a <nil>; use an *image.RGBA"},
	} {
		_, err := encode.Pixels(c.m)
		require.ErrorIs(t, err, c.kind)
		require.ErrorContains(t, err, c.text)
	}
}
