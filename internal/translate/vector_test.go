package translate

import (
	"context"
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate/lanes"
	"github.com/go-halyard/halyard/internal/translate/load"
)

var (
	vectorKernels = flag.Int("vectors", 50, "how many random kernels to compare as vectors")
	vectorWidths  = flag.String("widths", "128,256", "the bits of the vectors, with commas between them")
	vectorArm64   = flag.String("arm64", "", "compile them for arm64, and run them with this emulator")
)

// laneRunner is the program that runs random kernels thread by thread, and with vectors as far as they go. It compares all memory.
const laneRunner = `package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"simd"
	"unsafe"

	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

type float interface{ ~float32 | ~float64 }

// memory is what a kernel's slices are parts of. Slices may share it.
type memory[F float, I, U any] struct {
	f []F
	i []I
	w []uint16
	s []int8
	p []float32
	q []int32
}

func (m memory[F, I, U]) clone() memory[F, I, U] {
	return memory[F, I, U]{append([]F(nil), m.f...), append([]I(nil), m.i...), append([]uint16(nil), m.w...), append([]int8(nil), m.s...),
		append([]float32(nil), m.p...), append([]int32(nil), m.q...)}
}

var floats = []float64{0, 1, -1, 0.5, -0.5, 1.5, 2.5, 3e9, -3e9, 5e9, 1e19, 300, -300, 1e-40, 1e-45, math.MaxFloat32, math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1), 3.1415927, 65535.9, 2147483520, 1e10, -0.9, 2, 3, 4, -7, 100, 0.1, 0.2, 0.3}

func fill[F float, I, U any](r *rand.Rand, size int, integer func(uint64) I) memory[F, I, U] {
	m := memory[F, I, U]{make([]F, size), make([]I, size), make([]uint16, size), make([]int8, size), make([]float32, size), make([]int32, size)}
	for k := range size {
		m.f[k] = F(floats[r.IntN(len(floats))])
		if r.IntN(2) == 0 {
			m.f[k] = F(float64(int64(r.Uint64()>>40)-1<<23) / 65536)
		}
		m.i[k] = integer(r.Uint64() >> (r.IntN(61)))
		m.w[k], m.s[k], m.q[k] = uint16(r.Uint64()), int8(r.Uint64()), int32(r.Uint64()>>r.IntN(61))
		m.p[k] = float32(floats[r.IntN(len(floats))])
	}
	return m
}

func alike[F float, I comparable, U any](a, b memory[F, I, U]) string {
	for k := range a.f {
		if math.Float64bits(float64(a.f[k])) != math.Float64bits(float64(b.f[k])) && !(a.f[k] != a.f[k] && b.f[k] != b.f[k]) {
			return fmt.Sprintf("float %d is %v (%#x), and %v (%#x) with vectors", k, a.f[k], math.Float64bits(float64(a.f[k])), b.f[k], math.Float64bits(float64(b.f[k])))
		}
		if math.Float32bits(a.p[k]) != math.Float32bits(b.p[k]) && !(a.p[k] != a.p[k] && b.p[k] != b.p[k]) || a.q[k] != b.q[k] {
			return fmt.Sprintf("element %d is %v %v, and %v %v with vectors", k, a.p[k], a.q[k], b.p[k], b.q[k])
		}
		if a.i[k] != b.i[k] || a.w[k] != b.w[k] || a.s[k] != b.s[k] {
			return fmt.Sprintf("element %d is %v %v %v, and %v %v %v with vectors", k, a.i[k], a.w[k], a.s[k], b.i[k], b.w[k], b.s[k])
		}
	}
	return ""
}

func try(f func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprint(p)
		}
	}()
	f()
	return ""
}

var ran, vectors int // threads

// rows leaves all threads of a row to the loop without vectors.
func rows[F float, I, U, T any](r gridgen.Row, _ int, _ F, _ I, _ U, _, _ []F, _ []I, _ []U, _ []uint16, _ []int8, _ []float32, _ []int32, _ [][4]F, _ [][3][4]F, _ []T) gridgen.Row {
	return r
}

func run[F float, I comparable, U, T any](seed uint64, integer func(uint64) I, unsigned func(uint64) U,
	plain func(t grid.Thread, n int, a F, m I, c U, x, y []F, z []I, u []U, w []uint16, s []int8, p []float32, q []int32, v [][4]F, o [][3][4]F, e []T),
	row func(r gridgen.Row, n int, a F, m I, c U, x, y []F, z []I, u []U, w []uint16, s []int8, p []float32, q []int32, v [][4]F, o [][3][4]F, e []T),
	front func(r gridgen.Row, n int, a F, m I, c U, x, y []F, z []I, u []U, w []uint16, s []int8, p []float32, q []int32, v [][4]F, o [][3][4]F, e []T) gridgen.Row) {
	if front == nil { // Go may fuse its products with sums here
		return
	}
	r := rand.New(rand.NewPCG(seed, 3))
	for round := range 12 {
		n := 1 + r.IntN(90)
		rows := 1 + r.IntN(3)
		size := n*rows + r.IntN(3)*(n+3)
		m := fill[F, I, U](r, 21*size+64, integer)
		a, i, c := F(floats[r.IntN(len(floats))]), integer(r.Uint64()>>r.IntN(63)), unsigned(r.Uint64()>>r.IntN(63))
		offset := []int{size, 0, 1, -1, 3, 16, -5, size + 7}
		at := func() int { return max(0, min(len(m.f)-size, 16+offset[r.IntN(len(offset))])) }
		xo, yo, zo, uo := 16, 16+size, 16, 16+size
		if round%2 == 1 {
			xo, yo, zo, uo = at(), at(), at(), at()
		}
		vo, oo, eo := 2*size+64, 6*size+64, 18*size+64
		if round%4 == 3 {
			vo, oo, eo = r.IntN(size), r.IntN(6*size), r.IntN(18*size)
		}
		yo, uo = min(yo, len(m.f)-size), min(uo, len(m.f)-size)
		short := r.IntN(3) * r.IntN(5)
		block := kernel.Block{Size: [3]uint32{uint32(n + r.IntN(3)*r.IntN(20)), uint32(rows), 1}, Grid: [3]uint32{1, 1, 1}}
		slices := func(m memory[F, I, U]) (x, y []F, z []I, u []U, w []uint16, s []int8, p []float32, q []int32, v [][4]F, o [][3][4]F, e []T) {
			whole := unsafe.Slice((*U)(unsafe.Pointer(&m.i[0])), len(m.i))
			return m.f[xo:][:size], m.f[yo:][:size-short], m.i[zo:][:size], whole[uo:][:size], m.w[:size], m.s[:size-short], m.p[:size], m.q[:size],
				unsafe.Slice((*[4]F)(unsafe.Pointer(&m.f[vo])), size-short), unsafe.Slice((*[3][4]F)(unsafe.Pointer(&m.f[oo])), size),
				unsafe.Slice((*T)(unsafe.Pointer(&m.f[eo])), size)
		}
		one, two := m.clone(), m.clone()
		b := block
		text := try(func() {
			x, y, z, u, w, s, p, q, v, o, e := slices(one)
			for t := range grid.Threads(&b) {
				plain(t, n, a, i, c, x, y, z, u, w, s, p, q, v, o, e)
			}
		})
		b = block
		again := try(func() {
			x, y, z, u, w, s, p, q, v, o, e := slices(two)
			for t := range gridgen.Rows(&b) {
				rest := front(t, n, a, i, c, x, y, z, u, w, s, p, q, v, o, e)
				ran += t.End - t.First()
				vectors += rest.First() - t.First()
				row(rest, n, a, i, c, x, y, z, u, w, s, p, q, v, o, e)
			}
		})
		if d := alike(one, two); d != "" || text != again {
			fmt.Printf("DIFFERS %d round %d, n = %d, rows = %d, x, y, z, u at %d %d %d %d, %q, %q: %s\n", seed, round, n, rows, xo, yo, zo, uo, text, again, d)
			return
		}
	}
}

func main() {
	if want := os.Args[1]; fmt.Sprint(simd.VectorBitSize()) != want || simd.Emulated() {
		fmt.Println("vectors have", simd.VectorBitSize(), "bits, not", want)
		os.Exit(1)
	}
	all()
	fmt.Println("DONE", ran, vectors)
}

func i32(v uint64) int32 { return int32(v) }
func u32(v uint64) uint32 { return uint32(v) }
func i64(v uint64) int64 { return int64(v) }
func u64(v uint64) uint64 { return v }
`

