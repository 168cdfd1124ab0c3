package translate

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// head begins a package of kernels that are compared. Each has the same parameters, and writes 64 bits for each thread. Package half is a part of it,
// because the packages of these tests have no source of other packages.
var head = headText + sourceOfHalf()

// singleHead is head for devices without float64: Wide is float32 in it.
var singleHead = strings.NewReplacer("type Wide = float64", "type Wide = float32", "return f64(float64(x))", "return f32(float32(x))", "1e100", "1e30", "1e-300", "1e-40").Replace(head)

func sourceOfHalf() string {
	text, err := os.ReadFile("../../kernel/half/half.go")
	if err != nil {
		panic(err)
	}
	_, own, _ := strings.Cut(string(text), "import \"math\"\n")
	return own
}

const headText = `package main

import (
	"math"
	"math/bits"

	"github.com/go-halyard/halyard/kernel/grid"
)

// f32 returns the bits of a number. All NaNs have the same bits.
func f32(x float32) uint64 {
	if x != x {
		return 0x7fc00000
	}
	return uint64(math.Float32bits(x))
}

func f64(x float64) uint64 {
	if x != x {
		return 0x7ff8000000000000
	}
	return math.Float64bits(x)
}

// known replaces a NaN by 1, because the sign of a NaN is not defined.
func known[T float32 | float64](x T) T {
	if x != x {
		return 1
	}
	return x
}

func b(x bool) uint64 {
	if x {
		return 1
	}
	return 0
}

type plainNumber interface {
	int8 | int16 | int32 | int64 | int | uint8 | uint16 | uint32 | uint64 | uint | float32 | float64
}

func totalOf[T plainNumber](s []T, k T) T {
	for j, v := range s {
		if j != 2 {
			k = T(k*3) + v
		}
	}
	return k
}

func changeOf[T plainNumber](s []T, k T) T {
	copy(s[1:], s)
	if r := s[:2]; k > r[1] {
		clear(r[1:])
		return totalOf(r, k)
	}
	s[len(s)/2] = k
	return totalOf(s[1:], k)
}

// fold returns an index below n.
func fold(i, n int) int {
	if i %= n; i < 0 {
		i += n
	}
	return i
}

func wrapped(i, j, w int) int { return i*w + j }

func get(x []uint32, i int) uint32 { return x[fold(i, len(x))] }

func b32(x bool) uint32 { return uint32(b(x)) }

// many is a table whose elements are read at indexes that are computed.
var many = [16]uint32{1, 1 << 31, 3, 5, 1<<32 - 1, 7, 11, 13, 17, 255, 65537, 19, 23, 29, 31, 37}

// Tables that random kernels read, one for each type of numbers and for bool.
var (
	tableOfint8    = [8]int8{-128, 127, 3: -1, 85, 7, -2, 1}
	tableOfint16   = []int16{-32768, 32767, 3: -1, 1000, 7, -2, 1}
	tableOfint32   = [8]int32{-1 << 31, 1<<31 - 1, 3: -1, 1 << 20, 7, -2, 1}
	tableOfint64   = [8]int64{-1 << 63, 1<<63 - 1, 3: -1, 1 << 40, 7, -2, 1}
	tableOfint     = [...]int{-1 << 62, 1 << 33, 3: -1, 100, 7, -2, 1}
	tableOfuint8   = []uint8{0, 255, 3: 1, 170, 7, 128, 2}
	tableOfuint16  = [8]uint16{0, 65535, 3: 1, 170, 7, 128, 2}
	tableOfuint32  = [8]uint32{0, 1<<32 - 1, 3: 1, 170, 7, 1 << 31, 2}
	tableOfuint64  = [8]uint64{0, 1<<64 - 1, 3: 1, 170, 7, 1 << 63, 2}
	tableOfuint    = []uint{0, 1<<64 - 1, 3: 1, 170, 7, 1 << 63, 2}
	tableOffloat32 = [8]float32{0, -1, 0.1, 3: 1e10, -1.25, 3, 1e-40, 0.5}
	tableOfWide    = [8]Wide{0, -1, 0.1, 3: 1e100, -1.25, 3, 1e-300, 0.5}
	tableOfbool    = [8]bool{true, 3: true, true, 6: true}
	tableOfRows    = [2][3]int32{{1, -2, 3}, {-4, 5, -6}}
)

// Wide is the only type of 64 bits for numbers with a point in what random kernels are passed.
type Wide = float64

func wide(x Wide) uint64 { return f64(float64(x)) }

// Par is a structure that random kernels are passed.
type Par struct {
	G Wide
	L [8]int64
	N int32
	F float32
}

// Elem is the element of a buffer of random kernels.
type Elem struct {
	A    int16
	On   bool
	In   struct{ F float32 }
	List [2]uint32
	G    Wide
}

func (e *Elem) sum() uint64 {
	return uint64(e.A) + b(e.On)<<20 ^ f32(e.In.F)*31 ^ uint64(e.List[0])<<7 ^ uint64(e.List[1])<<9 ^ wide(e.G)
}

var _ = bits.Len
var _ grid.Thread
`

