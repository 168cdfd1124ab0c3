package main

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

// programs make the programs. What they compute in plain Go is what all sides are compared with.
var programs = []func() *program{lu, fft, needlemanWunsch, dcts, lava, aesBlocks, srad, paths, sparse, nQueens, bitonic, search}

// launch launches a kernel by hand.
func launch(ctx context.Context, s *hal.Stream, name string, over hal.Grid, args ...kernel.Arg) error {
	return kernelsByHand.Kernel(name).Launch(ctx, s, over, args...)
}

// steps does something for numbers until one fails.
func steps(from, to, by int, do func(n int) error) (err error) {
	for n := from; n < to && err == nil; n += by {
		err = do(n)
	}
	return err
}

// first returns the first error of functions, of which each runs if the one before did not fail.
func first(do ...func() error) (err error) {
	for i := 0; i < len(do) && err == nil; i++ {
		err = do[i]()
	}
	return err
}

// numbers returns n numbers between 0 and 1.
func numbers(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	list := make([]float32, n)
	for i := range list {
		list[i] = r.Float32()
	}
	return list
}

// integers returns n integers from 0 to below most.
func integers[T uint8 | int32](n, most int, seed uint64) []T {
	r := rand.New(rand.NewPCG(seed, 2))
	list := make([]T, n)
	for i := range list {
		list[i] = T(r.IntN(most))
	}
	return list
}

func squared(n int) string { return fmt.Sprintf("%d × %d", n, n) }

func lu() *program {
	const n = 512
	p := &program{name: "LU decomposition", size: squared(n), c: "lu",
		kernels: []string{"luDiagonal", "luRight", "luBelow", "luInner"}, ints: []int{n}}
	in := numbers(n*n, 1)
	for i := range n {
		in[i*n+i] += n // so that no number of the diagonal becomes small
	}
	want := slices.Clone(in)
	for k := range n {
		for i := k + 1; i < n; i++ {
			want[i*n+k] /= want[k*n+k]
			for j := k + 1; j < n; j++ {
				want[i*n+j] -= float32(want[i*n+k] * want[k*n+j])
			}
		}
	}
	a := changed(p, in, want)
	block := hal.Blocks(1).Of(tile)
	p.ours = func(ctx context.Context, s *hal.Stream) error {
		m := kernel.InRows[float32](a, n)
		return steps(0, n, tile, func(at int) error {
			rest := n - tile - at
			return first(
				func() error { return LuDiagonalOn(ctx, s, block, at, m) },
				func() error { return LuRightOn(ctx, s, hal.Over(rest), at, m) },
				func() error { return LuBelowOn(ctx, s, hal.Over(rest), at, m) },
				func() error { return LuInnerOn(ctx, s, hal.Over(rest, rest).Of(tile, tile), at, m) })
		})
	}
	p.hand = func(ctx context.Context, s *hal.Stream) error {
		return steps(0, n, tile, func(at int) error {
			rest := n - tile - at
			from, m, cols := kernel.Value(int64(at)), kernel.InOut(a.Buffer), kernel.Value(int64(n))
			return first(
				func() error { return launch(ctx, s, "luDiagonal", block, from, m, cols) },
				func() error { return launch(ctx, s, "luRight", hal.Over(rest), from, m, cols) },
				func() error { return launch(ctx, s, "luBelow", hal.Over(rest), from, m, cols) },
				func() error { return launch(ctx, s, "luInner", hal.Over(rest, rest).Of(tile, tile), from, m, cols) })
		})
	}
	return p
}