// The file with vectors imports package math only where vectors need it: Go does not compile a file with an import that it does not use.
func TestImportsOfVectors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		use     string
		imports bool
	}{{"_ = b", false}, {"y[i] += b", true}} {
		made, err := translated(t, `package p

import (
	"math"

	"github.com/go-halyard/halyard/kernel/grid"
)

//halyard:kernel
func f(t grid.Thread, a float32, x, y []float32) {
	i := t.Global(0)
	if i >= len(y) {
		return
	}
	b := float32(math.Log(float64(a)))
	`+c.use+`
	y[i] = x[i]*2 + y[i]
}
`)
		require.NoError(t, err)
		require.NotEmpty(t, made.SIMD)
		assert.Equal(t, c.imports, strings.Contains(string(made.SIMD), `"math"`), c.use)
	}
}

// A kernel whose indexes are the thread's place plus a number of the row has vectors. For others the first thing that keeps them from it is told.
func TestWhatHasVectors(t *testing.T) {
	t.Parallel()
	imp, err := imports()
	require.NoError(t, err)
	for _, c := range []struct{ body, why string }{
		{"y[i] += float32(a * x[i])", ""},
		{"if x[i] > 0 {\n y[i] = 1\n} else {\n y[i+1] = x[i+2]\n}", ""},
		{"for k := 0; x[i] > float32(k); k++ {\n a = a + x[k]\n}\ny[i] = a", ""}, // the rounds that run have the same k
		{"k := 0\nfor x[i] > float32(k) {\n k++\n}\ny[i] = float32(k)", ""},
		{"y[i] = float32(float64(x[i])*3 + float64(z[i]*z[i]))", ""},
		{"z[i] = int32(math.Float32bits(x[i]) + uint32(int64(z[i])>>7))", "math.Float32bits does not become a vector beside numbers of 64 bits"},
		{"for k := range x {\n a = a + x[k]\n}\ny[i] = a", ""},
		{"first := wide - wide&3\ny[first+i] = x[i+(wide|1)] + x[wide^2+i-wide&^1]", ""},
		{"y[i] = float32(z[i] / 3)", "package simd has no division of integers"},
		{"y[i] = float32(3 / z[i])", "package simd has no division of integers"},
		{"zero := int32(0)\ny[i] = float32(int32(a) / zero)", "package simd has no division of integers"},
		{"y[i] = float32(int32(a)/int32(wide)) + float32(len(x)%wide)", ""},
		{"k := wide\nfor range 3 {\n k -= 1\n a += float32(7 / k)\n}\ny[i] = a", ""},
		{"y[i] = a\nk := wide\nfor range 3 {\n k -= 1\n a += float32(7 / k)\n}\ny[i] = a", "this divisor is looked at only here, after something was stored"},
		{"by := -1\ny[i] = float32(int32(a) << by)", "a shift by a negative number would panic"},
		{"y[i] = x[2*i] + x[i*wide] + x[3-i]", "the kernel computes so little with elements that are apart"},
		{"v := x[2*i] + x[i*wide] + x[3-i]\nfor range 9 {\n v = float32(v*v) + a\n}\ny[i] = v", ""},
		{"for k := range z {\n a += x[i*len(z)+k]\n}\ny[i] = a", "the kernel computes so little with elements that are apart"},
		{"for k := range z {\n v := x[i*len(z)+k]\n for range 9 {\n v = float32(v*v) + a\n }\n a += v\n}\ny[4*i], y[4*i+3] = a, y[4*i]", ""},
		{"y[i] = x[i*i]", "the elements of the threads are not neighbours"},
		{"y[2*i], y[2*i+2] = a, a", "threads may share elements of y: the indexes of a slice that is stored to with a step must differ by less than the step"},
		{"y[2*i] = y[i]", "threads may share elements of y, which is indexed in another way"},
		{"y[2*i] = y[i*wide]", "threads may share elements of y, which is indexed in another way"},
		{"y[i] = float32(2 * i)", "convert the place before"},
		{"y[z[i]] = a", "the stores of the threads are not to neighbours"},
		{"y[i] = a\nfor k := range 3 {\n y[i] += x[int(z[0])+k]\n}", "after something was stored"},
		{"y[i] = float32(math.Sin(float64(x[i])))", "the kernel computes so little with elements that are apart"},
		{"y[i] = float32(math.Sin(float64(x[i]*a+2))) + x[i]/a + x[i]*x[i+1] + x[i]/(a+x[i+2])", ""},
		{"y[i] = float32(math.Pow(float64(x[i]), 3))", "package simd has no math.Pow"},
		{"if i < len(y) {\n y[i] = x[max(i-1, 0)] + x[min(i+1, len(y)-1)] + x[min(len(y)-1, i)]\n}", ""},
		{"if i < len(y) {\n y[i] = x[max(i-9, 0)]\n}", "the elements of the threads are not neighbours"},
		{"if i < len(y) {\n y[i] = x[min(i+1, wide)]\n}", "the elements of the threads are not neighbours"},
		{"if wide-i > 3 && i-wide <= 2 {\n y[i] = a\n}", ""},
		{"switch {\ncase x[i] > 0:\n y[i] = a\n}", ""},
		{"switch z[i] {\ncase 1, 2:\n y[i] = 3\ncase 4:\n y[i] = a\ndefault:\n y[i] = 5\n}", ""},
		{"for k := range z[i] {\n a += float32(k)\n}\ny[i] = a", ""},
		{"for k, w := range weights {\n a += float32(w * x[i+k])\n}\ny[i] = a * weights[wide]", ""},
		{"y[i] = weights[z[i]]", "the threads read different elements of weights"},
		{"u, v := two(x[i])\ny[i] = u / v", ""},
		{"switch {\ncase x[i] > 0:\n y[i] = a\n fallthrough\ndefault:\n y[i] = 2\n}", "a switch with break or fallthrough does not become vector code"},
		{"var b [2]float32\nb[0] = a\ny[i] = b[0]", "only numbers and bools become vectors"},
		{"for a > x[i] {\n a = a - 1\n}\n_ = a", "this kernel stores nothing"},
	} {
		src := "package p\n\nimport (\n\"math\"\n\n\"github.com/go-halyard/halyard/kernel/grid\"\n)\n\nvar _ = math.Abs\n\n" +
			"var weights = [...]float32{1, 2, 1}\n\nfunc two(x float32) (float32, float32) {\nif x > 2 {\nreturn x, 1\n}\nreturn 2, x\n}\n\n//halyard:kernel\nfunc k(t grid.Thread, a float32, wide int, x, y []float32, z []int32) {\ni := t.Global(0)\n" + c.body + "\n}\n"
		made, err := translatedWith(imp, src)
		require.NoError(t, err, c.body)
		require.Len(t, made.Loops, 1)
		l := made.Loops[0]
		if c.why == "" {
			assert.True(t, l.Vectors, "%s: %v", c.body, l.Why)
			assert.Contains(t, string(made.SIMD), "kVectors = kLanes")
			continue
		}
		assert.False(t, l.Vectors, c.body)
		assert.Nil(t, made.SIMD, c.body)
		require.NotNil(t, l.Why, c.body)
		assert.Contains(t, l.Why.Text, c.why, c.body)
		assert.NotZero(t, l.Why.Pos.Line)
	}
}

