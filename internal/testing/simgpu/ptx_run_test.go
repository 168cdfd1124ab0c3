package simgpu

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// seeded runs a test in the natural order of blocks and threads, and in others.
func seeded(t *testing.T, file, kernel string, test func(k *ptxKernel)) {
	t.Helper()
	k := loadPTX(t, file).kernel(kernel)
	for seed := range uint64(8) {
		k.seed = seed
		test(k)
	}
}

func numbers[T any](n int, next func(i int) T) []T {
	v := make([]T, n)
	for i := range v {
		v[i] = next(i)
	}
	return v
}

func TestSaxpy(t *testing.T) {
	seeded(t, "saxpy", "saxpy", func(k *ptxKernel) {
		const n = 1000
		x := numbers(n, func(i int) float32 { return float32(i) / 4 })
		y := numbers(n, func(i int) float32 { return float32(i % 17) })
		want := numbers(n, func(i int) float32 { return 2.5*x[i] + y[i] })
		k.must(line(8), line(128), 0, y, constant{x}, float32(2.5), uint32(n))
		require.Equal(t, want, y)
	})
}

func TestMatrixProduct(t *testing.T) {
	seeded(t, "matrix", "matrix", func(k *ptxKernel) {
		const n = 24
		a := numbers(n*n, func(i int) float32 { return float32(i%7 - 3) })
		b := numbers(n*n, func(i int) float32 { return float32(i%5) / 2 })
		got, want := make([]float32, n*n), make([]float32, n*n)
		for i := range n {
			for j := range n {
				for l := range n {
					want[i*n+j] += a[i*n+l] * b[l*n+j]
				}
			}
		}
		require.EqualValues(t, 512, k.shared)
		k.must([3]uint32{3, 3, 1}, [3]uint32{8, 8, 1}, 0, got, constant{a}, constant{b}, int32(n))
		require.Equal(t, want, got)
	})
}

func TestBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	seeded(t, "blocks", "reduce", func(k *ptxKernel) {
		x := numbers(1000, func(int) int32 { return rng.Int32N(2000) - 1000 })
		got, want := []int32{0}, int32(0)
		for _, v := range x {
			want += v
		}
		k.must(line(4), line(256), 1024, got, constant{x}, int32(len(x)))
		require.Equal(t, want, got[0])
	})
	seeded(t, "blocks", "scan", func(k *ptxKernel) {
		x := numbers(100, func(int) uint32 { return rng.Uint32N(100) })
		want := slices.Clone(x)
		for i := 1; i < len(x); i++ {
			want[i] += want[i-1]
		}
		k.must(line(1), line(128), 0, x, uint32(len(x)))
		require.Equal(t, want, x)
	})
	seeded(t, "blocks", "histogram", func(k *ptxKernel) {
		x := numbers(3000, func(int) uint8 { return uint8(rng.IntN(20) * 3) })
		got, want := make([]uint32, 256), make([]uint32, 256)
		for _, v := range x {
			want[v]++
		}
		k.must(line(3), line(96), 0, got, constant{x}, uint32(len(x)))
		require.Equal(t, want, got)
	})
	seeded(t, "blocks", "bitonic", func(k *ptxKernel) {
		x := numbers(256, func(int) int32 { return rng.Int32() - 1<<30 })
		want := slices.Sorted(slices.Values(x))
		k.must(line(1), line(128), 0, x)
		require.Equal(t, want, x)
	})
	seeded(t, "blocks", "votes", func(k *ptxKernel) {
		x := []int32{1, 9, 4, 3, 2, 7}
		got := make([]int32, 3*len(x))
		k.must(line(1), line(6), 0, got, constant{x})
		for i := range x {
			require.Equal(t, []int32{3, 0, 1}, got[3*i:3*i+3])
		}
	})
}

type pair struct {
	scale float64
	add   int32
	tag   int8
	_     [3]byte
}

func TestStructuresByValue(t *testing.T) {
	k := loadPTX(t, "shapes").kernel("by_value")
	require.Equal(t, []ptxParam{{8, 8, 0, 0}, {16, 8, 8, 0}, {16, 16, 32, 0}, {2, 2, 48, 0}, {1, 1, 50, 0}, {8, 8, 56, 0}}, k.params)
	got := make([]float64, 6)
	k.must(line(1), line(6), 0, got, pair{scale: 1.5, add: 7, tag: -3}, [4]float32{1, 2, 3, 4}, int16(-20), uint8(200), int64(1)<<40)
	for i, v := range got {
		require.Equal(t, 1.5*float64(i&3+1)+7-3-20+200+float64(int64(1)<<40), v)
	}
}

