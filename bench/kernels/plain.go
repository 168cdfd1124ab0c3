package main

import (
	"github.com/go-halyard/halyard/examples/gokernels/mandelbrot"
	"github.com/go-halyard/halyard/kernel/grid"
	"math"
	"slices"
)

// What the kernels compute, in plain Go. Conversions keep Go from fusing a product with a sum.

func axpy(a float32, x, y []float32) []float32 {
	out := make([]float32, len(y))
	for i := range y {
		out[i] = y[i] + float32(a*x[i])
	}
	return out
}

func smoothed(n int, from []float32) []float32 {
	to := append([]float32(nil), from...)
	for y := 1; y < n-1; y++ {
		for x := 1; x < n-1; x++ {
			i := y*n + x
			to[i] = (from[i-1] + from[i+1] + from[i-n] + from[i+n]) * 0.25
		}
	}
	return to
}

func product(n int, a, b []float32) []float32 {
	out := make([]float32, n*n)
	for row := range n {
		for col := range n {
			for k := range n {
				out[row*n+col] = grid.FMA(a[row*n+k], b[k*n+col], out[row*n+col])
			}
		}
	}
	return out
}

func laplacian(n int, p []float32) []float32 {
	q := make([]float32, n*n)
	for i := range n {
		for j := range n {
			at := i*n + j
			v := float32(4 * p[at])
			if i > 0 {
				v -= p[at-n]
			}
			if j > 0 {
				v -= p[at-1]
			}
			if j < n-1 {
				v -= p[at+1]
			}
			if i < n-1 {
				v -= p[at+n]
			}
			q[at] = v
		}
	}
	return q
}

// rowSums are the dot products of the rows of a and b, added up as a block does it.
func rowSums(n int, a, b []float32) []float32 {
	sums := make([]float32, n)
	for row := range n {
		products := make([]float32, n)
		for j := range n {
			products[j] = float32(a[row*n+j] * b[row*n+j])
		}
		sums[row] = blockSum(products)
	}
	return sums
}

// blockSum adds numbers up in the order of grid.BlockSum.
func blockSum(list []float32) float32 {
	var part [block]float32
	for i, v := range list {
		part[i%block] += v
	}
	for apart := 1; apart < block; apart *= 2 {
		for i := 0; i < block; i += 2 * apart {
			part[i] += part[i+apart]
		}
	}
	return part[0]
}

// softmaxed has the exponentials of each row of n numbers, divided by their sum.
func softmaxed(n int, x []float32) []float32 {
	out := make([]float32, len(x))
	for at := 0; at < len(x); at += n {
		from, sum := x[at:at+n], 0.0
		most := slices.Max(from)
		for _, v := range from {
			sum += math.Exp(float64(v - most))
		}
		for i, v := range from {
			out[at+i] = float32(math.Exp(float64(v-most)) / sum)
		}
	}
	return out
}

// rounds returns for each point of a view the round in which it leaves.
func rounds(v *mandelbrot.View) []int32 {
	out := make([]int32, v.Width*v.Height)
	for i := range out {
		cx, cy := v.Left+float32(float32(i%int(v.Width))*v.Step), v.Top+float32(float32(i/int(v.Width))*v.Step)
		x, y := float32(0), float32(0)
		for out[i] < v.Rounds && float32(x*x)+float32(y*y) <= 4 {
			x, y = float32(x*x)-float32(y*y)+cx, float32(2*x*y)+cy
			out[i]++
		}
	}
	return out
}
