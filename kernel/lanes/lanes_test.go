//go:build go1.27 && goexperiment.simd && (amd64 || arm64 || wasm)

package lanes

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"simd"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

func hardware(t *testing.T) {
	t.Helper()
	if !Hardware() {
		t.Skip("the processor has no vectors")
	}
	t.Logf("vectors have %d bits", simd.VectorBitSize())
}

var floats = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -1.5, 1e-45, 3e9, -3e9, 5e9, 1 << 31, -1 << 31, 1<<31 - 128, 1 << 32, 1e19, -1e19, math.Inf(1), math.Inf(-1), math.NaN(), 65535.9}

func one64(r *rand.Rand) float64 { return floats[r.IntN(len(floats))] }

// same reports whether two numbers have the same bits, or are NaNs both.
func same(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b }

// The functions below hold the vectors, so that those of the tests have none: Go 1.27.0 does not compile closures in a function that has some.

func ofFloat32s(x, y [most]float32) (low, high [most]float32, ints [most]int32, units [most]uint32) {
	a, b := simd.LoadFloat32s(x[:]), simd.LoadFloat32s(y[:])
	MinFloat32s(a, b).Store(low[:])
	MaxFloat32s(a, b).Store(high[:])
	Int32sOfFloat32s(a).Store(ints[:])
	Uint32sOfFloat32s(a).Store(units[:])
	return low, high, ints, units
}

func ofFloat64s(x, y [most / 2]float64) (low, high [most / 2]float64, ints [most / 2]int64, units [most / 2]uint64) {
	a, b := simd.LoadFloat64s(x[:]), simd.LoadFloat64s(y[:])
	MinFloat64s(a, b).Store(low[:])
	MaxFloat64s(a, b).Store(high[:])
	Int64sOfFloat64s(a).Store(ints[:])
	Uint64sOfFloat64s(a).Store(units[:])
	return low, high, ints, units
}

// Minima, maxima and conversions of floats are those of Go, also for odd numbers.
func TestFloatsAreThoseOfGo(t *testing.T) {
	hardware(t)
	r := rand.New(rand.NewPCG(1, 1))
	for round := range 500 {
		var x, y [most]float32
		var p, q [most / 2]float64
		for i := range x {
			x[i], y[i] = float32(one64(r)), float32(one64(r))
			if round%2 == 0 { // all in range
				x[i] = float32(r.IntN(1 << 20))
			}
		}
		for i := range p {
			p[i], q[i] = one64(r), one64(r)
		}
		low, high, ints, units := ofFloat32s(x, y)
		for i := range width32() {
			assert.True(t, same(float64(min(x[i], y[i])), float64(low[i])), "min(%v, %v) is %v", x[i], y[i], low[i])
			assert.True(t, same(float64(max(x[i], y[i])), float64(high[i])), "max(%v, %v) is %v", x[i], y[i], high[i])
			assert.Equal(t, int32(x[i]), ints[i], "int32(%v)", x[i])
			assert.Equal(t, uint32(x[i]), units[i], "uint32(%v)", x[i])
		}
		low64, high64, ints64, units64 := ofFloat64s(p, q)
		for i := range width32() / 2 {
			assert.True(t, same(min(p[i], q[i]), low64[i]), "min(%v, %v) is %v", p[i], q[i], low64[i])
			assert.True(t, same(max(p[i], q[i]), high64[i]), "max(%v, %v) is %v", p[i], q[i], high64[i])
			assert.Equal(t, int64(p[i]), ints64[i], "int64(%v)", p[i])
			assert.Equal(t, uint64(p[i]), units64[i], "uint64(%v)", p[i])
		}
	}
}

// width32 returns the number of lanes of 32 bits.
func width32() int { return simd.VectorBitSize() / 32 }

func ofInt32s(x, y [most]int32, by uint64) (all [5][most]int32) {
	a, b := simd.LoadInt32s(x[:]), simd.LoadInt32s(y[:])
	ShiftLeftInt32s(a, by).Store(all[0][:])
	ShiftRightInt32s(a, by).Store(all[1][:])
	AndNotInt32s(a, b).Store(all[2][:])
	WrapInt8(a).Store(all[3][:])
	WrapInt16(a).Store(all[4][:])
	return all
}

