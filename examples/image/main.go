// Image finds the edges in a picture by three kernels in a row, on every device of the machine, and compares the result with that of plain Go.
//
//	go run -tags "cuda opencl hip vulkan" ./examples/image -o edges.png
//
// The picture is copied to the device once, and the edges are copied back once. The grey and the blurred picture in between stay on the device, without
// a line in the program that says so: nothing else reads them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"log"
	"os"
	"slices"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/examples/internal/every"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel/grid"
)

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

// All is done in integers, so every device gives the same result. Pixels beyond the border have the values of those at the border.

func grey(p [4]uint8) uint8 {
	return uint8((77*int32(p[0]) + 150*int32(p[1]) + 29*int32(p[2]) + 128) >> 8)
}

func at(in grid.Matrix[uint8], y, x int) int32 {
	return int32(in.At(min(max(y, 0), in.Rows()-1), min(max(x, 0), in.Cols()-1)))
}

// line adds up three pixels, one above or beside the other, with the weights 1, 2 and 1.
func line(in grid.Matrix[uint8], y, x, dy, dx int) int32 {
	return at(in, y-dy, x-dx) + 2*at(in, y, x) + at(in, y+dy, x+dx)
}

func blur(in grid.Matrix[uint8], y, x int) uint8 {
	return uint8((line(in, y-1, x, 0, 1) + 2*line(in, y, x, 0, 1) + line(in, y+1, x, 0, 1) + 8) >> 4)
}

func edge(in grid.Matrix[uint8], y, x int) uint8 {
	dx := line(in, y, x+1, 1, 0) - line(in, y, x-1, 1, 0)
	dy := line(in, y+1, x, 0, 1) - line(in, y-1, x, 0, 1)
	return uint8(min(max(dx, -dx)+max(dy, -dy), 255))
}

//halyard:kernel
func greys(t grid.Thread, rgba grid.Matrix[[4]uint8], out grid.OutMatrix[uint8]) {
	if y, x := t.Global(1), t.Global(0); y < out.Rows() && x < out.Cols() {
		out.Set(y, x, grey(rgba.At(y, x)))
	}
}

//halyard:kernel
func blurs(t grid.Thread, in grid.Matrix[uint8], out grid.OutMatrix[uint8]) {
	if y, x := t.Global(1), t.Global(0); y < out.Rows() && x < out.Cols() {
		out.Set(y, x, blur(in, y, x))
	}
}

//halyard:kernel
func edges(t grid.Thread, in grid.Matrix[uint8], out grid.OutMatrix[uint8]) {
	if y, x := t.Global(1), t.Global(0); y < out.Rows() && x < out.Cols() {
		out.Set(y, x, edge(in, y, x))
	}
}

// run returns the edges of a picture, and the number of bytes that were copied between host and device.
func run(q *halyard.Queue, m *image.RGBA) (out *image.Gray, copied uint64) {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	rgba := halyard.From(q, m.Pix)
	grey, blurred, found := halyard.New[uint8](q, w*h), halyard.New[uint8](q, w*h), halyard.New[uint8](q, w*h)
	// Nothing waits from here to Values. The queue has the kernels run one after the other.
	Greys(q, halyard.As[[4]uint8](rgba).InRows(w), grey.InRows(w))
	Blurs(q, grey.InRows(w), blurred.InRows(w))
	Edges(q, blurred.InRows(w), found.InRows(w))
	out = &image.Gray{Pix: found.Values(), Stride: w, Rect: m.Rect}
	for _, b := range []*halyard.Buffer[uint8]{rgba, grey, blurred, found} {
		if q.Err() == nil {
			copied += b.Buffer().Stats().BytesCopied
		}
	}
	return out, copied
}

// plain is the same without buffers and kernels.
func plain(m *image.RGBA) *image.Gray {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	in := make([]uint8, w*h)
	for i := range in {
		in[i] = grey([4]uint8(m.Pix[4*i:]))
	}
	for _, pixel := range []func(grid.Matrix[uint8], int, int) uint8{blur, edge} {
		var out []uint8
		for i := range in {
			out = append(out, pixel(grid.MatrixOf(in, h, w), i/w, i%w))
		}
		in = out
	}
	return &image.Gray{Pix: in, Stride: w, Rect: m.Rect}
}

// discs draws a picture: coloured discs on a background that grows brighter.
func discs(w, h int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.RGBA{uint8(90 * x / w), uint8(90 * y / h), 60, 255}
			for i := range 12 {
				dx, dy, r := x-(i*5+3)*w/60, y-(i*7%12*5+3)*h/60, (i%4+2)*h/40
				if dx*dx+dy*dy < r*r {
					c = color.RGBA{uint8(80 + 15*i), uint8(255 - 20*i), uint8(40 * (i % 6)), 255}
				}
			}
			m.SetRGBA(x, y, c)
		}
	}
	return m
}

func write(file string, m image.Image) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(png.Encode(f, m), f.Close())
}

func main() {
	file := flag.String("o", "", "the PNG `file` to write")
	flag.Parse()
	ctx := context.Background()
	m := discs(640, 480)
	want := plain(m)
	_, err := every.Device(ctx, os.Stdout, func(stream *hal.Stream) (string, error) {
		q := halyard.On(ctx, stream)
		got, copied := run(q, m)
		err := q.Close()
		if err == nil && !slices.Equal(got.Pix, want.Pix) {
			err = errors.New("the edges differ from those of plain Go")
		}
		if err == nil && *file != "" {
			err = write(*file, got)
		}
		return fmt.Sprintf("the edges are the same as in plain Go; %d bytes were copied", copied), err
	})
	if err != nil {
		log.Fatal(err)
	}
}