func TestStructuresKeepPadding(t *testing.T) {
	k := loadPTX(t, "shapes").kernel("padded")
	from := []pair{{scale: 1, add: 2, tag: 3}, {scale: 4, add: 5, tag: 6}, {scale: 7, add: 8, tag: 9}}
	to := make([]pair, 3)
	k.must(line(1), line(2), 0, to, constant{from}, int32(3))
	require.Equal(t, []pair{{scale: 7, add: 8, tag: 9}, {scale: 4, add: 6, tag: 6}, {scale: 1, add: 4, tag: 3}}, to)
}

func TestGridOfThreeDimensions(t *testing.T) {
	seeded(t, "shapes", "grid3", func(k *ptxKernel) {
		const w, h, d = 3 * 2, 2 * 3, 4 * 2
		got := make([]uint32, w*h*d)
		want := numbers(w*h*d, func(i int) uint32 { return uint32(i%w + 100*(i/w%h) + 10000*(i/w/h)) })
		k.must([3]uint32{3, 2, 4}, [3]uint32{2, 3, 2}, 0, got)
		require.Equal(t, want, got)
	})
}

func TestIndicesOf64Bits(t *testing.T) {
	k := loadPTX(t, "shapes").kernel("far")
	x := make([]float32, 90)
	const from = 5_000_000_000_000
	k.must(line(1), line(4), 0, x, int64(from), int64(3), int32(30))
	for i := range x {
		want := float32(0)
		if i%3 == 0 {
			want = float32(from/1000003 + i/3)
		}
		require.Equal(t, want, x[i])
	}
}

func TestVariablesOfTheModule(t *testing.T) {
	m := loadPTX(t, "shapes")
	k := m.kernel("variables")
	for round := range int32(2) {
		out, chars := make([]float32, 8), make([]int32, 8)
		k.must(line(1), line(8), 0, out, chars)
		require.Equal(t, []float32{0.5, 1.5, -2, 8, 0.5, 1.5, -2, 8}, out)
		for i, c := range chars {
			require.EqualValues(t, []string{"halyard", "rope"}[i&1][i&3], c)
		}
		require.Equal(t, 5+8*(round+1), *(*int32)(m.variable("counter", 4)), "a variable keeps its value between launches")
	}
}

func TestLocalArrays(t *testing.T) {
	seeded(t, "shapes", "locals", func(k *ptxKernel) {
		require.EqualValues(t, 64, k.local)
		order := numbers(20, func(i int) int32 { return int32(i * 7) })
		got := make([]int32, 5*16)
		var want []int32
		for tid := range int32(5) {
			a := numbers(16, func(i int) int32 { return int32(i*i) + tid })
			for i, o := range order {
				x, y := o&15, order[len(order)-1-i]&15
				v := a[x]
				a[x] = a[y] + 1
				a[y] = v
			}
			want = append(want, a...)
		}
		k.must(line(1), line(5), 0, got, constant{order}, int32(len(order)))
		require.Equal(t, want, got)
	})
}

func TestVectorsOfElements(t *testing.T) {
	k := loadPTX(t, "shapes").kernel("vectors")
	in := [][4]float32{{1, 2, 3, 4}, {5, 6, 7, 8}}
	out := make([][4]float32, 2)
	b := [][4]uint8{{1, 2, 3, 4}, {251, 252, 253, 254}}
	d := [][2]float64{{1, 2}, {3, 4}}
	k.must(line(1), line(2), 0, out, constant{in}, b, d)
	require.Equal(t, [][4]float32{{4, 3, 2, 1}, {8, 7, 6, 5}}, out)
	require.Equal(t, [][4]uint8{{4, 1, 2, 3}, {254, 251, 252, 253}}, b)
	require.Equal(t, [][2]float64{{2, 2}, {4, 8}}, d)
}

