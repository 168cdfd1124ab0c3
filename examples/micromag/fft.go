package main

import (
	"math"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/kernel/grid"
)

// planes is how many planes of numbers a field has: one for each of x, y and z.
const planes = 3

// fft4 does one pass of radix 4 of Stockham's FFT on each of the columns of a plane, which have n complex numbers; real and imaginary parts are in two
// slices. Before the pass, a column consists of stride interleaved transforms of n/stride numbers each. cos and sin are those of all n angles of the
// circle, from which come the twiddle factors. A thread takes four numbers that are n/4 apart. Threads that are neighbours have neighbouring columns, and
// so the same twiddle factors.
//
//halyard:kernel
func fft4(t grid.Thread, n, columns, stride int, cos, sin, re, im []float32, toRe, toIm grid.Out[float32]) {
	if x, i, c := t.Global(0), t.Global(1), t.Global(2); x < columns && i < n/4 && c < planes {
		angle := i - i&(stride-1)
		from, far := (c*n+i)*columns+x, n/4*columns
		sumRe, sumIm := re[from]+re[from+2*far], im[from]+im[from+2*far]
		awayRe, awayIm := re[from]-re[from+2*far], im[from]-im[from+2*far]
		nextRe, nextIm := re[from+far]+re[from+3*far], im[from+far]+im[from+3*far]
		sideRe, sideIm := re[from+far]-re[from+3*far], im[from+far]-im[from+3*far]
		to, step := (c*n+i+3*angle)*columns+x, stride*columns
		toRe[to], toIm[to] = sumRe+nextRe, sumIm+nextIm
		aRe, aIm, cosA, sinA := awayRe+sideIm, awayIm-sideRe, cos[angle], sin[angle]
		toRe[to+step] = float32(aRe*cosA) + float32(aIm*sinA)
		toIm[to+step] = float32(aIm*cosA) - float32(aRe*sinA)
		bRe, bIm, cosB, sinB := sumRe-nextRe, sumIm-nextIm, cos[2*angle], sin[2*angle]
		toRe[to+2*step] = float32(bRe*cosB) + float32(bIm*sinB)
		toIm[to+2*step] = float32(bIm*cosB) - float32(bRe*sinB)
		cRe, cIm, cosC, sinC := awayRe-sideIm, awayIm+sideRe, cos[3*angle], sin[3*angle]
		toRe[to+3*step] = float32(cRe*cosC) + float32(cIm*sinC)
		toIm[to+3*step] = float32(cIm*cosC) - float32(cRe*sinC)
	}
}

// fft2 is the last pass, of radix 2, if n is not a power of four.
//
//halyard:kernel
func fft2(t grid.Thread, n, columns int, re, im []float32, toRe, toIm grid.Out[float32]) {
	if x, i, c := t.Global(0), t.Global(1), t.Global(2); x < columns && i < n/2 && c < planes {
		at, far := (c*n+i)*columns+x, n/2*columns
		toRe[at], toIm[at] = re[at]+re[at+far], im[at]+im[at+far]
		toRe[at+far], toIm[at+far] = re[at]-re[at+far], im[at]-im[at+far]
	}
}

// transpose writes the first toColumns rows as columns. Rows of the result for which there is no column are zero.
//
//halyard:kernel
func transpose(t grid.Thread, rows, columns, toRows, toColumns int, re, im []float32, toRe, toIm grid.Out[float32]) {
	if x, y, c := t.Global(0), t.Global(1), t.Global(2); x < toColumns && y < toRows && c < planes {
		a, b := float32(0), float32(0)
		if y < columns {
			from := (c*rows+x)*columns + y
			a, b = re[from], im[from]
		}
		to := (c*toRows+y)*toColumns + x
		toRe[to], toIm[to] = a, b
	}
}

// transposeBack writes columns as rows, and adds the second half of the rows: for a real field they are the conjugates of the first half.
//
//halyard:kernel
func transposeBack(t grid.Thread, rows, columns, toRows, toColumns int, re, im []float32, toRe, toIm grid.Out[float32]) {
	if x, y, c := t.Global(0), t.Global(1), t.Global(2); x < toColumns && y < toRows && c < planes {
		column, sign := y, float32(1)
		if y >= columns {
			column, sign = toRows-y, -1
		}
		to, from := (c*toRows+y)*toColumns+x, (c*rows+x)*columns+column
		toRe[to], toIm[to] = re[from], float32(sign*im[from])
	}
}

// complexes are the real and the imaginary parts of complex numbers.
type complexes struct{ re, im *halyard.Buffer[float32] }

func newComplexes(q *halyard.Queue, n int) complexes {
	return complexes{halyard.New[float32](q, n), halyard.New[float32](q, n)}
}

// plan is what the FFT of columns of n numbers needs, where n is a power of two.
type plan struct {
	n, columns int
	cos, sin   *halyard.Buffer[float32]
}

func newPlan(q *halyard.Queue, n, columns int) plan {
	cos, sin := make([]float32, n), make([]float32, n)
	for i := range n {
		s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		cos[i], sin[i] = float32(c), float32(s)
	}
	return plan{n, columns, halyard.From(q, cos), halyard.From(q, sin)}
}

// transform returns the FFT of the columns of x, in x or in room. What x had is lost.
func (p plan) transform(q *halyard.Queue, x, room complexes) complexes {
	stride := 1
	for ; p.n/stride >= 4; stride *= 4 {
		Fft4(q, p.n, p.columns, stride, p.cos, p.sin, x.re, x.im, room.re, room.im)
		x, room = room, x
	}
	if p.n/stride == 2 {
		Fft2(q, p.n, p.columns, x.re, x.im, room.re, room.im)
		x = room
	}
	return x
}

// back returns n times the inverse of transform: real and imaginary parts are swapped before and after it.
func (p plan) back(q *halyard.Queue, x, room complexes) complexes {
	y := p.transform(q, complexes{x.im, x.re}, complexes{room.im, room.re})
	return complexes{y.im, y.re}
}
