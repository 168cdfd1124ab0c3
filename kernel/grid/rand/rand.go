// Package rand has random numbers for kernels that are written in Go. They are the same on the host and on every device:
//
//	//halyard:kernel
//	func estimate(t grid.Thread, seed uint64, inside []uint32) {
//		if i := t.Global(0); i < len(inside) {
//			r := rand.New(seed, i)
//			for range 1000 {
//				if x, y := r.Float32(), r.Float32(); float32(x*x)+float32(y*y) < 1 {
//					inside[i]++
//				}
//			}
//		}
//	}
//
// A generator is a value of 40 bytes that a thread keeps in a variable. Making one costs nothing, so threads need no memory for it from one
// launch to the next: the numbers follow from the seed, from the number of the stream, and from how many were taken before. The methods
// have the names that they have in math/rand/v2. They work in programs for the host as well.
//
// The numbers are those of Philox4x32-10 (Salmon, Moraes, Dror and Shaw: Parallel Random Numbers: As Easy as 1, 2, 3. SC 2011). They are
// not for secrets.
package rand

import (
	"math"
	"math/bits"
)

// Rand is a generator: the numbers of one stream. Its zero value is that of New(0, 0).
type Rand struct {
	seed, stream, blocks uint64 // blocks is how many blocks of four numbers have been computed
	a, b, c              uint32 // the next numbers
	left                 uint32 // how many of them there are
}

// New returns the generator of a stream, such as t.Global(0) for one in each thread. Streams with different numbers, or of different seeds,
// share no sequence of numbers. Each has 2^66 numbers.
func New(seed uint64, stream int) Rand { return Rand{seed: seed, stream: uint64(stream)} }

// Uint32 returns a number with 32 random bits.
func (r *Rand) Uint32() uint32 {
	if r.left == 0 {
		return r.block()
	}
	v := r.a
	r.a, r.b = r.b, r.c
	r.left--
	return v
}

// block computes the next four numbers. It returns the first, and keeps the others.
func (r *Rand) block() uint32 {
	x := Philox([4]uint32{uint32(r.blocks), uint32(r.blocks >> 32), uint32(r.stream), uint32(r.stream >> 32)}, [2]uint32{uint32(r.seed),
		uint32(r.seed >> 32)})
	r.blocks++
	r.a, r.b, r.c, r.left = x[1], x[2], x[3], 3
	return x[0]
}

// Uint64 returns a number with 64 random bits.
func (r *Rand) Uint64() uint64 {
	low := r.Uint32()
	high := r.Uint32()
	return uint64(high)<<32 | uint64(low)
}

// IntN returns a number from 0 to n-1, or 0 if n < 1. All are equally likely, up to a relative difference of n/2^64.
func (r *Rand) IntN(n int) int {
	high, _ := bits.Mul64(r.Uint64(), uint64(max(n, 0)))
	return int(high)
}

// Float32 returns a multiple of 2^-24 that is at least 0 and less than 1.
func (r *Rand) Float32() float32 { return float32(r.Uint32()>>8) * (1.0 / (1 << 24)) }

// Float64 returns a multiple of 2^-53 that is at least 0 and less than 1.
func (r *Rand) Float64() float64 { return float64(r.Uint64()>>11) * (1.0 / (1 << 53)) }

// NormFloat64 returns a normally distributed number with mean 0 and standard deviation 1. It computes with float64 (Marsaglia's polar
// method), and uses only operations that all devices round alike.
func (r *Rand) NormFloat64() float64 {
	x, square := 0.0, 0.0
	for square == 0 || square >= 1 {
		x = float64(int32(r.Uint32())) * (1.0 / (1 << 31))
		y := float64(int32(r.Uint32())) * (1.0 / (1 << 31))
		square = float64(x*x) + float64(y*y)
	}
	return x * math.Sqrt(float64(-2*log(square))/square)
}

// log returns the logarithm of a positive normal number, to a few units in the last place. Devices' own logarithms differ.
func log(x float64) float64 {
	const digits = 52
	b := math.Float64bits(x)
	exponent := int64(b>>digits) - 1023
	m := math.Float64frombits(b<<12>>12 | 1023<<digits) // 1 to 2
	if m > math.Sqrt2 {
		m *= 0.5
		exponent++
	}
	// log(m) = 2*atanh(f) = 2*(f + f³/3 + f⁵/5 + ...), and f is at most 0.172.
	f := (m - 1) / (m + 1)
	s := f * f
	sum := 0.0
	for n := 21; n > 1; n -= 2 {
		sum = float64((sum + 1/float64(n)) * s)
	}
	return float64(float64(exponent)*math.Ln2) + float64(2*f*(1+sum))
}

// Philox returns four numbers with 32 random bits, which follow from a counter and a key: Philox4x32 with 10 rounds.
func Philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	a, b, c, d, k, l := counter[0], counter[1], counter[2], counter[3], key[0], key[1]
	for range 10 {
		p, q := uint64(a)*0xd2511f53, uint64(c)*0xcd9e8d57
		a, b, c, d = uint32(q>>32)^b^k, uint32(q), uint32(p>>32)^d^l, uint32(p)
		k += 0x9e3779b9
		l += 0xbb67ae85
	}
	return [4]uint32{a, b, c, d}
}