func TestLaunchBounds(t *testing.T) {
	k := loadPTX(t, "shapes").kernel("bounded")
	require.Equal(t, [3]uint64{64, 1, 1}, k.max)
	out := make([]int32, 65)
	k.must(line(1), line(64), 0, out)
	fault, reason := k.launch(line(1), line(65), 0, out)
	require.Equal(t, ptxLaunch, fault)
	require.Contains(t, reason, "a block has 65 threads, and may have at most 64")
	for _, shape := range [][2][3]uint32{{{0, 1, 1}, {1, 1, 1}}, {{1, 1, 1}, {1, 0, 1}}, {{1, 1, 1}, {1, 1, 65}}} {
		fault, _ = k.launch(shape[0], shape[1], 0, out)
		require.Equal(t, ptxLaunch, fault)
	}
	fault, reason = k.launch(line(1), line(1), 256<<10+1, out)
	require.Equal(t, ptxLaunch, fault)
	require.Contains(t, reason, "shared memory")
}

// edges returns pairs of numbers, beginning with those that arithmetic often gets wrong.
func edges[T any](n int, of func(uint64) T) (x, y []T) {
	known := []uint64{0, 1, 2, 7, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1 << 33, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	for _, a := range known {
		for _, b := range known {
			x, y = append(x, of(a)), append(y, of(b))
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for len(x) < n {
		x, y = append(x, of(rng.Uint64()>>rng.IntN(64))), append(y, of(rng.Uint64()>>rng.IntN(64)))
	}
	return x, y
}

func which(conditions ...bool) (n int) {
	for i, c := range conditions {
		if c {
			n |= 1 << i
		}
	}
	return n
}

// testIntegers compares a kernel for integers of some width, such as ints8, with Go's arithmetic.
func testIntegers[U interface {
	uint8 | uint16 | uint32 | uint64
}, S interface{ int8 | int16 | int32 | int64 }](t *testing.T, name string, width int) {
	k := loadPTX(t, "integers").kernel(name)
	x, y := edges(1000, func(v uint64) U { return U(v) })
	n := len(x)
	got := make([]U, 16*n)
	k.must(line(uint32(n+127)/128), line(128), 0, got, constant{x}, constant{y}, uint32(n))
	for i := range n {
		a, b := x[i], y[i]
		c, d := S(a), S(b)
		s := uint(b) & uint(width-1)
		var div, rem U
		var sdiv, srem S
		if b != 0 {
			div, rem = a/b, a%b
		}
		if d != 0 && d != -1 {
			sdiv, srem = c/d, c%d
		}
		abs := c
		if c < 0 {
			abs = -c
		}
		want := []U{a + b, a - b, a * b, div, rem, U(sdiv), U(srem), a << s, a >> s, U(c >> s), a&b | a ^ ^b, U(min(c, d)), max(a, b), U(abs),
			U(which(a < b, c < d, a <= b, c >= d, a == b)), a<<3 | a>>(width-3)}
		require.Equal(t, want, got[16*i:16*i+16], "%s: %x and %x", name, a, b)
	}
}

func TestIntegersOfEveryWidth(t *testing.T) {
	testIntegers[uint8, int8](t, "ints8", 8)
	testIntegers[uint16, int16](t, "ints16", 16)
	testIntegers[uint32, int32](t, "ints32", 32)
	testIntegers[uint64, int64](t, "ints64", 64)
}

func high(a, b uint64) uint64 { h, _ := bits.Mul64(a, b); return h }

func highSigned(a, b int64) uint64 {
	p := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
	return uint64(p.Rsh(p, 64).Int64())
}

func TestBitsAndProducts(t *testing.T) {
	k := loadPTX(t, "integers").kernel("bits")
	x, y := edges(600, func(v uint64) uint32 { return uint32(v) })
	n := len(x)
	out, wide := make([]uint32, 12*n), make([]uint64, 6*n)
	k.must(line(uint32(n+127)/128), line(128), 0, out, wide, constant{x}, constant{y}, uint32(n))
	for i := range n {
		a, b := x[i], y[i]
		both := uint64(b)<<32 | uint64(a)
		bytes := func(n int) uint32 { return uint32(both>>(8*n)) & 0xff }
		found := uint32(bits.TrailingZeros32(a)) + 1
		if a == 0 {
			found = 0
		}
		usad := max(a, b) - min(a, b) + 7
		// __byte_perm takes three bits of each digit: 9351 is 1, 5, 3, 1 from the lowest.
		perm := bytes(1) | bytes(5)<<8 | bytes(3)<<16 | bytes(1)<<24
		want := []uint32{uint32(bits.OnesCount32(a)), uint32(bits.LeadingZeros32(a)), bits.Reverse32(a), found, perm,
			uint32(both << (b & 31) >> 32), uint32(both >> min(b&63, 32)), uint32(uint64(a) * uint64(b) >> 32),
			uint32(uint64(int64(int32(a)) * int64(int32(b)) >> 32)), (a & 0xffffff) * (b & 0xffffff), usad,
			(a >> 5 & 0x3ff) ^ uint32(int32(a<<9)>>20)}
		require.Equal(t, want, out[12*i:12*i+12], "%x and %x", a, b)
		c := uint64(a)<<32 | uint64(b)
		wantWide := []uint64{uint64(bits.OnesCount64(c)), uint64(bits.LeadingZeros64(c)), bits.Reverse64(c), high(c, c^0x123456789abcdef),
			highSigned(int64(c), ^int64(c*3)), uint64(a)*uint64(b) + c}
		require.Equal(t, wantWide, wide[6*i:6*i+6], "%x", c)
	}
}

func TestSumsOfProducts(t *testing.T) {
	k := loadPTX(t, "integers").kernel("dots")
	x, y := edges(600, func(v uint64) uint32 { return uint32(v) })
	n := len(x)
	out := make([]uint32, 8*n)
	k.must(line(uint32(n+127)/128), line(128), 0, out, constant{x}, constant{y}, uint32(n))
	// part returns the i-th number of width bits.
	part := func(v uint32, i, width int, signed bool) int64 {
		v = v >> (i * width) << (32 - width)
		if signed {
			return int64(int32(v) >> (32 - width))
		}
		return int64(v >> (32 - width))
	}
	for i := range n {
		a, b := x[i], y[i]
		dot := func(parts int, signedA, signedB bool, b, sum uint32) uint32 {
			for i := range parts {
				sum += uint32(part(a, i, 32/parts, signedA) * part(b, i, 8, signedB))
			}
			return sum
		}
		minus := ^uint32(0)
		want := []uint32{dot(4, false, false, b, 7), dot(4, true, true, b, minus-6), dot(2, false, false, b, a), dot(2, false, false, b>>16, b),
			dot(2, true, true, b, 1), dot(2, true, true, b>>16, minus), dot(4, true, false, b, b), dot(2, false, true, b>>16, a)}
		require.Equal(t, want, out[8*i:8*i+8], "%x and %x", a, b)
	}
}

func TestNumbersOf128Bits(t *testing.T) {
	k := loadPTX(t, "integers").kernel("carries")
	x, y := edges(600, func(v uint64) uint64 { return v })
	n := len(x) / 2
	in := make([]uint64, 0, 4*n)
	for i := range n {
		in = append(in, x[i], y[i], y[n+i], x[n+i])
	}
	got := make([]uint64, 6*n)
	k.must(line(1), line(uint32(n)), 0, got, constant{in}, uint32(n))
	for i := range n {
		ah, al, bh, bl := in[4*i], in[4*i+1], in[4*i+2], in[4*i+3]
		sl, c := bits.Add64(al, bl, 0)
		sh, _ := bits.Add64(ah, bh, c)
		dl, c := bits.Sub64(al, bl, 0)
		dh, _ := bits.Sub64(ah, bh, c)
		mh, ml := bits.Mul64(al, bl)
		require.Equal(t, []uint64{sh, sl, dh, dl, mh + ah*bl + al*bh, ml}, got[6*i:6*i+6])
	}
}

func TestAtomics(t *testing.T) {
	seeded(t, "integers", "atomics", func(k *ptxKernel) {
		const n = 96
		u := []uint32{1, 1000, 5, 0, 0xffffff, 0, 4, 3, 1, 0}
		s := []int32{3, -500}
		l := []uint64{1, 2, 1, 0}
		f, d := []float32{1}, []float64{2}
		want := slices.Clone(u)
		least, chain := uint32(1000), uint64(1)
		for i := range uint32(n) {
			want[0] += 3
			want[1]--
			want[2] = max(want[2], i)
			want[3] |= 1 << (i & 31)
			want[4] &^= 1 << (i & 15)
			want[5] ^= i
			want[6]++
			if want[6] > 9 {
				want[6] = 0
			}
			want[7]--
			if want[7] > 9 {
				want[7] = 9
			}
			least = min(least, i*7%50+3)
			chain = chain*3 + 1
		}
		want[8], want[9] = 77, least
		k.must(line(1), line(n), 0, u, s, l, f, d)
		require.Equal(t, want, u)
		require.Equal(t, []int32{-95, -5}, s)
		require.Equal(t, []uint64{1 + n<<33, 95 << 40, chain, 95 * 96 / 2 << 30}, l)
		require.Equal(t, []float32{1 + n/2}, f)
		require.Equal(t, []float64{2 + n/4}, d)
	})
}

// truncated converts a number to an integer as PTX does, also a NaN and a number that does not fit.
func truncated(x float64, signed bool, width int, wideSource bool) int64 {
	if math.IsNaN(x) {
		switch {
		case width == 64:
			return math.MinInt64
		case !wideSource:
			return 0
		case signed:
			return math.MinInt32
		}
		return 1 << 31
	}
	lo, hi := new(big.Int), new(big.Int)
	if signed {
		hi.Sub(hi.Lsh(big.NewInt(1), uint(width-1)), big.NewInt(1))
		lo.Neg(new(big.Int).Lsh(big.NewInt(1), uint(width-1)))
	} else {
		hi.Sub(hi.Lsh(big.NewInt(1), uint(width)), big.NewInt(1))
	}
	v := new(big.Int)
	switch {
	case math.IsInf(x, 1):
		v = hi
	case math.IsInf(x, -1):
		v = lo
	default:
		new(big.Float).SetFloat64(x).Int(v)
	}
	if v.Cmp(lo) < 0 {
		v = lo
	} else if v.Cmp(hi) > 0 {
		v = hi
	}
	if v.IsInt64() {
		return v.Int64()
	}
	return int64(v.Uint64())
}

func TestFloatsToIntegers(t *testing.T) {
	k := loadPTX(t, "floats").kernel("to_ints")
	y := []float64{0, 0.5, -0.5, 1.5, 2.5, -1.5, -2.5, 3.99999, -3.99999, 127.5, 1e9, -1e9, 2147483647, 2147483648, -2147483648, -2147483649, 4294967295.5,
		4294967296, 1e15, -1e15, 9.3e18, -9.3e18, 1.8e19, 1.9e19, 1e300, -1e300, 1e-320, math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1)}
	x := numbers(len(y), func(i int) float32 { return float32(y[i]) })
	got := make([]int64, 12*len(x))
	k.must(line(1), line(uint32(len(x))), 0, got, constant{x}, constant{y}, uint32(len(x)))
	for i := range x {
		f, d := float64(x[i]), y[i]
		want := []int64{truncated(f, true, 32, false), truncated(f, false, 32, false), truncated(f, true, 64, false), truncated(f, false, 64, false),
			truncated(d, true, 32, true), truncated(d, false, 32, true), truncated(d, true, 64, true), truncated(d, false, 64, true),
			truncated(math.RoundToEven(f), true, 32, false), truncated(math.Ceil(f), true, 32, false), truncated(math.Floor(f), true, 32, false),
			truncated(math.RoundToEven(d), true, 32, true)}
		require.Equal(t, want, got[12*i:12*i+12], "%v", d)
	}
}

func TestIntegersToFloats(t *testing.T) {
	k := loadPTX(t, "floats").kernel("from_ints")
	x, _ := edges(500, func(v uint64) int64 { return int64(v) })
	f, d := make([]float32, 4*len(x)), make([]float64, 4*len(x))
	k.must(line(1), line(uint32(len(x))), 0, f, d, constant{x}, uint32(len(x)))
	for i, v := range x {
		require.Equal(t, []float32{float32(int32(v)), float32(uint32(v)), float32(v), float32(uint64(v))}, f[4*i:4*i+4], "%x", v)
		require.Equal(t, []float64{float64(int8(v)), float64(uint16(v)), float64(v), float64(uint64(v))}, d[4*i:4*i+4], "%x", v)
	}
}

// rounded computes with 4000 bits and rounds once.
func rounded(precision uint, mode big.RoundingMode, compute func(z *big.Float) *big.Float) float64 {
	z := compute(new(big.Float).SetPrec(4000))
	r := new(big.Float).SetPrec(precision).SetMode(mode).Set(z)
	v, _ := r.Float64()
	return v
}

func TestArithmeticIsExact(t *testing.T) {
	k := loadPTX(t, "floats").kernel("exact")
	rng := rand.New(rand.NewPCG(5, 6))
	number := func(int) float32 {
		// Within a range in which nothing overflows or loses bits below.
		return float32((rng.Float64() - 0.5) * math.Exp2(float64(rng.IntN(40)-20)))
	}
	const n = 1000
	x, y := numbers(n, number), numbers(n, number)
	f, d := make([]float32, 14*n), make([]float64, 8*n)
	k.must(line(1), line(n), 0, f, d, constant{x}, constant{y}, uint32(n))
	b := func(x float64) *big.Float { return new(big.Float).SetPrec(4000).SetFloat64(x) }
	even, zero, up, down := big.ToNearestEven, big.ToZero, big.ToPositiveInf, big.ToNegativeInf
	for i := range n {
		a, c := float64(x[i]), float64(y[i])
		single := func(mode big.RoundingMode, compute func(z *big.Float) *big.Float) float32 {
			return float32(rounded(24, mode, compute))
		}
		sum := func(z *big.Float) *big.Float { return z.Add(b(a), b(c)) }
		product := func(z *big.Float) *big.Float { return z.Mul(b(a), b(c)) }
		quotient := func(z *big.Float) *big.Float { return z.Quo(b(a), b(c)) }
		want := []float32{single(even, sum), single(even, product),
			single(even, func(z *big.Float) *big.Float { return z.Add(product(z), b(a)) }), single(even, quotient),
			single(even, func(z *big.Float) *big.Float { return z.Sqrt(b(math.Abs(a))) }),
			single(even, func(z *big.Float) *big.Float { return z.Quo(b(1), b(c)) }),
			single(zero, sum), single(up, product), single(down, quotient), min(x[i], y[i]), max(x[i], -y[i]), float32(math.Copysign(a, c))}
		require.Equal(t, want, f[14*i:14*i+12], "%v and %v", a, c)
		tail := float32(math.Trunc(a)) + float32(math.RoundToEven(c))
		tail = float32(tail + float32(math.Floor(a)))
		tail = float32(tail + float32(math.Ceil(c)))
		p, q := a/3, c*1.1
		require.Equal(t, []float32{tail, float32(p)}, f[14*i+12:14*i+14])
		double := func(mode big.RoundingMode, compute func(z *big.Float) *big.Float) float64 {
			return rounded(53, mode, compute)
		}
		sum = func(z *big.Float) *big.Float { return z.Add(b(p), b(q)) }
		require.Equal(t, []float64{double(even, sum), double(even, func(z *big.Float) *big.Float { return z.Mul(b(p), b(q)) }), math.FMA(p, q, p), p / q,
			math.Sqrt(math.Abs(p)), double(up, sum), min(p, q), float64(4 * which(math.Signbit(a)))}, d[8*i:8*i+8], "%v and %v", p, q)
	}
}

func TestSpecialNumbers(t *testing.T) {
	k := loadPTX(t, "floats").kernel("exact")
	inf, nan, tiny := float32(math.Inf(1)), float32(math.NaN()), math.Float32frombits(1)
	x := []float32{inf, inf, nan, 0, 0, tiny, -tiny, math.MaxFloat32}
	y := []float32{-inf, 0, 1, 0, float32(math.Copysign(0, -1)), tiny, 0.5, math.MaxFloat32}
	f, d := make([]float32, 14*len(x)), make([]float64, 8*len(x))
	k.must(line(1), line(uint32(len(x))), 0, f, d, constant{x}, constant{y}, uint32(len(x)))
	pattern := func(i, j int) uint32 { return math.Float32bits(f[14*i+j]) }
	require.EqualValues(t, 0x7fffffff, pattern(0, 0), "inf - inf")
	require.EqualValues(t, 0x7fffffff, pattern(1, 1), "inf * 0")
	require.EqualValues(t, 0x7fffffff, pattern(2, 3), "NaN / 1")
	require.EqualValues(t, 1, f[14*2+9], "min(NaN, 1)")
	require.EqualValues(t, 0x80000000, pattern(4, 9), "min(0, -0)")
	require.EqualValues(t, 0, pattern(4, 10), "max(0, 0)")
	require.EqualValues(t, 0xff800000, pattern(4, 5), "1 / -0")
	require.EqualValues(t, 2, pattern(5, 0), "numbers below the normal ones are added")
	require.EqualValues(t, 0x80000000, pattern(6, 1), "-tiny/2 to nearest")
	require.EqualValues(t, 0x7f800000, pattern(7, 0), "overflow")
	require.EqualValues(t, 0x7f7fffff, pattern(7, 6), "overflow toward zero")
	require.EqualValues(t, 1, d[8*2+7], "isnan")
	require.EqualValues(t, 2, d[8*0+7], "isinf")
}

// The functions of the mathematical library are hundreds of instructions each. They must come near to Go's.
func TestMathematicalLibrary(t *testing.T) {
	k := loadPTX(t, "floats").kernel("library")
	x := []float32{0, 0.1, -0.5, 1, -1, 2.25, 3.14159, -7, 12.5, 31, -50, 88, 1000.5, 123456.7, -3e7, 1e-3}
	n := len(x)
	f, d := make([]float32, 10*n), make([]float64, 6*n)
	k.must(line(1), line(uint32(n)), 0, f, d, constant{x}, uint32(n))
	for i, v := range x {
		a := float64(v)
		b := math.Abs(a)
		want := []float64{math.Sin(a), math.Cos(a), math.Exp(a), math.Log(b + 1), math.Pow(b, float64(float32(1.7))), math.Tanh(a), math.Sqrt(b), math.Atan(a),
			math.Mod(a, 2.5), 1 / math.Sqrt(b+1)}
		for j, w := range want {
			got := float64(f[10*i+j])
			if w > math.MaxFloat32 {
				require.True(t, math.IsInf(got, 1))
				continue
			}
			require.InDelta(t, w, got, 1e-6*max(1, math.Abs(w))+1e-30, "single function %d of %v", j, a)
		}
		want = []float64{math.Sin(a), math.Exp(a), math.Log(b + 1), math.Pow(b, 0.3), math.Atan2(a, 2), math.Mod(a, 0.7)}
		for j, w := range want {
			require.InDelta(t, w, d[6*i+j], 1e-13*max(1, math.Abs(w)), "double function %d of %v", j, a)
		}
	}
}

func TestMandelbrot(t *testing.T) {
	seeded(t, "floats", "mandelbrot", func(k *ptxKernel) {
		const w, h, limit = 37, 21, 60
		got := make([]int32, w*h)
		k.must([3]uint32{5, 3, 1}, [3]uint32{8, 8, 1}, 0, got, int32(w), int32(h), int32(limit))
		// The compiler fuses products and sums, so that a few points at the border differ.
		differ := 0
		for i := range got {
			cx, cy := -2+3*float64(i%w)/w, -1+2*float64(i/w)/h
			x, y, n := 0.0, 0.0, int32(0)
			for ; n < limit && x*x+y*y <= 4; n++ {
				x, y = x*x-y*y+cx, 2*x*y+cy
			}
			if n != got[i] {
				differ++
			}
		}
		require.Less(t, differ, 8)
	})
}

func TestRootsInDoublePrecision(t *testing.T) {
	k := loadPTX(t, "floats").kernel("roots")
	x := numbers(100, func(i int) float64 { return float64(i*i) + 0.25 })
	want := numbers(100, func(i int) float64 { return math.Sqrt(x[i]) })
	k.must(line(2), line(64), 0, x, uint32(len(x)))
	for i := range x {
		require.InEpsilon(t, want[i], x[i], 1e-15)
	}
}

func TestSwitch(t *testing.T) {
	seeded(t, "control", "choose", func(k *ptxKernel) {
		x := []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, -1, 1 << 30}
		n := int32(len(x))
		out := numbers(int(2*n), func(i int) int32 { return int32(i * 11) })
		in := slices.Clone(out)
		// Case 6 reads what case 7 writes only if their places meet: they do not.
		k.must(line(1), line(16), 0, out, constant{x}, n)
		want := slices.Clone(in)
		for i, v := range x {
			i := int32(i)
			switch v {
			case 0:
				want[i] = in[i] * 3
			case 1:
				want[i] = in[i]/7 + n
			case 2:
				want[i+n], want[i] = 5, -1
			case 3:
				want[i] = v << i
			case 4:
				want[i] = in[i] ^ 0x55
			case 5:
				want[i] = i%3 - in[i]
			case 6:
				want[i] = in[2*n-1-i]
			case 7:
				want[i], want[i+n] = 1000, i
			default:
				want[i] = 99
			}
		}
		require.Equal(t, want, out)
	})
}

func TestTableOfBranches(t *testing.T) {
	code := []byte{0, 5, 1, 2, 5, 6, 1, 4, 7, 8, 9, 2, 10, 11, 1, 6, 2, 0, 100, 12, 2, 3, 1, 0, 7, 13, 1}
	seeded(t, "control", "machine", func(k *ptxKernel) {
		const threads = 6
		got, want := make([]int32, 2*threads), make([]int32, 2*threads)
		for i := range int32(threads) {
			var stack [8]int32
			top, acc, steps := 0, i, int32(0)
			for at := 0; at < len(code); at++ {
				steps++
				switch code[at] {
				case 0:
					at++
					acc += int32(code[at])
				case 1:
					acc *= 3
				case 2:
					stack[top&7] = acc
					top++
				case 3:
					top--
					acc = stack[top&7]
				case 4:
					acc = -acc
				case 5:
					acc ^= steps
				case 6:
					if acc&1 != 0 {
						at += int(code[at+1])
					}
				case 7:
					want[i] = acc
				case 8:
					acc = want[i] / 2
				case 9:
					acc <<= 2
				case 10:
					acc = acc%1000 + stack[(top-1)&7]
				case 11:
					acc++
				case 12:
					acc = int32(bits.OnesCount32(uint32(acc)))
				default:
					at = len(code)
				}
			}
			want[threads+i] = acc
		}
		k.must(line(1), line(threads), 0, got, constant{code}, int32(len(code)))
		require.Equal(t, want, got)
	})
}

func TestCalls(t *testing.T) {
	seeded(t, "control", "calls", func(k *ptxKernel) {
		x := []int32{3, -4, 5, 12, 7, 0, 9}
		got := make([]int32, 4*len(x))
		k.must(line(1), line(uint32(len(x))), 0, got, constant{x})
		fibonacci := []int32{0, 1, 1, 2, 3, 5, 8, 13}
		for i, v := range x {
			j := i % 6
			b := v + int32(5-j) + int32(1.5*float64(j))
			require.Equal(t, []int32{v*v*v + b, v * v, fibonacci[v&7], int32(i * i)}, got[4*i:4*i+4])
		}
	})
}

// The order of blocks and threads follows the seed, and all of them run.
func TestSeedChangesTheOrder(t *testing.T) {
	m, reason := parsePTX(t, `.version 7.0
.target sm_70
.address_size 64
.visible .entry order(.param .u64 next, .param .u64 out) {
	.reg .b32 %r<6>;
	.reg .b64 %rd<5>;
	ld.param.u64 %rd1, [next];
	ld.param.u64 %rd2, [out];
	atom.global.add.u32 %r1, [%rd1], 1;
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, %ntid.x;
	mov.u32 %r4, %tid.x;
	mad.lo.s32 %r5, %r2, %r3, %r4;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd4, %rd2, %rd3;
	st.global.u32 [%rd4], %r5;
	ret;
}`)
	require.NotNil(t, m, reason)
	k := m.kernel("order")
	orders := map[[24]uint32]bool{}
	for seed := range uint64(20) {
		k.seed = seed
		next, out := []uint32{0}, make([]uint32, 24)
		k.must(line(4), line(6), 0, next, out)
		orders[[24]uint32(out)] = true
		require.EqualValues(t, 24, next[0])
		sorted := slices.SortedFunc(slices.Values(out), cmp.Compare[uint32])
		for i, v := range sorted {
			require.EqualValues(t, i, v)
		}
		if seed == 0 {
			require.True(t, slices.IsSorted(out))
		}
		again := make([]uint32, 24)
		k.must(line(4), line(6), 0, []uint32{0}, again)
		require.Equal(t, out, again, "the same seed makes the same choices")
	}
	require.Greater(t, len(orders), 15)
}