// runner runs every kernel on the host and on each other device, compares the results, and compiles the text with the
// vendors' compilers.
const runner = `package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

type launch = func(context.Context, kernel.Target, hal.Grid, int64, kernel.Vector[uint32], kernel.Vector[float32], kernel.Vector[uint64], kernel.Vector[int32]) error

const n, block = 48, 16

func main() {
	ctx := context.Background()
	text, err := os.ReadFile("kernels.c")
	if err != nil {
		panic(err)
	}
	if len(os.Args) > 1 { // in its own process, because compilers that load LLVM interfere with each other
		compile(ctx, string(text))
		return
	}
	devicesAgree(ctx)
}

func compile(ctx context.Context, text string) {
	for target, language := range map[string]hal.Language{"compute_70": hal.LanguageCUDA, "gfx906": hal.LanguageHIP} {
		_, err := hal.CompileFor(ctx, target, hal.Source{Name: "kernels.c", Text: kernel.Prelude(language) + text})
		switch {
		case errors.Is(err, hal.ErrUnavailable):
			fmt.Println("left out", target, err)
		case err != nil:
			fmt.Println("FAILED", target, err)
		default:
			fmt.Println("compiled", target)
		}
	}
}

func devicesAgree(ctx context.Context) {
	host, err := hal.Open(ctx, "host:0")
	if err != nil {
		panic(err)
	}
	devices, err := hal.Devices(ctx)
	if err != nil {
		panic(err)
	}
	want := run(ctx, host)
	for _, d := range devices {
		if d.Backend != "opencl" && d.Backend != "vulkan" {
			continue
		}
		dev, err := hal.Open(ctx, d.Name())
		if err != nil {
			panic(err)
		}
		for k, got := range run(ctx, dev) {
			for i := range got {
				if got[i] != want[k][i] {
					fmt.Printf("FAILED kernel %d, element %d on %s: %#x, and %#x on the host\n", k, i, d.Name(), got[i], want[k][i])
					break
				}
			}
		}
		fmt.Println("ran on", d.Name(), len(want), "kernels")
	}
}

func run(ctx context.Context, dev *hal.Device) (all [][]uint64) {
	s := must(dev.NewStream())
	for k, l := range launches {
		x, f, y, z := must(buffer.New[uint32](n)), must(buffer.New[float32](n)), must(buffer.New[uint64](n)), must(buffer.New[int32](n))
		special := []uint32{0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 65535, 65536, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1, 1<<32 - 2}
		floats := []float32{0, 1, -1, 0.5, 1.5, -1.5, 2.5, 3e9, -3e9, 5e9, 1e19, -1e19, 1e20, 300, -300, 1e-40, 1e-45, math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)),
			float32(math.NaN()), float32(math.Copysign(0, -1)), 3.1415927, 65535.9, 2147483520, 1e10}
		r := uint64(k)*0x9e3779b97f4a7c15 + 1
		next := func() uint64 {
			r ^= r << 13
			r ^= r >> 7
			r ^= r << 17
			return r
		}
		for i := range n {
			v, w := uint32(next()), float32(int32(next()))/65536
			if i < len(special) {
				v = special[i]
			}
			if i < len(floats) {
				w = floats[i]
			}
			check(x.Set(ctx, i, v))
			check(f.Set(ctx, i, w))
		}
		if err := l(ctx, s, hal.Over(n, 1, 1).Of(block), int64(k), x, f, y, z); err != nil {
			fmt.Printf("FAILED kernel %d: %v\n", k, err)
			os.Exit(0)
		}
		got := make([]uint64, n)
		if err := y.CopyOut(ctx, got); err != nil {
			fmt.Printf("FAILED kernel %d: %v\n", k, err)
		}
		zs := make([]int32, n)
		check(z.CopyOut(ctx, zs))
		for _, v := range zs {
			got = append(got, uint64(v))
		}
		all = append(all, got)
		check(hal.CloseAll(x, f, y, z))
	}
	return all
}

func must[T any](v T, err error) T { check(err); return v }

func check(err error) {
	if err != nil {
		panic(err)
	}
}
`

