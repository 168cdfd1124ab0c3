// Mandelbrot computes a picture of the Mandelbrot set on every device of the machine, compares it with that of plain Go, and can write it to a
// PNG file.
//
//	go run -tags "cuda opencl hip" ./examples/mandelbrot -o mandelbrot.png
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

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/examples/internal/every"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

// view is the part of the plane that the picture shows. A structure can be passed to a kernel if its members have fixed widths and
// the kernel's text declares the same structure.
type view struct {
	Left, Top, Step float32 // of the pixel at the top left, and from one pixel to the next
	Width, Height   uint32
	Limit           uint32
}

// A thread counts the steps of one pixel until the sequence leaves the circle. Portable text is compiled without fusing multiplications
// with additions, so the steps are the same on every device.
const text = `
typedef struct { f32 left, top, step; u32 width, height, limit; } view;

FUNCTION u16 steps(f32 a, f32 b, u32 limit) {
	f32 x = 0, y = 0;
	u32 n = 0;
	while (n < limit && x * x + y * y <= 4.0f) {
		f32 t = x * x - y * y + a;
		y = 2.0f * x * y + b;
		x = t;
		n++;
	}
	return (u16)n;
}

KERNEL void mandelbrot(view v, GLOBAL u16 *out) {
	u32 x = (u32)INDEX(0), y = (u32)INDEX(1);
	if (x < v.width && y < v.height) out[(u64)y * v.width + x] = steps(v.left + v.step * x, v.top + v.step * y, v.limit);
}`

// steps is the same in Go. The conversions keep Go from fusing operations.
func steps(a, b float32, limit uint32) uint16 {
	var x, y float32
	n := uint32(0)
	for n < limit && float32(x*x)+float32(y*y) <= 4 {
		x, y = float32(x*x)-float32(y*y)+a, float32(2*x*y)+b
		n++
	}
	return uint16(n)
}

func (v view) at(x, y int) uint16 {
	return steps(v.Left+float32(v.Step*float32(x)), v.Top+float32(v.Step*float32(y)), v.Limit)
}

func mandelbrotBlock(b *kernel.Block) {
	v, out := kernel.Number[view](b, 0), kernel.Slice[uint16](b, 1)
	left, right := kernel.Threads(b, 0, int(v.Width))
	top, bottom := kernel.Threads(b, 1, int(v.Height))
	for y := top; y < bottom; y++ {
		for x := left; x < right; x++ {
			out[y*int(v.Width)+x] = v.at(x, y)
		}
	}
}

var mandelbrot = kernel.New(kernel.Source{Name: "mandelbrot", Portable: text, Go: kernel.Functions{"mandelbrot": kernel.Go(mandelbrotBlock)}}).Kernel("mandelbrot")

// run returns the steps of each pixel, row by row.
func run(ctx context.Context, stream *hal.Stream, v view) (pixels []uint16, err error) {
	out, err := buffer.New[uint16](int(v.Width) * int(v.Height))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	err = mandelbrot.Launch(ctx, stream, kernel.Over(int(v.Width), int(v.Height)), kernel.Struct(&v), kernel.Out(out))
	if err != nil {
		return nil, err
	}
	pixels = make([]uint16, out.Len())
	return pixels, out.CopyOut(ctx, pixels)
}

func plain(v view) []uint16 {
	pixels := make([]uint16, 0, v.Width*v.Height)
	for y := range int(v.Height) {
		for x := range int(v.Width) {
			pixels = append(pixels, v.at(x, y))
		}
	}
	return pixels
}

// picture colours the pixels. Those that never left the circle are black; of the others, those that stayed longer are brighter.
func picture(v view, pixels []uint16) image.Image {
	m := image.NewRGBA(image.Rect(0, 0, int(v.Width), int(v.Height)))
	for i, n := range pixels {
		c := color.RGBA{A: 255}
		if uint32(n) < v.Limit {
			c.R, c.G, c.B = uint8(min(9*n, 255)), uint8(min(3*n, 255)), uint8(min(40+2*n, 255))
		}
		m.SetRGBA(i%int(v.Width), i/int(v.Width), c)
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
	v := view{Left: -2.2, Top: -1.2, Step: 2.4 / 480, Width: 640, Height: 480, Limit: 200}
	want := plain(v)
	_, err := every.Device(ctx, os.Stdout, func(stream *hal.Stream) (string, error) {
		got, err := run(ctx, stream, v)
		if err == nil && !slices.Equal(got, want) {
			err = errors.New("the picture differs from that of plain Go")
		}
		if err == nil && *file != "" {
			err = write(*file, picture(v, got))
		}
		return fmt.Sprintf("%d×%d pixels, the same as in plain Go", v.Width, v.Height), err
	})
	if err != nil {
		log.Fatal(err)
	}
}
