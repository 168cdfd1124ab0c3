// Package programs has kernels as published programs have them: a Fourier transform, and particles in boxes with neighbours.
package programs

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import "github.com/go-halyard/halyard/kernel/grid"

// fourier is a round of a Fourier transform of radix 2 of len(x) numbers. The rounds have p = 1, 2, 4 and so on below len(x), and each takes
// what the one before wrote. The roots are exp(-2i*pi*k/len(x)) for k below len(x)/2.
//
//halyard:kernel complex64 complex128
func fourier[T complex64 | complex128](t grid.Thread, p int, roots, x []T, y grid.Out[T]) {
	if i := t.Global(0); i < len(roots) {
		k := i & (p - 1)
		a, b := x[i], roots[k*(len(roots)/p)]*x[i+len(roots)]
		y[2*i-k], y[2*i-k+p] = a+b, a-b
	}
}

// inBox is how many particles each box has.
const inBox = 16

// pull adds up what the particles of a box and of the boxes beside it do to each particle of the box, with the loops of lavaMD. Block b of the grid is
// box b, and near[26*b:][:neighbours[b]] are the boxes beside it. Each particle has a place and a charge, which pulls up to a distance of 1.
//
//halyard:kernel
func pull(t grid.Thread, neighbours, near []int32, particles [][4]float32, sums []float32) {
	shared := grid.Shared[[inBox][4]float32](t)
	for k := 0; k < 1+int(neighbours[t.Block(0)]); k++ {
		box := t.Block(0)
		if k > 0 {
			box = int(near[26*box+k-1])
		}
		shared[t.Local(0)] = particles[box*inBox+t.Local(0)]
		t.Barrier()
		me := particles[t.Global(0)]
		for _, other := range shared {
			x, y, z := me[0]-other[0], me[1]-other[1], me[2]-other[2]
			if r := float32(x*x) + float32(y*y) + float32(z*z); r < 1 {
				sums[t.Global(0)] += float32(other[3] * (1 - r))
			}
		}
		t.Barrier()
	}
}