func ofUint32s(x, y [most]uint32, by uint64) (all [5][most]uint32, f [most]float32) {
	a, b := simd.LoadUint32s(x[:]), simd.LoadUint32s(y[:])
	ShiftLeftUint32s(a, by).Store(all[0][:])
	ShiftRightUint32s(a, by).Store(all[1][:])
	XorUint32s(a, b).Store(all[2][:])
	WrapUint8(a).Store(all[3][:])
	WrapUint16(a).Store(all[4][:])
	Float32sOfUint32s(a).Store(f[:])
	return all, f
}

func ofInt64s(x, y [most / 2]int64, by uint64) (all [3][most / 2]int64, f [most / 2]float64) {
	a, b := simd.LoadInt64s(x[:]), simd.LoadInt64s(y[:])
	ShiftLeftInt64s(a, by).Store(all[0][:])
	ShiftRightInt64s(a, by).Store(all[1][:])
	MinInt64s(a, b).Store(all[2][:])
	Float64sOfInt64s(a).Store(f[:])
	return all, f
}

func ofUint64s(x, y [most / 2]uint64, by uint64) (all [4][most / 2]uint64) {
	a, b := simd.LoadUint64s(x[:]), simd.LoadUint64s(y[:])
	ShiftLeftUint64s(a, by).Store(all[0][:])
	ShiftRightUint64s(a, by).Store(all[1][:])
	AndNotUint64s(a, b).Store(all[2][:])
	MaxUint64s(a, b).Store(all[3][:])
	return all
}

// Shifts by any number, bits and narrow types are those of Go.
func TestWholeNumbersAreThoseOfGo(t *testing.T) {
	hardware(t)
	r := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		var x, y [most]int32
		var u, v [most]uint32
		var p, q [most / 2]int64
		var m, n [most / 2]uint64
		for i := range x {
			x[i], y[i], u[i], v[i] = int32(r.Uint32()), int32(r.Uint32()), r.Uint32()>>r.IntN(31), r.Uint32()
		}
		for i := range p {
			p[i], q[i], m[i], n[i] = int64(r.Uint64()), int64(r.Uint64()), r.Uint64()>>r.IntN(63), r.Uint64()
		}
		by := uint64(r.IntN(70))
		ints := ofInt32s(x, y, by)
		units, f := ofUint32s(u, v, by)
		for i := range width32() {
			want := fmt.Sprint(x[i]<<by, x[i]>>by, x[i]&^y[i], int8(x[i]), int16(x[i]))
			assert.Equal(t, want, fmt.Sprint(ints[0][i], ints[1][i], ints[2][i], ints[3][i], ints[4][i]), "%d, by %d", x[i], by)
			want = fmt.Sprint(u[i]<<by, u[i]>>by, u[i]^v[i], uint8(u[i]), uint16(u[i]), float32(u[i]))
			assert.Equal(t, want, fmt.Sprint(units[0][i], units[1][i], units[2][i], units[3][i], units[4][i], f[i]), "%d, by %d", u[i], by)
		}
		ints64, d := ofInt64s(p, q, by)
		units64 := ofUint64s(m, n, by)
		for i := range width32() / 2 {
			want := fmt.Sprint(p[i]<<by, p[i]>>by, min(p[i], q[i]), float64(p[i]))
			assert.Equal(t, want, fmt.Sprint(ints64[0][i], ints64[1][i], ints64[2][i], d[i]), "%d, by %d", p[i], by)
			want = fmt.Sprint(m[i]<<by, m[i]>>by, m[i]&^n[i], max(m[i], n[i]))
			assert.Equal(t, want, fmt.Sprint(units64[0][i], units64[1][i], units64[2][i], units64[3][i]), "%d, by %d", m[i], by)
		}
	}
}

func compared(place, n int) (less, equal [most]int32, less64 [most / 2]int64) {
	Lanes32().Less(Against32(place, n)).ToInt32s().Store(less[:])
	Lanes32().Equal(Against32(place, n)).ToInt32s().Store(equal[:])
	Lanes64().Less(Against64(place, n)).ToInt64s().Store(less64[:])
	return less, equal, less64
}

func converted(place int) (f [most]float32, d [most / 2]float64) {
	Float32s(place).Store(f[:])
	Float64s(place).Store(d[:])
	return f, d
}