// Elements of arrays become vectors if each thread stores to its own.
func TestArraysInVectors(t *testing.T) {
	t.Parallel()
	imp, err := imports()
	require.NoError(t, err)
	const nearest = "best, least := 0, float32(1e38)\nfor c := range 9 {\n away := float32(0)\n for d, x := range p[i] {\n away += float32((x - y[c][d]) * (x - y[c][d]))\n }\n if away < least {\n best, least = c, away\n }\n}\n"
	for _, c := range []struct{ body, has, why string }{
		{"v := e[i].a\nfor range 19 {\n v = float32(v*v) + a\n}\ne[i] = pair{b: v}", "lanes.ScatterFloat32s(b, lanes.All32(), eOf0, x*2+1, 2)", ""},
		{"v := e[i].a\nfor range 9 {\n v = float32(v*v) + a\n}\ne[i+1].b = v", "", "threads may share elements of e, which is indexed in another way, too"},
		{"m[i] = mixed{a, 1}", "", "this expression does not become a vector"},
		{"m[i].a = a", "", "the elements of m have type mixed"},
		{"v := y[i][1]\nfor range 9 {\n v = float32(v*v) + a\n}\ny[i][2] = v", "lanes.ScatterFloat32s", ""},
		{"y[i][2] = float32(2 * y[i][1])", "", "the kernel computes so little with elements that are apart"},
		{"for _, x := range p[i] {\n a += x\n}\ny[i][0] = a", "", "the kernel computes so little with elements that are apart"},
		{"y[3][i] = p[2][i]", "lanes.Load[simd.Float32s]", ""},
		{"for k := i; k < len(p); k += wide {\n for _, x := range p[k] {\n a += float32(float32(x*x)*float32(x*x)) / (x + 1)\n }\n}\ny[i][0] = a", "lanes.FourFloat32s", ""},
		{nearest + "z[i] = int32(best)", ".IfElse(on, best)", ""},
		{nearest + "s[i][best]++", "for lane := range", ""},
		{nearest + "s[i][best] += float32(5 / wide)", "", "because it could panic"},
		{nearest + "s[i][best] += p[int(a)][1]", "", "because it could panic"},
		{nearest + "for d, x := range p[i] {\n s[i][best] += float32(x * y[d][1])\n}\ns[i][best] *= float32(math.Abs(float64(t.Global(0))))", "for lane := range", ""},
		{nearest + "s[i][best]++\ns[i+1][0]++", "", "threads may share elements of s, which is used in another way, too"},
		{nearest + "s[0][best]++", "", "the stores of the threads are not to neighbours"},
		{nearest + "if s[i][best]++; a > 0 {\n z[i] = 1\n}", "for lane := range", ""},
		{nearest + "if a > 0 {\n s[i][best]++\n z[i] = 1\n}", "", "beside stores to places that differ between threads, only such stores become vector code"},
		{"k := 0\nif p[i][0] > a {\n k = 3\n}\ns[i][k]++", "", "these stores are to places that differ between threads, and are too large a part of the kernel"},
		{"y[i][0] = y[i+1][0]", "", "threads may share elements of y, which is indexed in another way, too"},
		{"_ = i\ny[0][0] = a", "", "no index is the thread's place plus a number that is known before the row"},
		{"for k := i; k < wide; k++ {\n a += p[k][0]\n}\ny[i][0] = a", "", "k is not compared with len(p) by the loop around"},
		{"for k := i; p[k][0] > 0 && k < len(p); k++ {\n a += 1\n}\ny[i][0] = a", "", "k is not compared with len(p) by the loop around"},
		{"for _, x := range p[i] {\n if x > 0 {\n break\n }\n a += x\n}\ny[i][0] = a", "", "this leaves a loop over an array"},
	} {
		src := "package p\n\nimport (\n\"math\"\n\n\"github.com/go-halyard/halyard/kernel/grid\"\n)\n\nvar _ = math.Abs\n\n" +
			"type pair struct{ a, b float32 }\n\ntype mixed struct {\na float32\nb int32\n}\n\n//halyard:kernel\n" +
			"func k(t grid.Thread, a float32, wide int, p, y [][8]float32, s [][9]float32, z []int32, e []pair, m []mixed) {\ni := t.Global(0)\n" + c.body + "\n}\n"
		made, err := translatedWith(imp, src)
		require.NoError(t, err, c.body)
		require.Len(t, made.Loops, 1)
		if l := made.Loops[0]; c.why == "" {
			require.True(t, l.Vectors, "%s: %v", c.body, l.Why)
			assert.Contains(t, string(made.SIMD), c.has, c.body)
		} else if assert.NotNil(t, l.Why, c.body) {
			assert.Contains(t, l.Why.Text, c.why, c.body)
		}
	}
}

