//go:build go1.27 && goexperiment.simd && amd64

package lanes

import (
	"math"
	"simd"
	"simd/archsimd"
)

// ExpFloat32s returns float32(math.Exp(float64(x))) for the number x of each lane.
func ExpFloat32s(x simd.Float32s) simd.Float32s {
	v, ok := x.ToArch().(archsimd.Float32x8)
	if !ok || !exact {
		return EachFloat32s(math.Exp, x)
	}
	// Numbers that are farther from 0 have the result of 200 or -200: infinity, or 0. Min and Max return the second number if one of the two is a NaN.
	v = archsimd.BroadcastFloat32x8(200).Min(archsimd.BroadcastFloat32x8(-200).Max(v))
	a, b := exp(v.GetLo().ConvertToFloat64()), exp(v.GetHi().ConvertToFloat64())
	return simd.Float32sFromArch(v.SetLo(a.ConvertToFloat32()).SetHi(b.ConvertToFloat32()))
}

// ExpFloat64s returns math.Exp(x) for the number x of each lane.
func ExpFloat64s(x simd.Float64s) simd.Float64s {
	v, ok := x.ToArch().(archsimd.Float64x4)
	if !ok || !exact || Any64(Not64(x.Abs().LessEqual(simd.BroadcastFloat64s(700)))) {
		return EachFloat64s(math.Exp, x)
	}
	return simd.Float64sFromArch(exp(v))
}

// exact says whether exp has the bits of math.Exp, which may have other operations in another release of Go, or without FMA.
var exact = archsimd.X86.AVX2() && archsimd.X86.FMA() && func() bool {
	same := true
	for i := range 16 {
		x := [4]float64{float64(i) + 0.3, float64(-i) / 7, float64(i*i) / 11, -float64(i*i) / 3}
		y := x
		exp(archsimd.LoadFloat64x4Array(&x)).StoreArray(&y)
		ClearUpper()
		for k := range x {
			same = same && y[k] == math.Exp(x[k])
		}
	}
	return same
}()

// series has the factors of the powers of a number in its exponential function, from the last one on.
var series = [...]float64{2.4801587301587301587e-5, 1.9841269841269841270e-4, 1.3888888888888888889e-3, 8.3333333333333333333e-3, 4.1666666666666666667e-2,
	1.6666666666666666667e-1, 0.5, 1}

// exp returns math.Exp(x) for numbers from -700 to 700, and a NaN for a NaN. It does what math/exp_amd64.s does with FMA, in the same order.
func exp(x archsimd.Float64x4) archsimd.Float64x4 {
	n := x.Mul(archsimd.BroadcastFloat64x4(1.4426950408889634073599246810018920)).Round()
	x = n.MulAdd(archsimd.BroadcastFloat64x4(-0.69314718055966295651160180568695068359375), x)
	x = n.MulAdd(archsimd.BroadcastFloat64x4(-0.28235290563031577122588448175013436025525412068e-12), x)
	x = x.Mul(archsimd.BroadcastFloat64x4(0.0625))
	sum := archsimd.BroadcastFloat64x4(series[0])
	for _, factor := range series[1:] {
		sum = sum.MulAdd(x, archsimd.BroadcastFloat64x4(factor))
	}
	x = x.Mul(sum)
	two := archsimd.BroadcastFloat64x4(2)
	x = x.Mul(x.Add(two))
	x = x.Mul(x.Add(two))
	x = x.Mul(x.Add(two))
	x = x.MulAdd(x.Add(two), archsimd.BroadcastFloat64x4(1))
	power := n.ConvertToInt32().ExtendToInt64().Add(archsimd.BroadcastInt64x4(1023)).ShiftAllLeft(52)
	return x.Mul(power.ToBits().BitsToFloat64())
}