func fft() *program {
	const n, vector = 1 << 15, 8
	p := &program{name: "FFT", size: fmt.Sprint(n), c: "fft", kernels: []string{"fftStage", "fftShort"}, ints: []int{n}}
	cos, sin := make([]float32, n/2), make([]float32, n/2)
	for i := range cos {
		s, c := math.Sincos(-2 * math.Pi * float64(i) / n)
		cos[i], sin[i] = float32(c), float32(s)
	}
	inR, inI := numbers(n, 1), numbers(n, 2)
	r, i, toR, toI := slices.Clone(inR), slices.Clone(inI), make([]float32, n), make([]float32, n)
	for s := 1; s < n; s *= 2 {
		for k := range n / 2 {
			g := k &^ (s - 1)
			dr, di := r[k]-r[k+n/2], i[k]-i[k+n/2]
			toR[k+g], toI[k+g] = r[k]+r[k+n/2], i[k]+i[k+n/2]
			toR[k+g+s], toI[k+g+s] = float32(dr*cos[g])-float32(di*sin[g]), float32(dr*sin[g])+float32(di*cos[g])
		}
		r, i, toR, toI = toR, toI, r, i
	}
	wr, wi := read(p, cos), read(p, sin)
	xr, xi, yr, yi := changed(p, inR, nil), changed(p, inI, nil), written(p, r), written(p, i)
	stages := func(long, short func(s int, over hal.Grid, xr, xi, yr, yi *array[float32]) error) error {
		xr, xi, yr, yi := xr, xi, yr, yi
		return steps(0, bits.Len(n)-1, 1, func(k int) (err error) {
			if s := 1 << k; s < vector {
				err = short(s, hal.Over(n/2), xr, xi, yr, yi)
			} else {
				err = long(s, hal.Over(s, n/2/s), xr, xi, yr, yi)
			}
			xr, xi, yr, yi = yr, yi, xr, xi
			return err
		})
	}
	p.ours = func(ctx context.Context, s *hal.Stream) error {
		return stages(
			func(n int, over hal.Grid, xr, xi, yr, yi *array[float32]) error {
				return FftStageOn(ctx, s, over, n, wr, wi, xr, xi, yr, yi)
			},
			func(n int, over hal.Grid, xr, xi, yr, yi *array[float32]) error {
				return FftShortOn(ctx, s, over, n, wr, wi, xr, xi, yr, yi)
			})
	}
	p.hand = func(ctx context.Context, s *hal.Stream) error {
		stage := func(name string) func(s int, over hal.Grid, xr, xi, yr, yi *array[float32]) error {
			return func(m int, over hal.Grid, xr, xi, yr, yi *array[float32]) error {
				return launch(ctx, s, name, over, kernel.Value(int64(m)), kernel.Value(int64(n/2)), kernel.In(wr.Buffer), kernel.In(wi.Buffer),
					kernel.In(xr.Buffer), kernel.In(xi.Buffer), kernel.Out(yr.Buffer), kernel.Out(yi.Buffer))
			}
		}
		return stages(stage("fftStage"), stage("fftShort"))
	}
	return p
}

func needlemanWunsch() *program {
	const n, line, across = 1024, 1025, 1024 / strip
	p := &program{name: "Needleman-Wunsch", size: squared(n), c: "align", kernels: []string{"align"}, ints: []int{n}}
	a, b := integers[uint8](n, 4, 1), integers[uint8](n, 4, 2)
	table, lines := make([]int32, line*line), make([]int32, (2*n+1)*line) // by rows, and by diagonals
	for i := range line {
		table[i], table[i*line] = int32(-i), int32(-i)
		lines[i*line], lines[i*line+i] = int32(-i), int32(-i)
	}
	wantTable, wantLines := slices.Clone(table), slices.Clone(lines)
	for i := 1; i <= n; i++ {
		for j := 1; j <= n; j++ {
			same := int32(-1)
			if a[i-1] == b[j-1] {
				same = 2
			}
			best := max(wantTable[(i-1)*line+j-1]+same, wantTable[(i-1)*line+j]-1, wantTable[i*line+j-1]-1)
			wantTable[i*line+j], wantLines[(i+j)*line+i] = best, best
		}
	}
	back := slices.Clone(b)
	slices.Reverse(back)
	first, second, score := read(p, a), read(p, back), changed(p, lines, wantLines)
	score.again = false // the border stays
	c := &program{}
	read(c, a)
	read(c, b)
	changed(c, table, wantTable).again = false
	p.inC = c.data
	tiles := func(do func(d, from int, over hal.Grid) error) error {
		return steps(0, 2*across-1, 1, func(d int) error {
			from, to := max(0, d-across+1), min(d, across-1)
			return do(d, from, hal.Blocks(to-from+1).Of(strip))
		})
	}
	p.ours = func(ctx context.Context, s *hal.Stream) error {
		return tiles(func(d, from int, over hal.Grid) error { return AlignOn(ctx, s, over, d, from, first, second, score) })
	}
	p.hand = func(ctx context.Context, s *hal.Stream) error {
		return tiles(func(d, from int, over hal.Grid) error {
			return launch(ctx, s, "align", over, kernel.Value(int64(d)), kernel.Value(int64(from)), kernel.Value(int64(n)), kernel.In(first.Buffer),
				kernel.In(second.Buffer), kernel.InOut(score.Buffer))
		})
	}
	return p
}