// Variables that are constant may overflow where constants must not.
func TestConstantVariablesInVectors(t *testing.T) {
	t.Parallel()
	env := vectorBuild(t)
	imp, err := imports()
	require.NoError(t, err)
	src := `package p

import "github.com/go-halyard/halyard/kernel/grid"

func hash(h uint32) uint32 { return h * 16777619 }

//halyard:kernel
func k(t grid.Thread, x []uint32, y []float32) {
	i := t.Global(0)
	h, none, zero, n, s := uint32(2166136261), uint32(0), float32(0), int32(-1), uint32(40)
	x[i] += h*16777619 + hash(2166136261) + (none - 1) + uint32(n) + uint32(7)<<s
	y[i] = y[i]*(1/zero) + zero/zero
}
`
	made, err := translatedWith(imp, src)
	require.NoError(t, err)
	require.True(t, made.Loops[0].Vectors, made.Loops[0].Why)
	dir := module(t, map[string]string{"k.go": src, "p_kernels.go": string(made.Go), "p_kernels_simd.go": string(made.SIMD)})
	build := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", ".")
	build.Dir, build.Env = dir, append(os.Environ(), env...)
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// A line of vector code is, for panics and profiles, the line of the kernel that it is from, and what is around it is the generated file's own.
func TestLinesOfVectorCode(t *testing.T) {
	t.Parallel()
	env := vectorBuild(t)
	imp, err := imports()
	require.NoError(t, err)
	src := `package main

import "github.com/go-halyard/halyard/kernel/grid"

//halyard:kernel
func k(t grid.Thread, x, y []float32) {
	i := t.Global(0)
	a := x[i]

	for x[i+1] > a {
		a = a*2 + 1
	}
	y[i] = a
}

func main() {}
`
	made, err := translatedWith(imp, src)
	require.NoError(t, err)
	require.True(t, made.Loops[0].Vectors, made.Loops[0].Why)
	dir := module(t, map[string]string{"k.go": src, "main_kernels.go": string(made.Go), "main_kernels_simd.go": string(made.SIMD)})
	for _, args := range [][]string{{"build", "-mod=mod", "-o", "program", "."}, {"tool", "objdump", "-s", "kLanes@simd256", "program"}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), append(env, "GOARCH=amd64", "GOOS=linux")...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		if args[0] == "build" {
			continue
		}
		seen := map[string]bool{}
		for line := range strings.Lines(string(out)) {
			if at := strings.Fields(line); len(at) > 3 && strings.HasPrefix(at[0], "k.go:") {
				seen[at[0]] = true
			}
		}
		for _, at := range []string{"k.go:8", "k.go:10", "k.go:13"} {
			assert.True(t, seen[at], "there are instructions of %s: %v", at, slices.Collect(maps.Keys(seen)))
		}
		lines := strings.Count(src, "\n")
		for at := range seen {
			var n int
			fmt.Sscanf(at, "k.go:%d", &n)
			assert.True(t, n > 6 && n < lines, "%s is outside of the kernel", at)
		}
		assert.Contains(t, string(out), "main_kernels_simd.go:", "what is around has lines of its own")
	}
}

