// Package gomath has kernels that call the functions of packages math, math/bits and math/cmplx that are translated from Go's source.
package gomath

import (
	"math"
	"math/bits"
	"math/cmplx"

	"github.com/go-halyard/halyard/kernel/grid"
)

// Special are numbers at which functions are compared.
var Special = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 2, 3, -7, 40, -40.25, 171.5, -171.5, 1e10, -1e10, 1e300, 1e-300, 5e-324, -1e-310, 1e-10,
	-1e-10, math.Pi, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), math.NaN(), 1 << 52, 1<<53 + 2, 4.6, 2.9, 2.1, 8.5}

// OfFloats and OfComplex are the functions that kernels call for each thread, by the names of the kernels.
var (
	OfFloats  = map[string]func(float64, int64) [8]float64{"gamma": func(x float64, _ int64) [8]float64 { return gammas(x) }, "besselFirst": first, "besselSecond": second}
	OfComplex = map[string]func(z, w complex128) [8]complex128{"complexPowers": powers, "complexAngles": angles, "complexArcs": arcs}
)

// Exact returns results that have the same bits everywhere.
func Exact(x, y float64, n int64) (r [20]float64) {
	frac, exp := math.Frexp(x)
	whole, part := math.Modf(x)
	z := complex(x, y)
	r = [20]float64{
		frac, float64(exp), whole, part, math.Dim(x, y), math.Ldexp(x, int(n%2100)), math.Logb(x), float64(math.Ilogb(x)),
		math.Nextafter(x, y), float64(math.Nextafter32(float32(x), float32(y))), math.Pow10(int(n % 400)), real(cmplx.Inf()), imag(cmplx.NaN()),
		truth(cmplx.IsInf(z)), truth(cmplx.IsNaN(z)), math.Ceil(x), math.Floor(x), math.Round(x), math.RoundToEven(x),
	}
	return r
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// gammas returns results that depend on functions of package math whose last bits differ between devices, and so do those of the functions below.
func gammas(x float64) (r [8]float64) {
	sin, cos := math.Sincos(x)
	logGamma, sign := math.Lgamma(x)
	return [8]float64{sin, cos, logGamma, float64(sign), math.Gamma(x), math.Erfinv(x / 8), math.Erfcinv(1 - x/8)}
}

func first(x float64, n int64) [8]float64 {
	return [8]float64{math.J0(x), math.J1(x), math.Jn(int(n%7), x)}
}

func second(x float64, n int64) [8]float64 {
	return [8]float64{math.Y0(x), math.Y1(x), math.Yn(int(n%7), x)}
}

func powers(z, w complex128) [8]complex128 {
	radius, angle := cmplx.Polar(z)
	return [8]complex128{cmplx.Sqrt(z), cmplx.Exp(z), cmplx.Log(z), cmplx.Log10(z), cmplx.Pow(z, w), complex(radius, angle), cmplx.Rect(radius, angle)}
}

func angles(z, _ complex128) [8]complex128 {
	return [8]complex128{cmplx.Sin(z), cmplx.Cos(z), cmplx.Tan(z), cmplx.Cot(z), cmplx.Sinh(z), cmplx.Cosh(z), cmplx.Tanh(z)}
}

func arcs(z, _ complex128) [8]complex128 {
	return [8]complex128{cmplx.Asin(z), cmplx.Acos(z), cmplx.Atan(z), cmplx.Asinh(z), cmplx.Acosh(z), cmplx.Atanh(z)}
}

// divided returns quotients and remainders. No quotient is too large.
func divided(hi, lo, y uint64) (r [11]uint64) {
	y |= 1
	var q32, r32 uint32
	y32 := uint32(y) | 1
	q32, r32 = bits.Div32(uint32(hi)%y32, uint32(lo), y32)
	r[0], r[1] = bits.Div64(hi%y, lo, y)
	q, rem := bits.Div(uint(hi%y), uint(lo), uint(y))
	r[2], r[3], r[4], r[5] = uint64(q), uint64(rem), uint64(q32), uint64(r32)
	r[6], r[7], r[8] = bits.Rem64(hi, lo, y), uint64(bits.Rem32(uint32(hi), uint32(lo), y32)), uint64(bits.Rem(uint(hi), uint(lo), uint(y)))
	return r
}

//halyard:kernel
func exactly(t grid.Thread, x, y []float64, n []int64, out grid.Out[[20]float64]) {
	if i := t.Global(0); i < len(out) {
		out[i] = Exact(x[i], y[i], n[i])
	}
}

//halyard:kernel
func gamma(t grid.Thread, x []float64, n []int64, out grid.Out[[8]float64]) {
	if i := t.Global(0); i < len(out) {
		out[i] = gammas(x[i])
	}
}

//halyard:kernel
func besselFirst(t grid.Thread, x []float64, n []int64, out grid.Out[[8]float64]) {
	if i := t.Global(0); i < len(out) {
		out[i] = first(x[i], n[i])
	}
}

//halyard:kernel
func besselSecond(t grid.Thread, x []float64, n []int64, out grid.Out[[8]float64]) {
	if i := t.Global(0); i < len(out) {
		out[i] = second(x[i], n[i])
	}
}

//halyard:kernel
func complexPowers(t grid.Thread, z, w []complex128, out grid.Out[[8]complex128]) {
	if i := t.Global(0); i < len(out) {
		out[i] = powers(z[i], w[i])
	}
}

//halyard:kernel
func complexAngles(t grid.Thread, z, w []complex128, out grid.Out[[8]complex128]) {
	if i := t.Global(0); i < len(out) {
		out[i] = angles(z[i], w[i])
	}
}

//halyard:kernel
func complexArcs(t grid.Thread, z, w []complex128, out grid.Out[[8]complex128]) {
	if i := t.Global(0); i < len(out) {
		out[i] = arcs(z[i], w[i])
	}
}

//halyard:kernel
func divide(t grid.Thread, hi, lo, y []uint64, out grid.Out[[11]uint64]) {
	if i := t.Global(0); i < len(out) {
		out[i] = divided(hi[i], lo[i], y[i])
	}
}

// faulty divides by zero, and has a quotient that is too large: on devices the results are 0.
//
//halyard:kernel
func faulty(t grid.Thread, y []uint64, out grid.Out[[2]uint64]) {
	if i := t.Global(0); i < len(out) {
		out[i][0], out[i][1] = bits.Div64(5, 7, y[i])
	}
}