func dcts() *program {
	const n = 512
	p := &program{name: "DCT 8x8", size: squared(n), c: "dct", kernels: []string{"dct"}, ints: []int{n}}
	table, in, want := make([][8]float32, 8), numbers(n*n, 1), make([]float32, n*n)
	for k := range 8 {
		for u := range 8 {
			table[k][u] = float32(math.Cos(float64(2*k+1)*float64(u)*math.Pi/16) / 2)
		}
		table[k][0] = float32(math.Sqrt(1. / 8))
	}
	for top := 0; top < n; top += 8 {
		for left := 0; left < n; left += 8 {
			var part [8][8]float32
			for i := range 64 {
				for k := range 8 {
					part[i/8][i%8] += float32(table[k][i/8] * in[(top+k)*n+left+i%8])
				}
			}
			for i := range 64 {
				for k := range 8 {
					want[(top+i/8)*n+left+i%8] += float32(part[i/8][k] * table[k][i%8])
				}
			}
		}
	}
	cosines, from, to := read(p, table), read(p, in), written(p, want)
	over := hal.Over(n, n).Of(8, 8)
	p.ours = func(ctx context.Context, s *hal.Stream) error {
		return DctOn(ctx, s, over, cosines, kernel.InRows[float32](from, n), kernel.InRows[float32](to, n))
	}
	p.hand = func(ctx context.Context, s *hal.Stream) error {
		return launch(ctx, s, "dct", over, kernel.In(cosines.Buffer), kernel.In(from.Buffer), kernel.Out(to.Buffer), kernel.Value(int64(n)))
	}
	return p
}

func lava() *program {
	const side, boxes = 3, 27
	p := &program{name: "lavaMD", size: fmt.Sprintf("%d boxes of %d", boxes, inBox), c: "lavaMD", kernels: []string{"lavaMD"},
		ints: []int{boxes}}
	coordinates, all, want := numbers(boxes*inBox*4, 1), make([]particle, boxes*inBox), make([]particle, boxes*inBox)
	near := make([]int32, boxes*nearBoxes)
	for i := range all {
		c := coordinates[4*i:]
		box := i / inBox
		all[i] = particle{c[0] + float32(box%side), c[1] + float32(box/side%side), c[2] + float32(box/side/side), c[3]}
	}
	for i := range near {
		b, d := i/nearBoxes, i%nearBoxes
		x, y, z := b%side+d%3-1, b/side%side+d/3%3-1, b/side/side+d/9-1
		if near[i] = int32((z*side+y)*side + x); min(x, y, z) < 0 || max(x, y, z) >= side {
			near[i] = -1
		}
	}
	for i, me := range all {
		f := &want[i]
		for _, box := range near[i/inBox*nearBoxes:][:nearBoxes] {
			for k := max(box, 0) * inBox; k < (box+1)*inBox; k++ {
				o := all[k]
				dx, dy, dz := me.x-o.x, me.y-o.y, me.z-o.z
				u := float32(0.5 * (float32(dx*dx) + float32(dy*dy) + float32(dz*dz)))
				e := o.charge * float32(math.Exp(float64(-u)))
				f.charge += e
				f.x += float32(2 * e * dx)
				f.y += float32(2 * e * dy)
				f.z += float32(2 * e * dz)
			}
		}
	}
	neighbours, particles, pull := read(p, near), read(p, all), written(p, want)
	pull.near = 1e-4 // the function of C rounds in another way
	p.ours = func(ctx context.Context, s *hal.Stream) error {
		return LavaMDOn(ctx, s, hal.Over(inBox, boxes), boxes, 0.5, neighbours, particles, pull)
	}
	return p
}

