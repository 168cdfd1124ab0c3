package translate

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var complexPairs = flag.Int("complex", 1_000_000, "how many random pairs of complex numbers to compare")

const complexKernels = `package main

import (
	"math/cmplx"

	"github.com/go-halyard/halyard/kernel/grid"
)

type wave struct {
	tag uint8
	z   complex64
	_   [4]uint8 // the layout of 32-bit systems is the same
	w   [2]complex128
}

const k = 3 - 1i

func twice[T complex64 | complex128](z T) T { return z + z }

func root(z complex128) (float64, complex128) { return cmplx.Abs(z), cmplx.Conj(z) }

//halyard:kernel
func wide(t grid.Thread, x, y []complex128, sums, products, quotients, rest grid.Out[complex128], same []bool) {
	i := t.Global(0)
	if i >= len(x) {
		return
	}
	sums[i] = x[i] + y[i]
	products[i] = x[i] * y[i]
	quotients[i] = x[i] / y[i]
	rest[i] = -x[i] - y[i]
	same[i] = x[i] == y[i]
}

//halyard:kernel
func narrow(t grid.Thread, x, y []complex64, sums, products, quotients, rest grid.Out[complex64], same []bool) {
	i := t.Global(0)
	if i >= len(x) {
		return
	}
	sums[i] = x[i] + y[i]
	products[i] = x[i] * y[i]
	quotients[i] = x[i] / y[i]
	rest[i] = -x[i] - y[i]
	same[i] = x[i] != y[i]
}

//halyard:kernel
func mixed(t grid.Thread, c complex64, waves []wave, out []complex128, parts []float32) {
	s := grid.Shared[[8]complex128](t)
	l, i := t.Local(0), t.Global(0)
	if i < len(waves) {
		s[l] = complex128(waves[i].z) * (1 + 2i)
	}
	t.Barrier()
	if i >= len(waves) {
		return
	}
	w := waves[i]
	w.z *= c
	w.z++
	w.w[1] += complex(float64(real(w.z)), 2)
	w.w[0] -= s[t.Size(0)-1-l]
	waves[i] = w
	parts[i] = imag(twice(w.z)) + float32(real(twice(w.w[0])))
	abs, conj := root(complex(3, 4) * complex(float64(i), 0))
	z := conj / complex128(complex64(w.w[1]))
	switch {
	case z == 0, w == waves[i] && abs > 4:
		z += complex(abs, 0)
	}
	out[i] = z * k
}
`

