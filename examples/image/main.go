// Image finds the edges in a picture by three kernels in a row, on every device of the machine, and compares the result with that of plain Go.
//
//	go run -tags "cuda opencl hip" ./examples/image -o edges.png
//
// The picture goes to the device once and the edges come back once. The grey and the blurred picture in between stay on the device. No line of the
// program says so: they stay because they are not read anywhere else.
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

// All is done in integers, so every device gives the same result. Pixels beyond the border have the values of those at the border.
const text = `
KERNEL void grey(const GLOBAL u8 *rgba, GLOBAL u8 *out, i32 w, i32 h) {
	i32 x = (i32)INDEX(0), y = (i32)INDEX(1);
	if (x >= w || y >= h) return;
	const GLOBAL u8 *p = rgba + 4 * (y * w + x);
	out[y * w + x] = (u8)((77 * p[0] + 150 * p[1] + 29 * p[2] + 128) >> 8);
}

FUNCTION i32 at(const GLOBAL u8 *in, i32 x, i32 y, i32 w, i32 h) {
	x = x < 0 ? 0 : x >= w ? w - 1 : x;
	y = y < 0 ? 0 : y >= h ? h - 1 : y;
	return in[y * w + x];
}

KERNEL void blur(const GLOBAL u8 *in, GLOBAL u8 *out, i32 w, i32 h) {
	i32 x = (i32)INDEX(0), y = (i32)INDEX(1);
	if (x >= w || y >= h) return;
	i32 sum = 8;
	for (i32 j = -1; j <= 1; j++)
		for (i32 i = -1; i <= 1; i++) sum += (i == 0 ? 2 : 1) * (j == 0 ? 2 : 1) * at(in, x + i, y + j, w, h);
	out[y * w + x] = (u8)(sum >> 4);
}

KERNEL void edges(const GLOBAL u8 *in, GLOBAL u8 *out, i32 w, i32 h) {
	i32 x = (i32)INDEX(0), y = (i32)INDEX(1);
	if (x >= w || y >= h) return;
	i32 dx = 0, dy = 0;
	for (i32 i = -1; i <= 1; i++) {
		i32 weight = i == 0 ? 2 : 1;
		dx += weight * (at(in, x + 1, y + i, w, h) - at(in, x - 1, y + i, w, h));
		dy += weight * (at(in, x + i, y + 1, w, h) - at(in, x + i, y - 1, w, h));
	}
	i32 sum = (dx < 0 ? -dx : dx) + (dy < 0 ? -dy : dy);
	out[y * w + x] = (u8)(sum > 255 ? 255 : sum);
}`

// The same in Go. Each function computes one pixel.
func grey(rgba []uint8, x, y, w, _ int) uint8 {
	p := rgba[4*(y*w+x):]
	return uint8((77*int(p[0]) + 150*int(p[1]) + 29*int(p[2]) + 128) >> 8)
}

func at(in []uint8, x, y, w, h int) int { return int(in[min(max(y, 0), h-1)*w+min(max(x, 0), w-1)]) }

func blur(in []uint8, x, y, w, h int) uint8 {
	sum := 8
	for j, weights := range [3][3]int{{1, 2, 1}, {2, 4, 2}, {1, 2, 1}} {
		for i, weight := range weights {
			sum += weight * at(in, x+i-1, y+j-1, w, h)
		}
	}
	return uint8(sum >> 4)
}

func edges(in []uint8, x, y, w, h int) uint8 {
	dx, dy := 0, 0
	for i, weight := range [3]int{1, 2, 1} {
		dx += weight * (at(in, x+1, y+i-1, w, h) - at(in, x-1, y+i-1, w, h))
		dy += weight * (at(in, x+i-1, y+1, w, h) - at(in, x+i-1, y-1, w, h))
	}
	return uint8(min(max(dx, -dx)+max(dy, -dy), 255))
}

// eachPixel makes a kernel of one of these functions.
func eachPixel(pixel func(in []uint8, x, y, w, h int) uint8) hal.Function {
	return kernel.Go(func(b *kernel.Block) {
		in, out := kernel.Slice[uint8](b, 0), kernel.Slice[uint8](b, 1)
		w, h := int(kernel.Number[int32](b, 2)), int(kernel.Number[int32](b, 3))
		left, right := kernel.Threads(b, 0, w)
		top, bottom := kernel.Threads(b, 1, h)
		for y := top; y < bottom; y++ {
			for x := left; x < right; x++ {
				out[y*w+x] = pixel(in, x, y, w, h)
			}
		}
	})
}

// One program holds the three kernels: it is compiled once.
var program = kernel.New(kernel.Source{Name: "image", Portable: text, Go: kernel.Functions{
	"grey": eachPixel(grey), "blur": eachPixel(blur), "edges": eachPixel(edges)}})

// run returns the edges of a picture, and the number of bytes that were copied between host and device.
func run(ctx context.Context, stream *hal.Stream, m *image.RGBA) (out *image.Gray, copied uint64, err error) {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	out = image.NewGray(m.Rect)
	// The picture's own memory becomes a buffer, without a copy; and so does that of the result.
	rgba, e1 := buffer.AdoptSlice(m.Pix, nil)
	greys, e2 := buffer.New[uint8](w * h)
	blurred, e3 := buffer.New[uint8](w * h)
	found, e4 := buffer.AdoptSlice(out.Pix, nil)
	defer func() { err = errors.Join(err, hal.CloseAll(rgba, greys, blurred, found)) }()
	if err := errors.Join(e1, e2, e3, e4); err != nil {
		return nil, 0, err
	}
	// Nothing waits from here to View. The stream has the kernels run one after the other.
	in := rgba
	for _, step := range []struct {
		name string
		out  *buffer.Buffer[uint8]
	}{{"grey", greys}, {"blur", blurred}, {"edges", found}} {
		err := program.Kernel(step.name).Launch(ctx, stream, hal.Over(w, h), kernel.In(in), kernel.Out(step.out), kernel.Value(int32(w)), kernel.Value(int32(h)))
		if err != nil {
			return nil, 0, err
		}
		in = step.out
	}
	err = found.View(ctx, func([]uint8) error { return nil }) // brings out.Pix up to date
	for _, b := range []*buffer.Buffer[uint8]{rgba, greys, blurred, found} {
		copied += b.Stats().BytesCopied
	}
	return out, copied, err
}

// plain is the same without buffers and kernels.
func plain(m *image.RGBA) *image.Gray {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	in := m.Pix
	for _, pixel := range []func([]uint8, int, int, int, int) uint8{grey, blur, edges} {
		out := make([]uint8, 0, w*h)
		for y := range h {
			for x := range w {
				out = append(out, pixel(in, x, y, w, h))
			}
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
		got, copied, err := run(ctx, stream, m)
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