// aesTables returns the tables of the rounds, and that of the last round, of AES. The numbers are polynomials over GF(2).
func aesTables() (tables [][256]uint32, last [][256]uint8) {
	double := func(x uint8) uint8 { return x<<1 ^ x>>7*0x1b }
	tables, last = make([][256]uint32, 4), make([][256]uint8, 1)
	p, q := uint8(1), uint8(1) // q is 1/p
	for {
		p ^= double(p)
		q ^= q << 1
		q ^= q << 2
		q ^= q << 4
		q ^= q >> 7 * 0x09
		last[0][p] = q ^ bits.RotateLeft8(q, 1) ^ bits.RotateLeft8(q, 2) ^ bits.RotateLeft8(q, 3) ^ bits.RotateLeft8(q, 4) ^ 0x63
		if p == 1 {
			break
		}
	}
	last[0][0] = 0x63
	for i, s := range last[0] {
		column := uint32(double(s))<<24 | uint32(s)<<16 | uint32(s)<<8 | uint32(double(s)^s)
		for k := range tables {
			tables[k][i] = bits.RotateLeft32(column, -8*k)
		}
	}
	return tables, last
}

// aesKeys returns the keys of the rounds.
func aesKeys(key [16]uint8, last *[256]uint8) []uint32 {
	keys, constant := make([]uint32, 44), uint32(1)
	for i := range keys {
		if i < 4 {
			keys[i] = word(key, 4*i)
			continue
		}
		k := keys[i-1]
		if i%4 == 0 {
			k = uint32(last[k>>16&255])<<24 | uint32(last[k>>8&255])<<16 | uint32(last[k&255])<<8 | uint32(last[k>>24])
			k ^= constant << 24
			constant = constant<<1 ^ constant>>7*0x11b
		}
		keys[i] = keys[i-4] ^ k
	}
	return keys
}

func search() *program {
	const n, each, levels = 1 << 15, 4, 9
	p := &program{name: "BFS", size: fmt.Sprintf("%d of %d points", n*each, n), c: "bfs", kernels: []string{"bfs"}, ints: []int{levels, n}}
	starts, ends := make([]int32, n+1), integers[int32](n*each, n, 1)
	for i := range starts {
		starts[i] = int32(i * each)
	}
	in := slices.Repeat([]int32{-1}, n)
	in[0] = 0
	want := slices.Clone(in)
	for level := range int32(levels) {
		before := slices.Clone(want)
		for i := range want {
			if want[i] < 0 && slices.ContainsFunc(ends[i*each:][:each], func(e int32) bool { return before[e] == level }) {
				want[i] = level + 1
			}
		}
	}
	from, to := read(p, starts), read(p, ends)
	now, next := changed(p, in, nil), written(p, want)
	p.ours = func(ctx context.Context, s *hal.Stream) error {
		x, y := now, next
		return steps(0, levels, 1, func(level int) error {
			err := BfsOn(ctx, s, hal.Over(n), int32(level), from, to, x, y)
			x, y = y, x
			return err
		})
	}
	return p
}

func bitonic() *program {
	const n, vector = 1 << 15, 8
	p := &program{name: "bitonic sort", size: fmt.Sprint(n), c: "bitonic", kernels: []string{"bitonicFar", "bitonicNear"}, ints: []int{n}}
	in := integers[int32](n, math.MaxInt32, 1)
	want := slices.Clone(in)
	slices.Sort(want)
	x := changed(p, in, want)
	p.ours = func(ctx context.Context, s *hal.Stream) error {
		return steps(1, bits.Len(n), 1, func(k int) error {
			size := 1 << k
			for apart := size / 2; apart >= vector; apart /= 2 {
				if err := BitonicFarOn(ctx, s, hal.Over(apart, n/2/apart), size, apart, x); err != nil {
					return err
				}
			}
			return BitonicNearOn(ctx, s, hal.Over(n/8), size, x)
		})
	}
	return p
}