// Random kernels give the same bits thread by thread, in rows, and as vectors of each width, also where slices share memory and where an index is out of
// range.
func TestRandomKernelsAsVectors(t *testing.T) {
	t.Parallel()
	env := vectorBuild(t)
	const each = 400
	count := *vectorKernels
	reasons, done, total := map[string]int{}, 0, map[string][2]int{}
	spent := map[string]time.Duration{}
	lap := func(what string, since time.Time) { spent[what] += time.Since(since) }
	for first := 0; first < count; first += each {
		begin := time.Now()
		var src, kept, table strings.Builder
		src.WriteString(laneHead)
		kept.WriteString(laneHead)
		var texts []string
		for k := range min(each, count-first) {
			texts = append(texts, laneKernel(*randomSeed+uint64(first+k), k))
			src.WriteString(texts[k])
		}
		imp, err := imports()
		require.NoError(t, err)
		rows, vectors, loops := laneFiles(t, imp, src.String())
		table.WriteString("package main\n\nfunc all() {\n")
		for k, l := range loops {
			seed, kinds, front := *randomSeed+uint64(first+k), "i32, u32", "rows[float32, int32, uint32, triple32]"
			if seed%3 == 0 {
				kinds, front = "i64, u64", "rows[float64, int64, uint64, triple64]"
			}
			if l.Vectors {
				done++
				front = fmt.Sprintf("k%dVectors", k)
			} else {
				reasons[l.Why.Text]++
			}
			kept.WriteString(texts[k])
			fmt.Fprintf(&table, "\trun(%d, %s, k%d, k%[3]dRow, %s)\n", seed, kinds, k, front)
		}
		table.WriteString("}\n")
		dir := module(t, map[string]string{"main.go": laneRunner, "kernels.go": kept.String(), "main_kernels.go": rows, "main_kernels_simd.go": vectors, "table.go": table.String()})
		if keep := os.Getenv("HALYARD_TEST_KEEP"); keep != "" {
			require.NoError(t, os.WriteFile(filepath.Join(keep, "kernels.go"), []byte(kept.String()), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(keep, "main_kernels_simd.go"), []byte(vectors), 0o600))
		}
		lap("translation", begin)
		begin = time.Now()
		build := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-gcflags=-dwarf=false", "-ldflags=-s -w", "-o", "kernels", ".")
		build.Dir, build.Env = dir, append(os.Environ(), env...)
		if *vectorArm64 != "" {
			build.Env = append(build.Env, "GOARCH=arm64", "GOOS=linux")
		}
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)
		lap("go build", begin)
		for _, width := range strings.Split(*vectorWidths, ",") {
			begin := time.Now()
			said := lanesProgram(t.Context(), dir, width)
			lap("vectors of "+width+" bits", begin)
			if width != "128" && strings.Contains(said[0], "larger than the simd length") {
				continue // the processor has no such vectors
			}
			last := said[len(said)-1]
			for _, line := range said[:len(said)-1] {
				var seed uint64
				if n, _ := fmt.Sscanf(line, "DIFFERS %d", &seed); n == 1 {
					t.Errorf("%s bits: %s; repeat it with -args -seed %d -vectors 1\n%s", width, line, seed, laneKernel(seed, 0))
				} else {
					t.Error(line)
				}
			}
			var ran, vectors int
			_, err := fmt.Sscanf(last, "DONE %d %d", &ran, &vectors)
			require.NoError(t, err, strings.Join(said, "\n"))
			total[width] = [2]int{total[width][0] + ran, total[width][1] + vectors}
		}
		if t.Failed() {
			return
		}
		require.NoError(t, os.Remove(filepath.Join(dir, "kernels")))
	}
	t.Log("time went to ", spent)
	t.Logf("%d of %d kernels have vectors", done, count)
	for _, why := range slices.SortedFunc(maps.Keys(reasons), func(a, b string) int { return reasons[b] - reasons[a] }) {
		t.Logf("%4d: %s", reasons[why], why)
	}
	for width, n := range total {
		t.Logf("%s bits: %d of %d threads ran as vectors", width, n[1], n[0])
		if count >= 20 { // else by chance none may
			assert.Greater(t, n[1], n[0]/10, "threads that ran as vectors, of %d", n[0])
		}
	}
	if count >= 20 {
		assert.Greater(t, done, count/3, "kernels with vectors")
	}
}