// A lane's number compares with a limit as its place does, also where sums wrap around.
func TestPlacesCompareAsInGo(t *testing.T) {
	hardware(t)
	places := []int{0, 1, 5, -7, 100, 1 << 31, 1<<31 - 9, 1 << 24, math.MaxInt, math.MaxInt - 3, math.MinInt, math.MinInt + 2, 1 << 62, -1 << 62}
	for _, place := range places {
		for _, n := range append(places, place+3, place-2, place+9) {
			less, equal, less64 := compared(place, n)
			for i := range width32() {
				assert.Equal(t, place+i < n, less[i] != 0, "%d + %d < %d", place, i, n)
				assert.Equal(t, place+i == n, equal[i] != 0, "%d + %d == %d", place, i, n)
			}
			for i := range width32() / 2 {
				assert.Equal(t, place+i < n, less64[i] != 0, "%d + %d < %d", place, i, n)
			}
		}
		f, d := converted(place)
		for i := range width32() {
			assert.Equal(t, float32(place+i), f[i])
		}
		for i := range width32() / 2 {
			assert.Equal(t, float64(place+i), d[i])
		}
	}
}

func masked(low int32) (a [most + 1]int32, w [most + 1]uint16, any [5]bool) {
	on := Lanes32().Equal(AndInt32s(Lanes32(), simd.BroadcastInt32s(low)))
	StoreInt32s(simd.BroadcastInt32s(7), on, a[:])
	StoreUint16(simd.BroadcastUint32s(1<<16+9), on, w[:])
	return a, w, [5]bool{Any32(on), Any32(Without32(on, on)), Any32(Without32(on, All32())), Any64(Mask64(true)), Any64(Not64(All64()))}
}

// A masked store leaves alone what is not in the mask, and what is behind the vector.
func TestMaskedStores(t *testing.T) {
	hardware(t)
	a, w, any := masked(5)
	for i := range a {
		if i < width32() && i&5 == i {
			assert.Equal(t, fmt.Sprint(7, 9), fmt.Sprint(a[i], w[i]), i)
		} else {
			assert.Equal(t, fmt.Sprint(0, 0), fmt.Sprint(a[i], w[i]), i)
		}
	}
	assert.Equal(t, [5]bool{true, false, false, true, false}, any)
}

// Parts of slices are apart if they share no memory, or if each element is one of the other.
func TestApart(t *testing.T) {
	a := make([]float32, 40)
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&a[0])), 160)
	assert.True(t, Apart(a[:20], a[20:]))
	assert.True(t, Apart(a[:20], a[:20]))
	assert.True(t, Apart(a[:20], a[20:20]))
	assert.False(t, Apart(a[:20], a[1:21]))
	assert.False(t, Apart(a[1:21], a[:20]))
	assert.False(t, Apart(a[:20], a[19:]))
	assert.False(t, Apart(a[:20], bytes[:20]))
	assert.True(t, Apart(a[:20], bytes[80:]))
	assert.False(t, Disjoint(a[:20], a[:20]))
	assert.True(t, Disjoint(a[:20], a[20:]))
	assert.True(t, Disjoint(a[:0], a[:20]))
}

