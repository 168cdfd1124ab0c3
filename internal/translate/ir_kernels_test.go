package translate_test

import (
	"math"
	"math/bits"
	"math/cmplx"

	"github.com/go-halyard/halyard/kernel/grid"
)

// The kernels of this file run as Go and in the interpreter. Each has a form of statement or expression that random kernels do not have.

type wave struct {
	Tag uint8
	Z   complex64
	W   [2]complex128
}

func twice[T complex64 | complex128](z T) T { return z + z }

//halyard:kernel
func wideComplex(t grid.Thread, x, y []complex128, out grid.Out[complex128], same []bool, f []float64) {
	i := t.Global(0)
	if i >= len(x) {
		return
	}
	z := x[i] * y[i]
	z += x[i] / y[i]
	z -= -y[i]
	z++
	out[i] = z - complex(real(x[i]), imag(y[i]))*(2-1i)
	same[i] = x[i] == y[i] || z != twice(z)
	f[i] = cmplx.Abs(x[i]) + cmplx.Phase(y[i]) + real(cmplx.Conj(z)) + float64(real(complex64(z)))
}

//halyard:kernel
func narrowComplex(t grid.Thread, x, y []complex64, out []wave) {
	i := t.Global(0)
	w := wave{Z: x[i] * y[i], W: [2]complex128{1: complex128(y[i])}}
	w.Z += x[i] / y[i]
	w.W[i&1] += complex(1, 2)
	var none wave
	if w != none {
		w.Tag++
	}
	out[i] = w
}

//halyard:kernel
func cells(t grid.Thread, from grid.Matrix[int32], to grid.OutMatrix[int32], counts grid.Matrix[int32], rows []wave) {
	i, j := t.Global(1), t.Global(0)
	if i >= from.Rows() || j >= from.Cols() {
		return
	}
	*counts.Ref(i, j) += int32(i)
	grid.AtomicAdd(counts.Ref(0, 0), 1)
	to.Set(i, j, sumOf(from, i)+from.At(i, from.Cols()-1-j))
	bump(counts.Ref(i, j), 3)
}

func sumOf(m grid.Matrix[int32], row int) (s int32) {
	for j := range m.Cols() {
		s += m.At(row, j)
	}
	return
}

func bump(p *int32, by int32) int32 { *p += by; return *p }

//halyard:kernel
func ordered(t grid.Thread, x, y []int32) {
	i := t.Global(0)
	v := [4]int32{1, 2, 3, 4}
	n := int32(0)
	v[bump(&n, 1)] += bump(&n, 1) // the index is computed once
	m := n
	v[m&3], m = m, v[bump(&n, 1)&3]
	n += m
	a, b := x[i], y[i]
	a, b = b, a
	v[0], v[1], v[2] = v[1], v[2], v[0]
	if a > 0 && bump(&n, 5) > 3 || b > bump(&n, 7) {
		n *= 2
	}
	for j, k := 0, int32(10); int32(j) < bump(&n, 0)%7 && k > 0; j, k = j+1, k-3 {
		if j == 2 {
			continue
		}
		v[j&3] += k
	}
	for n := range 3 { // n is changed within a round
		n *= 2
		v[n&3]++
	}
	for j := int32(9); j > 0; j-- { // j changes in two places
		if j == a&7 {
			j -= 3
		}
		n += j
	}
	for j := uint8(250); j != 4; j += 5 { // it wraps
		n ^= int32(j)
	}
	for j := int32(12); j >= n&3; j -= 4 { // its end changes
		n += j
	}
	y[i] = v[0] + v[1]*3 + v[2]*5 + v[3]*7 + n*11 + a
}

func pair(x int32) (q, r int32) {
	if q, r = x/7, x%7; r == 0 {
		return
	}
	return r, q
}

func plus(a, b int32) int32 { return a*10 + b }