const complexRunner = `package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

type number interface{ complex64 | complex128 }

// bits returns the bits of a number. All NaNs have the same.
func bits(z complex128) (b [2]uint64) {
	for k, x := range []float64{real(z), imag(z)} {
		b[k] = math.Float64bits(x)
		if x != x {
			b[k] = 1
		}
	}
	return b
}

func main() {
	if len(os.Args) > 2 {
		for target, language := range map[string]hal.Language{"compute_70": hal.LanguageCUDA, "gfx906": hal.LanguageHIP} {
			if _, err := hal.CompileFor(context.Background(), target, hal.Source{Name: "kernels.c", Text: kernel.Prelude(language) + string(must(os.ReadFile("kernels.c")))}); err != nil {
				fmt.Println("compiler:", err)
			} else {
				fmt.Println("compiled", target)
			}
		}
		return
	}
	n := must(strconv.Atoi(os.Args[1]))
	inf, nan := math.Inf(1), math.NaN()
	special := []float64{0, math.Copysign(0, -1), 1, -1, inf, -inf, nan, 5e-324, -5e-324, math.MaxFloat64, -math.MaxFloat64, 1e-310, 1e-40, 1e-45, math.MaxFloat32, -math.MaxFloat32, 1.5}
	var zs []complex128
	for _, re := range special {
		for _, im := range special {
			zs = append(zs, complex(re, im))
		}
	}
	var xs, ys []complex128
	for _, x := range zs {
		for _, y := range zs {
			xs, ys = append(xs, x), append(ys, y)
		}
	}
	r := rand.New(rand.NewPCG(1, 4))
	random := func() float64 {
		switch r.IntN(4) {
		case 0:
			return math.Float64frombits(r.Uint64())
		case 1:
			return float64(math.Float32frombits(r.Uint32()))
		}
		return r.NormFloat64()
	}
	for range n {
		xs, ys = append(xs, complex(random(), random())), append(ys, complex(random(), random()))
	}
	x32, y32 := make([]complex64, len(xs)), make([]complex64, len(xs))
	for i := range xs {
		x32[i], y32[i] = complex64(xs[i]), complex64(ys[i])
	}
	ctx := context.Background()
	var first []string
	for _, d := range must(hal.Devices(ctx)) {
		if d.Backend != "opencl" && d.Backend != "vulkan" && d.Name() != "host:0" {
			continue
		}
		begin := time.Now()
		s := must(must(hal.Open(ctx, d.Name())).NewStream())
		compare(ctx, s, xs, ys, WideOn, true)
		compare(ctx, s, x32, y32, NarrowOn, false)
		waves := make([]wave, 20)
		for i := range waves {
			waves[i] = wave{tag: uint8(i), z: complex(float32(i), 2), w: [2]complex128{1i, complex(0, float64(i))}}
		}
		w, out, parts := must(buffer.From(waves)), must(buffer.New[complex128](20)), must(buffer.New[float32](20))
		check(MixedOn(ctx, s, hal.Over(24).Of(8), 2-0.5i, w, out, parts))
		var got []string
		got = append(got, show(ctx, w), show(ctx, out), show(ctx, parts))
		if first == nil {
			first = got
		}
		for k := range got {
			if got[k] != first[k] {
				fmt.Println("FAILED", d.Name(), got[k], "and on the host", first[k])
			}
		}
		fmt.Println("ran on", d.Backend, len(xs), "pairs", time.Since(begin))
	}
}

func show[T any](ctx context.Context, b *buffer.Buffer[T]) string {
	all := make([]T, b.Len())
	check(b.CopyOut(ctx, all))
	return fmt.Sprint(all)
}

func compare[T number](ctx context.Context, s *hal.Stream, xs, ys []T, launch func(context.Context, kernel.Target, hal.Grid, kernel.Vector[T], kernel.Vector[T], kernel.Vector[T], kernel.Vector[T], kernel.Vector[T], kernel.Vector[T], kernel.Vector[bool]) error, equal bool) {
	n := len(xs)
	x, y := must(buffer.From(xs)), must(buffer.From(ys))
	sums, products, quotients, rest, same := must(buffer.New[T](n)), must(buffer.New[T](n)), must(buffer.New[T](n)), must(buffer.New[T](n)), must(buffer.New[bool](n))
	check(launch(ctx, s, hal.Over(n), x, y, sums, products, quotients, rest, same))
	all := make([][]T, 4)
	for k, b := range []*buffer.Buffer[T]{sums, products, quotients, rest} {
		all[k] = make([]T, n)
		check(b.CopyOut(ctx, all[k]))
	}
	eq := make([]bool, n)
	check(same.CopyOut(ctx, eq))
	wrong := 0
	for i := range n {
		for k, want := range []T{xs[i] + ys[i], xs[i] * ys[i], xs[i] / ys[i], -xs[i] - ys[i]} {
			if bits(complex128(all[k][i])) != bits(complex128(want)) && wrong < 10 {
				wrong++
				fmt.Printf("FAILED on %s: %v %s %v is %v, and in Go %v\n", s.Device().Name(), xs[i], []string{"+", "*", "/", "- -"}[k], ys[i], all[k][i], want)
			}
		}
		if eq[i] != ((xs[i] == ys[i]) == equal) && wrong < 10 {
			wrong++
			fmt.Println("FAILED", xs[i], "==", ys[i])
		}
	}
	check(hal.CloseAll(x, y, sums, products, quotients, rest, same))
}

func must[T any](v T, err error) T { check(err); return v }

func check(err error) {
	if err != nil {
		panic(err)
	}
}
`

// Complex numbers have the same bits as in Go, on the host and on devices, apart from those of NaN: all pairs of special values, and random pairs.
func TestComplexNumbers(t *testing.T) {
	t.Parallel()
	count := *complexPairs
	if testing.Short() {
		count = min(count, 20_000)
	}
	dir := module(t, map[string]string{"kernels.go": complexKernels, "main.go": complexRunner})
	packages, err := Load(t.Context(), dir, ".")
	require.NoError(t, err)
	made, err := packages[0].Translate()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(made.File, made.Go, 0o600))
	require.NoError(t, os.WriteFile(made.VulkanFile, made.Vulkan, 0o600))
	require.NoError(t, os.WriteFile(dir+"/kernels.c", []byte(made.C), 0o600))
	build := exec.Command("go", "build", "-mod=mod", "-gcflags", plainly, "-ldflags", "-s -w", "-tags", "opencl cuda hip vulkan", "-o", "kernels", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, args := range [][]string{{fmt.Sprint(count)}, {"0", "compile"}} { // apart, because compilers that load LLVM interfere with each other
		run := exec.Command("./kernels", args...)
		run.Dir, run.Env = dir, append(os.Environ(), "HALYARD_KERNEL_CACHE=off", "HALYARD_HOST_DEVICES=1")
		said, err := run.CombinedOutput()
		require.NoError(t, err, "%s", said)
		require.NotContains(t, string(said), "FAILED")
		require.NotContains(t, string(said), "does not build")
		t.Log(string(said))
		if len(args) == 1 {
			out = said
		}
	}
	require.Regexp(t, regexp.MustCompile(`ran on host \d+ pairs`), string(out))
	t.Logf("did %d of %d random pairs", count, *complexPairs)
	if !strings.Contains(string(out), "ran on opencl") && !strings.Contains(string(out), "ran on vulkan") {
		t.Skip("there is no OpenCL or Vulkan device to compare with")
	}
}