// laneFiles translates kernels for the host alone: it returns the loops over rows, with the variables for the functions with vectors, and these functions. The rest of a translation is not needed here, and takes longer to make and to compile.
func laneFiles(t *testing.T, imp types.Importer, src string) (rows, vectors string, loops []Loop) {
	t.Helper()
	fset := token.NewFileSet()
	file, bad := load.Parse(fset, "kernels.go", []byte(src))
	require.Empty(t, bad)
	p := check(fset, "main", []*ast.File{file}, imp)
	p.allVectors = true
	program, _, err := p.built()
	require.NoError(t, err)
	kernels := p.kernels(program)
	for _, f := range kernels {
		f.argNames = p.arguments(f.params)
	}
	all, _, err := p.loops(kernels)
	require.NoError(t, err)
	var text strings.Builder
	var made []*lanes.Vectors
	needed := map[string]string{"grid": load.GridPath, "gridgen": load.GridPath + "gen"}
	for i, f := range kernels {
		v, why := p.vectors(f, all[i])
		loops = append(loops, Loop{f.decl.Name.Name, fset.Position(f.decl.Pos()), v != nil, false, why})
		if v != nil {
			made = append(made, v)
			fmt.Fprintf(&text, "var %s %s\n\n", v.Hook, v.Type)
		}
		maps.Copy(needed, all[i].imports)
		fmt.Fprintf(&text, "%s\n", all[i].text)
	}
	simd, err := p.simd(made)
	require.NoError(t, err)
	rows = "package main\n\n"
	for _, path := range slices.Sorted(maps.Values(needed)) {
		rows += fmt.Sprintf("import %q\n", path)
	}
	written := []byte(rows + text.String())
	for _, name := range []string{"grid", "gridgen"} {
		written = used(written, name, fmt.Sprintf("import %q\n", needed[name]))
	}
	return string(numbered(written, "main_kernels.go")), string(simd), loops
}

