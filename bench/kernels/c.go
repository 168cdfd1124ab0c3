package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/examples/gokernels/matmul"
	"github.com/go-halyard/halyard/examples/gokernels/saxpy"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

// heat is a step of heat that spreads on a plate of n columns.
//
//halyard:kernel
func heat(t grid.Thread, n int, from []float32, to grid.Out[float32]) {
	j, i := t.Global(0), (t.Global(1)+1)*n+t.Global(0)
	if j >= n {
		return
	}
	left, right := float32(0), float32(0)
	if j > 0 {
		left = from[i-1]
	}
	if j < n-1 {
		right = from[i+1]
	}
	to[i] = from[i] + float32(0.1*(from[i-n]+from[i+n]+left+right-float32(4*from[i])))
}

// attract adds up the pull of all bodies on each.
//
//halyard:kernel
func attract(t grid.Thread, px, py, pz, mass []float32, ax, ay, az grid.Out[float32]) {
	i := t.Global(0)
	if i >= len(px) {
		return
	}
	x, y, z := px[i], py[i], pz[i]
	sx, sy, sz := float32(0), float32(0), float32(0)
	for k := range px {
		dx, dy, dz := px[k]-x, py[k]-y, pz[k]-z
		d := float32(dx*dx) + float32(dy*dy) + float32(dz*dz) + 0.01
		pull := mass[k] / float32(d*root(d))
		sx += float32(dx * pull)
		sy += float32(dy * pull)
		sz += float32(dz * pull)
	}
	ax[i], ay[i], az[i] = sx, sy, sz
}

func root(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// besideC returns the rows with kernels on one processor of the host beside the loops of c/loops.c, of which library is built.
// Both give the same bits.
func besideC(library string, n int) ([]contest, error) {
	lib, err := purego.Dlopen(library, purego.RTLD_NOW)
	if err != nil {
		return nil, err
	}
	count, plate, bodies, a := int64(n*n), int64(n), int64(2*n), float32(1.7)
	m, edge := 2*n, int64(2*n)
	plus := n * (n + 2) // a row more than the plate on each side
	space := make([]float32, bodies)
	mass := numbers(int(bodies), 6)
	return []contest{
		row(lib, "saxpy", fmt.Sprint(count), []unsafe.Pointer{unsafe.Pointer(&count), unsafe.Pointer(&a)},
			[][]float32{numbers(n*n, 1), numbers(n*n, 2)},
			func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[float32]) error {
				return saxpy.SaxpyOn(ctx, s, hal.Over(n*n), a, b[0], b[1])
			}),
		row(lib, "heat", square(n), []unsafe.Pointer{unsafe.Pointer(&plate)}, [][]float32{numbers(plus, 3), make([]float32, plus)},
			func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[float32]) error {
				return HeatOn(ctx, s, hal.Over(n, n), n, b[0], b[1])
			}),
		row(lib, "attract", fmt.Sprint(bodies), []unsafe.Pointer{unsafe.Pointer(&bodies)},
			[][]float32{numbers(int(bodies), 3), numbers(int(bodies), 4), numbers(int(bodies), 5), mass, space, space, space},
			func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[float32]) error {
				return AttractOn(ctx, s, hal.Over(int(bodies)), b[0], b[1], b[2], b[3], b[4], b[5], b[6])
			}),
		row(lib, "product", square(m), []unsafe.Pointer{unsafe.Pointer(&edge)}, [][]float32{numbers(m*m, 1), numbers(m*m, 2), make([]float32, m*m)},
			func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[float32]) error {
				return matmul.MatmulOn(ctx, s, hal.Over(m, m).Of(tile, tile), kernel.InRows(b[0], m), kernel.InRows(b[1], m), kernel.InRows(b[2], m))
			}),
	}, nil
}

// row returns a contest of a kernel with a function of a library, which gets the addresses of numbers and then those of the data.
func row(lib uintptr, name, size string, numbers []unsafe.Pointer, in [][]float32,
	launch func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[float32]) error,
) contest {
	byHand := func(b [][]float32) {
		function, err := purego.Dlsym(lib, name)
		if err != nil {
			panic(err) // c/loops.c has it
		}
		args := make([]uintptr, 0, 8)
		for _, p := range numbers {
			args = append(args, uintptr(p))
		}
		for _, s := range b {
			args = append(args, uintptr(unsafe.Pointer(unsafe.SliceData(s))))
		}
		purego.SyscallN(function, args...)
	}
	want := make([][]float32, len(in))
	for i := range in {
		want[i] = slices.Clone(in[i])
	}
	byHand(want)
	return contest{name, size, host, onHostAs + ", 1 processor, beside C", loop(in, want, launch, byHand), name == "product"}
}
