package main

import (
	"context"
	ciphers "crypto/aes"
	"fmt"
	"slices"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

func aesBlocks() *program {
	const n = 1 << 14
	p := &program{name: "AES-128", size: fmt.Sprintf("%d blocks", n), c: "aes", kernels: []string{"aes"}, ints: []int{n}}
	in, want := make([][16]uint8, n), make([][16]uint8, n)
	plain := integers[uint8](n*16, 256, 1)
	key := [16]uint8(integers[uint8](16, 256, 2))
	cipher, err := ciphers.NewCipher(key[:])
	for i := range in {
		in[i] = [16]uint8(plain[16*i:])
		cipher.Encrypt(want[i][:], in[i][:])
	}
	p.err = err
	roundTables, lastTable := aesTables()
	keys, tables, last := read(p, aesKeys(key, &lastTable[0])), read(p, roundTables), read(p, lastTable)
	from, to := read(p, in), written(p, want)
	p.ours = func(ctx context.Context, s *hal.Stream) error {
		return AesOn(ctx, s, hal.Over(n), keys, tables, last, from, to)
	}
	p.hand = func(ctx context.Context, s *hal.Stream) error {
		return launch(ctx, s, "aes", hal.Over(n), kernel.Value(int64(n)), kernel.In(keys.Buffer), kernel.In(tables.Buffer),
			kernel.In(last.Buffer), kernel.In(from.Buffer), kernel.Out(to.Buffer))
	}
	return p
}

func srad() *program {
	const n = 512
	p := &program{name: "SRAD", size: squared(n), c: "srad", kernels: []string{"sradFlow", "sradStep"}, ints: []int{n}}
	in := numbers(n*n, 1)
	var all [6][]float32
	for i := range all {
		all[i] = make([]float32, n*n)
	}
	for i := range in {
		in[i] += 0.5
	}
	at := func(list []float32, y, x int) float32 { return list[min(max(y, 0), n-1)*n+min(max(x, 0), n-1)] }
	for i, v := range in {
		y, x, q0 := i/n, i%n, float32(0.05)
		n, s, w, e := at(in, y-1, x)-v, at(in, y+1, x)-v, at(in, y, x-1)-v, at(in, y, x+1)-v
		g := (float32(n*n) + float32(s*s) + float32(w*w) + float32(e*e)) / float32(v*v)
		l := (n + s + w + e) / v
		d := 1 + float32(0.25*l)
		q := (float32(0.5*g) - float32(0.0625*float32(l*l))) / float32(d*d)
		all[0][i], all[1][i], all[2][i], all[3][i] = n, s, w, e
		all[4][i] = max(0, min(1, 1/(1+(q-q0)/float32(q0*(1+q0)))))
	}
	for i := range in {
		c, below, right := all[4][i], at(all[4], i/n+1, i%n), at(all[4], i/n, i%n+1)
		all[5][i] = in[i] + float32(0.125*(float32(c*all[0][i])+float32(below*all[1][i])+float32(c*all[2][i])+float32(right*all[3][i])))
	}
	var m [7]kernel.Matrix[float32]
	m[0] = kernel.InRows[float32](read(p, in), n)
	for i := range all {
		m[i+1] = kernel.InRows[float32](written(p, all[i]), n)
	}
	p.ours = func(ctx context.Context, s *hal.Stream) error {
		return first(func() error { return SradFlowOn(ctx, s, hal.Over(n, n), 0.05, m[0], m[1], m[2], m[3], m[4], m[5]) },
			func() error {
				return SradStepOn(ctx, s, hal.Over(n, n), 0.125, m[1], m[2], m[3], m[4], m[5], m[0], m[6])
			})
	}
	return p
}

func paths() *program {
	const rows, w = 15, 1 << 15
	p := &program{name: "pathfinder", size: fmt.Sprintf("%d × %d", rows, w), c: "pathfinder", kernels: []string{"pathfinder"},
		ints: []int{rows, w}}
	wall, want := integers[int32](rows*w, 10, 1), make([]int32, w)
	for row := range rows {
		before := slices.Clone(want)
		for x := range want {
			want[x] = wall[row*w+x] + slices.Min(before[max(x-1, 0):min(x+2, w)])
		}
	}
	on, from, to := read(p, wall), changed(p, make([]int32, w), nil), written(p, want)
	p.ours = func(ctx context.Context, s *hal.Stream) error {
		x, y := from, to
		return steps(0, rows, 1, func(row int) error {
			err := PathfinderOn(ctx, s, hal.Over(w), row, on, x, y)
			x, y = y, x
			return err
		})
	}
	return p
}

func sparse() *program {
	const n, each = 1 << 14, 16
	p := &program{name: "SpMV", size: fmt.Sprintf("%d of %s", n*each, squared(n)), c: "spmv", kernels: []string{"spmv"}, ints: []int{n}}
	starts, lengths := make([]int32, n+1), integers[int32](n, 2*each+1, 1)
	for i, l := range lengths {
		starts[i+1] = starts[i] + l
	}
	all := int(starts[n])
	cols, values, x, want := integers[int32](all, n, 2), numbers(all, 3), numbers(n, 4), make([]float32, n)
	for i := range want {
		for k := starts[i]; k < starts[i+1]; k++ {
			want[i] += float32(values[k] * x[cols[k]])
		}
	}
	from, in, v, by, y := read(p, starts), read(p, cols), read(p, values), read(p, x), written(p, want)
	p.ours = func(ctx context.Context, s *hal.Stream) error { return SpmvOn(ctx, s, hal.Over(n), from, in, v, by, y) }
	return p
}

func nQueens() *program {
	const n = 10
	p := &program{name: "n-queens", size: fmt.Sprint(n), c: "queens", kernels: []string{"queens"}, ints: []int{n}}
	var count func(row int, left, down, right uint32) uint32
	count = func(row int, left, down, right uint32) (all uint32) {
		if row == n {
			return 1
		}
		for free := (1<<n - 1) &^ (left | down | right); free != 0; free &= free - 1 {
			bit := free & -free
			all += count(row+1, (left|bit)<<1, down|bit, (right|bit)>>1)
		}
		return all
	}
	want := make([]uint32, n*n)
	for i := range want {
		if a, b := uint32(1)<<(i/n), uint32(1)<<(i%n); b&(a|a<<1|a>>1) == 0 {
			want[i] = count(2, (a<<1|b)<<1, a|b, (a>>1|b)>>1)
		}
	}
	counts := written(p, want)
	p.ours = func(ctx context.Context, s *hal.Stream) error { return QueensOn(ctx, s, hal.Over(n*n), n, counts) }
	p.hand = func(ctx context.Context, s *hal.Stream) error {
		return launch(ctx, s, "queens", hal.Over(n*n), kernel.Value(uint32(n)), kernel.Out(counts.Buffer))
	}
	return p
}