// The threads whose elements are within a slice are those for which Go does not panic.
func TestElementsWithAStepBetween(t *testing.T) {
	hardware(t)
	for _, step := range []int{2, 3, 7} {
		for offset := -20; offset < 20; offset++ {
			for n := range 30 {
				from, to := Within(2, 9, step, offset, n)
				for place := 2; place < 9; place++ {
					at := step*place + offset
					assert.Equal(t, at >= 0 && at < n, from <= place && place < to, "%d*%d%+d of %d", step, place, offset, n)
				}
			}
		}
	}
	for _, offset := range []int{math.MinInt, math.MaxInt, -1 << 60, 1 << 60} {
		from, to := Within(2, 9, 4, offset, 100)
		assert.GreaterOrEqual(t, from, to, "offset %d", offset)
	}
	for _, at := range []int{math.MinInt, -1, 0, 1, 5, 9, 10, math.MaxInt} {
		for _, step := range []int{math.MinInt, -10, -4, -1, 0, 1, 2, 3, 4, 10, math.MaxInt} {
			all := true
			for k := range 4 {
				i := new(big.Int).Add(big.NewInt(int64(at)), new(big.Int).Mul(big.NewInt(int64(step)), big.NewInt(int64(k))))
				all = all && i.Sign() >= 0 && i.Cmp(big.NewInt(10)) < 0
			}
			assert.Equal(t, all, Covers(at, step, 4, 10), "%d and %d apart", at, step)
		}
	}
	for _, step := range []int{-3, -1, 0, 2, 5} {
		at := max(0, -step*most)
		checkStep(t, at, step, GatherFloat32s, ScatterFloat32s)
		checkStep(t, at, step, GatherInt32s, ScatterInt32s)
		checkStep(t, at, step, GatherUint32s, ScatterUint32s)
		checkStep64(t, at, step, GatherFloat64s, ScatterFloat64s)
		checkStep64(t, at, step, GatherInt64s, ScatterInt64s)
		checkStep64(t, at, step, GatherUint64s, ScatterUint64s)
	}
	for _, n := range []int{0, 5, 11 + 9*width32() - 9, 11 + 9*width32() - 8, 11 + 9*width32()} { // four elements are within the last lane's reach, or not all
		for at := range 9 {
			checkFour(t, n, at, 9)
		}
		checkFour(t, n, n-2, -1)
	}
	arrays := [][2][3]int32{{{1, 2, 3}, {4, 5, 6}}, {{7, 8, 9}, {10, 11, 12}}}
	assert.Equal(t, []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, Flat[int32](arrays))
	assert.Empty(t, Flat[int32](arrays[:0]))
	var places [most / 2]int64
	storeSteps(&places, 7, -3)
	for i := range width32() / 2 {
		assert.EqualValues(t, 7-3*i, places[i])
	}
}

// checkFour compares four vectors with the elements of a slice of n elements. Those behind its end are 0.
func checkFour(t *testing.T, n, at, step int) {
	t.Helper()
	from := make([]int32, n)
	for i := range from {
		from[i] = int32(i + 1)
	}
	floats := make([]float32, n)
	for i := range floats {
		floats[i] = float32(i + 1)
	}
	var got, gotFloats [4][most]int32
	storeFour(&got, from, at, step)
	storeFourFloats(&gotFloats, floats, at, step)
	for c := range got {
		for lane := range width32() {
			want := 0
			if i := at + c + lane*step; i >= 0 && i < n {
				want = i + 1
			}
			assert.EqualValues(t, want, got[c][lane], "%d elements, place %d, step %d, lane %d", n, at+c, step, lane)
			assert.EqualValues(t, want, gotFloats[c][lane], "%d elements, place %d, step %d, lane %d", n, at+c, step, lane)
		}
	}
}

func storeFour(to *[4][most]int32, s []int32, at, step int) {
	a, b, c, d := FourInt32s(s, at, step)
	a.Store(to[0][:])
	b.Store(to[1][:])
	c.Store(to[2][:])
	d.Store(to[3][:])
}

func storeFourFloats(to *[4][most]int32, s []float32, at, step int) {
	a, b, c, d := FourFloat32s(s, at, step)
	a.ConvertToInt32().Store(to[0][:])
	b.ConvertToInt32().Store(to[1][:])
	c.ConvertToInt32().Store(to[2][:])
	d.ConvertToInt32().Store(to[3][:])
}

func storeSteps(to *[most / 2]int64, first, step int) { Steps(first, step).Store(to[:]) }

func checkStep[T int32 | uint32 | float32, V any](t *testing.T, at, step int, gather func([]T, int, int) V, scatter func(V, simd.Mask32s, []T, int, int)) {
	from, to := make([]T, 100), make([]T, 100)
	for i := range from {
		from[i] = T(i + 1)
	}
	scatter(gather(from, at, step), oddLanes32(), to, at, step)
	want := make([]T, 100)
	for i := 1; i < width32(); i += 2 {
		want[at+i*step] = from[at+i*step]
	}
	assert.Equal(t, want, to)
}

func checkStep64[T int64 | uint64 | float64, V any](t *testing.T, at, step int, gather func([]T, int, int) V, scatter func(V, simd.Mask64s, []T, int, int)) {
	from, to := make([]T, 100), make([]T, 100)
	for i := range from {
		from[i] = T(i + 1)
	}
	scatter(gather(from, at, step), oddLanes64(), to, at, step)
	want := make([]T, 100)
	for i := 1; i < width32()/2; i += 2 {
		want[at+i*step] = from[at+i*step]
	}
	assert.Equal(t, want, to)
}