func lanesProgram(ctx context.Context, dir, width string) []string {
	args := append(strings.Fields(*vectorArm64), "./kernels", width)
	run := exec.CommandContext(ctx, args[0], args[1:]...)
	run.Dir, run.Env = dir, append(os.Environ(), "GODEBUG=simd=+"+width)
	out, err := run.CombinedOutput()
	if err != nil {
		out = append(out, "\n"+err.Error()...)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// withVectors are the variables for builds with package simd.
var withVectors = []string{"GOTOOLCHAIN=go1.27.0", "GOEXPERIMENT=simd", "CGO_ENABLED=0"}

// vectorBuild returns the variables for builds with package simd. It skips the test if the toolchain that has it is not there.
func vectorBuild(t *testing.T) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("short: Go 1.27 is fetched, and compiles its library")
	}
	env := withVectors
	version := exec.CommandContext(t.Context(), "go", "version")
	version.Dir, version.Env = t.TempDir(), append(os.Environ(), env...)
	if out, err := version.CombinedOutput(); err != nil {
		if strings.Contains(os.Getenv("HALYARD_REQUIRE"), "simd") {
			t.Fatalf("HALYARD_REQUIRE asks for package simd: %s", out)
		}
		t.Skipf("no Go 1.27: %s", out)
	}
	return env
}