//halyard:kernel
func left(t grid.Thread, x, y []int32) {
	i := t.Global(0)
	sum := plus(pair(x[i]))
outer:
	for j := 0; ; j++ {
		if j > 8 {
			break
		}
		for k := 10; k > 0; k -= 3 {
			switch v := int32(j * k); {
			case v == x[i]&15:
				break outer
			case v > 20:
				continue outer
			case v%2 == 0:
				sum++
				fallthrough
			case v == 1:
				sum += v
				if v == 4 {
					break
				}
				sum += 100
			default:
				sum -= v
			}
		}
	}
	switch bump(&sum, 1) % 4 {
	case bump(&sum, 2) & 3, 1:
		sum += 7
	case 2:
		sum += 8
	}
	var k int
	for k = range x {
		if x[k] > x[i] {
			break
		}
	}
	for _, y[i] = range x { // the last one stays
	}
	y[i] += sum + int32(k)
}

type tile [4]int32

func (p *tile) add(v int32) {
	for i := range p {
		p[i] += v
	}
}

func (p tile) sum() (s int32) {
	for _, v := range p {
		s += v
	}
	return s
}

type stack[T int32 | float64] struct {
	tile
	Items [3]T
	N     int
}

func (s *stack[T]) push(v T) {
	s.Items[s.N] = v
	s.N++
}

//halyard:kernel
func together(t grid.Thread, x, y []int32) {
	part := grid.Shared[[8]int32](t)
	var most = grid.Shared[[1]float64](t)
	me := t.Local(0)
	part[me] = x[t.Global(0)]
	var s stack[int32]
	var f stack[float64]
	for round := range 3 {
		t.Barrier()
		before := part[(me+round)%8]
		t.Barrier()
		bump(&part[me], before)
		s.push(before)
		f.push(float64(before) / 2)
	}
	grid.AtomicMax(&most[0], f.Items[1])
	t.Barrier()
	s.add(2)
	y[t.Global(0)] = part[7-me] + s.sum() + s.Items[2] + int32(most[0]) + total8(part)
}

func total8(p *[8]int32) (s int32) {
	for _, v := range p {
		s += v
	}
	return s
}

//halyard:kernel
func numbers(t grid.Thread, x []float64, u []uint32, out []float64) {
	i := t.Global(0)
	v, w := x[i], x[(i+1)%len(x)]
	q := float32(v)
	p := q * float32(w)
	out[i] = float64(p+1) + math.Max(v, w) + min(v, w, 2) - math.Pow(math.Abs(v), 0.5) + float64(float32(v*w)+q)
	n := u[i]
	hi, lo := bits.Mul32(n, n^0x5bd1e995)
	sum, carry := bits.Add64(uint64(hi)<<33, uint64(lo)<<40, 1)
	out[i] += float64(bits.RotateLeft8(uint8(n), int(hi&31))) + float64(int8(v)) + float64(uint64(v)) + float64(int32(sum>>7)>>(n%40)) + float64(carry)
	if math.Signbit(v) || math.IsInf(w, 0) {
		out[i] = math.Float64frombits(math.Float64bits(v) ^ 1)
	}
}

//halyard:kernel
func divides(t grid.Thread, x, y []int32) {
	y[t.Global(0)] = 12 /
		x[t.Global(0)]
}

//halyard:kernel
func shifts(t grid.Thread, x, y []int32) {
	y[t.Global(0)] = 12 << x[t.Global(0)]
}

//halyard:kernel
func beyond(t grid.Thread, x grid.Matrix[int32], y []int32) {
	y[0] = x.At(t.Global(0), 3)
}

//halyard:kernel
func below(t grid.Thread, x, y []int32) {
	v := [3]uint8{}
	y[0] = int32(v[x[0]-1])
}

func third(x []int32) int32 {
	return x[2]
}

//halyard:kernel
func beyondPart(t grid.Thread, x, y []int32) {
	y[0] = third(x[1:3]) // the slice has more elements
}

//halyard:kernel
func boundOfPart(t grid.Thread, x, y []int32) {
	part := x[2:6:6]
	copy(y, part[:5])
}

// With a second variable, even one that is not kept, Go evaluates what a range is over.
//
//halyard:kernel
func unkeptElement(t grid.Thread, x [][3]int32, y []int32) {
	//lint:ignore S1005 this form is what is tested
	for k, _ := range x[y[0]] {
		y[0] += int32(k)
	}
}

//halyard:kernel
func noElements(t grid.Thread, x, y []int32) {
	var none [0]int32
	y[0] = none[x[0]]
}