func oddLanes32() simd.Mask32s {
	return AndInt32s(Lanes32(), simd.BroadcastInt32s(1)).Equal(simd.BroadcastInt32s(1))
}

func oddLanes64() simd.Mask64s {
	return AndInt64s(Lanes64(), simd.BroadcastInt64s(1)).Equal(simd.BroadcastInt64s(1))
}

// Numbers that are held in 64 bits are those of Go in fewer.
func TestWidenedNumbersAreThoseOfGo(t *testing.T) {
	hardware(t)
	r := rand.New(rand.NewPCG(1, 5))
	for range 200 {
		checkWidened(t, r, loadInt8, wrapInt8, cutInt8)
		checkWidened(t, r, loadInt16, wrapInt16, cutInt16)
		checkWidened(t, r, loadInt32, wrapInt32, cutInt32)
		checkWidened(t, r, loadUint8, wrapUint8, cutUint8)
		checkWidened(t, r, loadUint16, wrapUint16, cutUint16)
		checkWidened(t, r, loadUint32, wrapUint32, cutUint32)
		checkFloats(t, r)
	}
}

type number interface {
	~int8 | ~int16 | ~int32 | ~uint8 | ~uint16 | ~uint32
}

func checkWidened[T number, W int64 | uint64](t *testing.T, r *rand.Rand, load func(from, to []T, over *[most / 2]W), wrap func(*[most / 2]W), cut func(*[most / 2]float64, *[most / 2]W)) {
	from, to := make([]T, most/2), make([]T, most/2)
	var over, wraps, cuts [most / 2]W
	var f [most / 2]float64
	for i := range from {
		from[i], wraps[i], f[i] = T(r.Uint64()), W(r.Uint64()>>r.IntN(64)), one64(r)
	}
	load(from, to, &over)
	was := wraps
	wrap(&wraps)
	cut(&f, &cuts)
	for i := range width32() / 2 {
		assert.Equal(t, W(from[i]), over[i])
		assert.Equal(t, W(T(was[i])), wraps[i])
		assert.Equal(t, W(T(f[i])), cuts[i], "%T(%v)", from[i], f[i])
		if i%2 == 1 {
			assert.Equal(t, from[i], to[i])
		} else {
			assert.Zero(t, to[i])
		}
	}
}

// checkFloats compares numbers of 32 bits that are computed in 64 with those of Go.
func checkFloats(t *testing.T, r *rand.Rand) {
	x, y, stored := make([]float32, most/2), make([]float32, most/2), make([]float32, most/2)
	var i [most / 2]int64
	var u [most / 2]uint64
	for k := range x {
		x[k], y[k] = math.Float32frombits(r.Uint32()), math.Float32frombits(r.Uint32())
		if r.IntN(2) == 0 { // results that are not normal numbers
			x[k], y[k] = x[k]*1e-30, float32(one64(r))
		}
		i[k], u[k] = int64(r.Uint64())>>r.IntN(64), r.Uint64()>>r.IntN(64)
	}
	of, ofI, ofU, products, low := floatResults(x, y, i, u, stored)
	for k := range width32() / 2 {
		root := float32(math.Sqrt(float64(x[k])))
		for n, want := range [...]float32{x[k] + y[k], x[k] - y[k], x[k] * y[k], x[k] / y[k], root} {
			assert.True(t, same(float64(want), of[n][k]), "operation %d of %v and %v is %v, and should be %v", n, x[k], y[k], of[n][k], want)
		}
		assert.Equal(t, float64(float32(i[k])), ofI[k], "float32(%d)", i[k])
		assert.Equal(t, float64(float32(u[k])), ofU[k], "float32(%d)", u[k])
		assert.Equal(t, i[k]*int64(u[k]), products[k])
		assert.Equal(t, int32(i[k])*int32(u[k]), int32(low[k]))
		assert.True(t, same(float64(x[k]), float64(stored[k])))
	}
}