// plainly are flags of Go's compiler for programs whose kernels are there for the devices: they take half as long to compile so.
const plainly = "-N -l -dwarf=false"

// compare runs the kernels of a package that are launched by so many names on the host and on other devices, and returns what was found.
func compare(t *testing.T, src string, names []string) string {
	t.Helper()
	var table strings.Builder
	table.WriteString("package main\n\nvar launches = []launch{")
	for _, name := range names {
		table.WriteString(name + ", ")
	}
	table.WriteString("}\n")
	dir := module(t, map[string]string{"kernels.go": src, "main.go": runner, "table.go": table.String()})
	packages, err := Load(t.Context(), dir, ".")
	require.NoError(t, err)
	require.Len(t, packages, 1)
	made, err := packages[0].Translate()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(made.File, made.Go, 0o600))
	require.NoError(t, os.WriteFile(made.VulkanFile, made.Vulkan, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kernels.c"), []byte(made.C), 0o600))
	build := exec.Command("go", "build", "-mod=mod", "-gcflags", plainly, "-ldflags", "-s -w", "-tags", "opencl cuda hip vulkan", "-o", "kernels", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	out = nil
	for _, args := range [][]string{{"compile"}, nil} {
		run := exec.Command("./kernels", args...)
		run.Dir, run.Env = dir, append(os.Environ(), "HALYARD_KERNEL_CACHE=off", "HALYARD_HOST_DEVICES=1")
		said, err := run.CombinedOutput()
		assert.NoError(t, err, "%s", said)
		out = append(out, said...)
	}
	assert.NotContains(t, string(out), "FAILED", "the kernels are\n%s\nand in C\n%s", src, made.C)
	t.Log(string(out))
	ran := false
	for _, backend := range []string{"opencl", "vulkan"} {
		here := strings.Contains(string(out), "ran on "+backend)
		if !here && strings.Contains(os.Getenv("HALYARD_REQUIRE"), backend) {
			t.Errorf("HALYARD_REQUIRE asks for %s, and the kernels ran on no such device", backend)
		}
		ran = ran || here
	}
	if !ran {
		t.Skip("there is no device of OpenCL or Vulkan to compare with")
	}
	return string(out)
}

// What Go says about numbers, statements and functions holds on devices to the bit, and names that a dialect has for something else are no trouble: of
// kernels, functions, types, fields and variables.
func TestMeaning(t *testing.T) {
	t.Parallel()
	src, names := head+readKernels(t), []string(nil)
	for k := range strings.Count(src, "//halyard:kernel") {
		names = append(names, fmt.Sprintf("K%dOn", k))
	}
	for i, name := range []string{"step", "dot", "half", "abs", "exp2f", "barrier", "mul24", "rsqrt", "atomicAdd", "memcpy", "isnan", "assert", "clamp", "mix", "printf", "float4", "double",
		"this", "template", "new_", "int2", "i32", "INDEX", "KERNEL", "asin", "popcount", "sinf", "erf", "floorf", "clock64", "größe", "f_x", "y0", "threadIdx", "warpSize", "native_sin", "fract"} {
		src += fmt.Sprintf("type global%d struct{ char, %s uint64 }\n\nfunc %s_(%s uint64) uint64 {\n\tlocal := global%d{1, %s}\n\treturn local.char + local.%s\n}\n\n"+
			"//halyard:kernel\nfunc %s(t grid.Thread, a int64, x []uint32, f []float32, y []uint64, z []int32) {\n\tconst_ := uint64(%d)\n\ty[t.Global(0)] = %s_(const_)\n}\n\n",
			i, name, name, name, i, name, name, name, i, name)
		first := []rune(name)
		launcher := strings.ToUpper(string(first[0])) + string(first[1:])
		if launcher == name {
			launcher = "Launch" + name
		}
		names = append(names, launcher+"On")
	}
	compare(t, src, names)
}

func readKernels(t *testing.T) string {
	text, err := os.ReadFile("testdata/meaning.txt")
	require.NoError(t, err)
	const kernel = "//halyard:kernel\nfunc NAME("
	s, n := string(text), 0
	for strings.Contains(s, kernel) {
		s = strings.Replace(s, kernel, fmt.Sprintf("//halyard:kernel\nfunc k%d(", n), 1)
		n++
	}
	require.NotZero(t, n)
	return s
}