func floatResults(x, y []float32, i [most / 2]int64, u [most / 2]uint64, stored []float32) (of [5][most / 2]float64, ofI, ofU [most / 2]float64, products, low [most / 2]int64) {
	a, b := Load64Float32(x), Load64Float32(y)
	Wrap64Float32(a.Add(b)).Store(of[0][:])
	Wrap64Float32(a.Sub(b)).Store(of[1][:])
	Wrap64Float32(a.Mul(b)).Store(of[2][:])
	Wrap64Float32(a.Div(b)).Store(of[3][:])
	Wrap64Float32(a.Sqrt()).Store(of[4][:])
	Store64Float32(a, All64(), stored)
	c, d := simd.LoadInt64s(i[:]), simd.LoadUint64s(u[:])
	RoundInt64s(c).Store(ofI[:])
	RoundUint64s(d).Store(ofU[:])
	MulInt64s(c, d.BitsToInt64()).Store(products[:])
	MulLowInt64s(c, d.BitsToInt64()).Store(low[:])
	return of, ofI, ofU, products, low
}

func loadInt8(from, to []int8, over *[most / 2]int64) {
	v := Load64Int8(from)
	v.Store(over[:])
	Store64Int8(v, oddLanes64(), to)
}

func wrapInt8(a *[most / 2]int64) { Wrap64Int8(simd.LoadInt64s(a[:])).Store(a[:]) }

func cutInt8(a *[most / 2]float64, to *[most / 2]int64) {
	Cut64Int8(simd.LoadFloat64s(a[:])).Store(to[:])
}

func loadInt16(from, to []int16, over *[most / 2]int64) {
	v := Load64Int16(from)
	v.Store(over[:])
	Store64Int16(v, oddLanes64(), to)
}

func wrapInt16(a *[most / 2]int64) { Wrap64Int16(simd.LoadInt64s(a[:])).Store(a[:]) }

func cutInt16(a *[most / 2]float64, to *[most / 2]int64) {
	Cut64Int16(simd.LoadFloat64s(a[:])).Store(to[:])
}

func loadInt32(from, to []int32, over *[most / 2]int64) {
	v := Load64Int32(from)
	v.Store(over[:])
	Store64Int32(v, oddLanes64(), to)
}

func wrapInt32(a *[most / 2]int64) { Wrap64Int32(simd.LoadInt64s(a[:])).Store(a[:]) }

func cutInt32(a *[most / 2]float64, to *[most / 2]int64) {
	Cut64Int32(simd.LoadFloat64s(a[:])).Store(to[:])
}

func loadUint8(from, to []uint8, over *[most / 2]uint64) {
	v := Load64Uint8(from)
	v.Store(over[:])
	Store64Uint8(v, oddLanes64(), to)
}

func wrapUint8(a *[most / 2]uint64) { Wrap64Uint8(simd.LoadUint64s(a[:])).Store(a[:]) }

func cutUint8(a *[most / 2]float64, to *[most / 2]uint64) {
	Cut64Uint8(simd.LoadFloat64s(a[:])).Store(to[:])
}

func loadUint16(from, to []uint16, over *[most / 2]uint64) {
	v := Load64Uint16(from)
	v.Store(over[:])
	Store64Uint16(v, oddLanes64(), to)
}

func wrapUint16(a *[most / 2]uint64) { Wrap64Uint16(simd.LoadUint64s(a[:])).Store(a[:]) }

func cutUint16(a *[most / 2]float64, to *[most / 2]uint64) {
	Cut64Uint16(simd.LoadFloat64s(a[:])).Store(to[:])
}

func loadUint32(from, to []uint32, over *[most / 2]uint64) {
	v := Load64Uint32(from)
	v.Store(over[:])
	Store64Uint32(v, oddLanes64(), to)
}

func wrapUint32(a *[most / 2]uint64) { Wrap64Uint32(simd.LoadUint64s(a[:])).Store(a[:]) }

func cutUint32(a *[most / 2]float64, to *[most / 2]uint64) {
	Cut64Uint32(simd.LoadFloat64s(a[:])).Store(to[:])
}

func moved(from, to []float32, at int) { Store(Load[simd.Float32s](&from[at]), &to[at]) }

// A vector is loaded from and stored in the elements from the given one on, and no others.
func TestLoadAndStore(t *testing.T) {
	hardware(t)
	from := make([]float32, 3+width32())
	for i := range from {
		from[i] = float32(i + 1)
	}
	for at := range 4 {
		to, want := make([]float32, len(from)), make([]float32, len(from))
		moved(from, to, at)
		copy(want[at:], from[at:at+width32()])
		assert.Equal(t, want, to)
	}
}
