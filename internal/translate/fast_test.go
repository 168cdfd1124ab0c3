package translate

import (
	"encoding/gob"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var fastExpressions = flag.Int("fast", 200, "how many random expressions of fast kernels are compared with their bounds")

// fastRunner runs kernels on all devices of OpenCL and Vulkan, and stores what they compute.
const fastRunner = `package main

import (
	"context"
	"encoding/gob"
	"errors"
	"os"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

type launch = func(context.Context, kernel.Target, hal.Grid, kernel.Vector[float32], kernel.Vector[float32], kernel.Vector[float32], kernel.Vector[float32]) error

func main() {
	ctx := context.Background()
	if len(os.Args) > 1 { // a target of CUDA or HIP
		language := map[byte]hal.Language{'c': hal.LanguageCUDA, 'g': hal.LanguageHIP}[os.Args[1][0]]
		img, err := hal.CompileFor(ctx, os.Args[1], hal.Source{Name: "kernels.c", Text: kernel.Prelude(language) + string(must(os.ReadFile("kernels.c")))})
		if !errors.Is(err, hal.ErrUnavailable) {
			check(err)
			os.Stdout.Write(img.Data)
		}
		return
	}
	var in [3][]float32
	check(gob.NewDecoder(must(os.Open("in.gob"))).Decode(&in))
	n := len(in[0])
	all := map[string][][]float32{}
	for _, d := range must(hal.Devices(ctx)) {
		if d.Backend != "opencl" && d.Backend != "vulkan" {
			continue
		}
		dev := must(hal.Open(ctx, d.Name()))
		s := must(dev.NewStream())
		var x [3]*buffer.Buffer[float32]
		for i := range x {
			x[i] = must(buffer.New[float32](n))
			check(x[i].CopyIn(ctx, in[i]))
		}
		name := d.Name() + " " + dev.Info().Model + " " + dev.Info().Driver
		for i, k := range kernelsOf {
			z := must(buffer.New[float32](n * widths[i]))
			var got []float32
			if err := k(ctx, s, hal.Over(n), x[0], x[1], x[2], z); !errors.Is(err, hal.ErrUnsupported) { // the device has float64
				check(err)
				got = make([]float32, n*widths[i])
				check(z.CopyOut(ctx, got))
			}
			check(z.Close())
			all[name] = append(all[name], got)
		}
	}
	check(gob.NewEncoder(must(os.Create("out.gob"))).Encode(all))
}

func must[T any](v T, err error) T { check(err); return v }

func check(err error) {
	if err != nil {
		panic(err)
	}
}
`

// fastHead is the head of a package of fast kernels.
const fastHead = `//halyard:kernel fast

package main

import (
	"math"

	"github.com/go-halyard/halyard/kernel/grid"
)

type named float32

func root(x float32) float32 { return float32(math.Sqrt(float64(x))) }
`

// fastOn runs fast kernels, each with expressions of x, y and w that it stores for each thread, on all devices of this machine.
func fastOn(t *testing.T, kernels [][]string, in [3][]float32) map[string][][]float32 {
	var text, table strings.Builder
	text.WriteString(fastHead)
	var launchers, widths []string
	for i, list := range kernels {
		fmt.Fprintf(&text, "\n//halyard:kernel\nfunc k%d(t grid.Thread, xs, ys, ws, z []float32) {\n\tif i := t.Global(0); i < len(xs) {\n\t\tx, y, w := xs[i], ys[i], ws[i]\n\t\t_, _, _ = x, y, w\n", i)
		for j, e := range list {
			fmt.Fprintf(&text, "\t\tz[i*%d+%d] = %s\n", len(list), j, e)
		}
		text.WriteString("\t}\n}\n")
		launchers, widths = append(launchers, fmt.Sprintf("K%dOn", i)), append(widths, strconv.Itoa(len(list)))
	}
	fmt.Fprintf(&table, "package main\n\nvar (\n\tkernelsOf = []launch{%s}\n\twidths = []int{%s}\n)\n", strings.Join(launchers, ", "), strings.Join(widths, ", "))
	dir := module(t, map[string]string{"kernels.go": text.String(), "main.go": fastRunner, "table.go": table.String()})
	made := generated(t, dir)
	for name, src := range map[string][]byte{"main_kernels.go": made.Go, "main_kernels_vulkan.go": made.Vulkan, "kernels.c": []byte(made.C)} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), src, 0o600))
	}
	f, err := os.Create(filepath.Join(dir, "in.gob"))
	require.NoError(t, err)
	require.NoError(t, gob.NewEncoder(f).Encode(in))
	require.NoError(t, f.Close())
	build := exec.Command("go", "build", "-mod=mod", "-ldflags", "-s -w", "-tags", "cuda hip opencl vulkan", "-o", "kernels", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, target := range []string{"compute_75", "gfx906"} {
		run := exec.Command("./kernels", target)
		run.Dir, run.Env = dir, append(os.Environ(), "HALYARD_KERNEL_CACHE=off")
		out, err := run.CombinedOutput()
		require.NoError(t, err, "%s", out)
		if t.Logf("%s: %d bytes", target, len(out)); target[0] == 'c' && len(out) > 0 {
			assert.Contains(t, string(out), "approx.ftz.f32")
		}
	}
	all := map[string][][]float32{}
	for _, without := range []string{"", "roundedDivision"} {
		run := exec.Command("./kernels")
		run.Dir, run.Env = dir, append(os.Environ(), "HALYARD_KERNEL_CACHE=off", "HALYARD_HOST_DEVICES=1", "HALYARD_VULKAN_WITHOUT="+without)
		out, err = run.CombinedOutput()
		require.NoError(t, err, "%s", out)
		f, err = os.Open(filepath.Join(dir, "out.gob"))
		require.NoError(t, err)
		var some map[string][][]float32
		require.NoError(t, gob.NewDecoder(f).Decode(&some))
		require.NoError(t, f.Close())
		for device, got := range some {
			if all[device] == nil {
				all[device] = got
			} else if strings.HasPrefix(device, "vulkan") {
				all[device+", as if it did not round"] = got
			}
		}
	}
	requireDevices(t, make([]string, len(all)+1))
	return all
}

// fastBounds reads the bounds of quotients, roots and quotients by roots from the guide, in units in the last place.
func fastBounds(t *testing.T) map[string]float64 {
	text, err := os.ReadFile("../../docs/guide/go-kernels-run.md")
	require.NoError(t, err)
	bounds := map[string]float64{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(x / y|root\\(x\\)|x / root\\(y\\))`.* \\| ([0-9.]+) \\|").FindAllStringSubmatch(string(text), -1) {
		bounds[row[1]], err = strconv.ParseFloat(row[2], 64)
		require.NoError(t, err)
	}
	require.Len(t, bounds, 3)
	return bounds
}

const tiny = 0x1p-126 // the smallest normal float32

// counted returns what a number of a fast kernel may count as: the number, and 0 if it is subnormal. A divisor may count as infinite if it is very large.
func counted(x float32, divides bool) []float64 {
	all := []float64{float64(x)}
	if size := math.Abs(float64(x)); size < tiny {
		all = append(all, math.Copysign(0, float64(x)))
	} else if divides && size > 1/tiny {
		all = append(all, math.Copysign(math.Inf(1), float64(x)))
	}
	return all
}

// unitsOff returns how far a float32 is from the exact result, in units in the last place. A result below the smallest normal number may be any of that size.
func unitsOff(got float32, want float64) float64 {
	g := float64(got)
	switch {
	case g == want || got == float32(want) || g != g && want != want:
		return 0
	case g != g || want != want:
		return math.Inf(1)
	case math.Abs(want) < tiny && math.Abs(g) <= tiny:
		return 0
	}
	for _, v := range []*float64{&g, &want} { // the number after the largest stands for infinity
		*v = math.Copysign(math.Min(math.Abs(*v), 0x1p128), *v)
	}
	_, e := math.Frexp(math.Min(math.Abs(want), math.MaxFloat32))
	return math.Abs(g-want) / math.Ldexp(1, max(e-24, -149))
}

// Quotients and roots of fast kernels are within the bounds of the guide, for numbers of all exponents, and a result is no NaN unless the exact one is. Products
// that are converted explicitly are rounded, and float64 is exact but for fused products.
func TestFastOperations(t *testing.T) {
	t.Parallel()
	bounds := fastBounds(t)
	var in [3][]float32
	rng := rand.New(rand.NewPCG(7, 8))
	add := func(x, y, w float32) { in[0], in[1], in[2] = append(in[0], x), append(in[1], y), append(in[2], w) }
	special := []float32{0, float32(math.Copysign(0, -1)), 1, -1, 3, tiny, -tiny, 1 / tiny, math.MaxFloat32, math.SmallestNonzeroFloat32, float32(math.Inf(1)), float32(math.Inf(-1)),
		float32(math.NaN())}
	for _, x := range special {
		for _, y := range special {
			add(x, y, 1)
		}
	}
	for e := range 256 {
		for _, f := range append(rng.Perm(256)[:64], e, 127, 126, 128) {
			number := func(exponent int) float32 {
				return math.Float32frombits(uint32(exponent)<<23 | rng.Uint32()&(1<<23-1) | rng.Uint32()<<31)
			}
			x, y := number(e), number(f)
			add(x, y, -x*y*float32(1+rng.NormFloat64()*1e-7)) // so that the rounding of the product is a large part of the sum
			add(number(f), number(e), 1)
		}
	}
	exact := []string{"float32(x*y) + w", "w - float32(x*y)", "float32(named(x)*named(y)) + w"}
	double := []string{"float32(float64(x) / float64(y))", "float32(1 / math.Sqrt(float64(y)+1))"}
	on := fastOn(t, [][]string{{"x / y", "1 / x", "root(x)", "x / float32(math.Sqrt(float64(y)))", "x / 3"}, exact, {"x*y + w"}, double}, in)
	for device, got := range on {
		fused := 0
		var worst [5]float64
		for i, x := range in[0] {
			y, w := in[1][i], in[2][i]
			check := func(j int, bound float64, x float32, exact func(x, y float64) float64) {
				off := math.Inf(1)
				for _, a := range counted(x, j == 1) {
					for _, b := range counted(y, true) {
						off = min(off, unitsOff(got[0][5*i+j], exact(a, b)))
					}
				}
				worst[j] = max(worst[j], off)
				if !(off <= bound) {
					require.LessOrEqual(t, off, bound, "operation %d of %g and %g is %g on %s", j, x, y, got[0][5*i+j], device)
				}
			}
			check(0, bounds["x / y"], x, func(x, y float64) float64 { return x / y })
			check(1, bounds["x / y"], x, func(x, _ float64) float64 { return 1 / x })
			check(2, bounds["root(x)"], x, func(x, _ float64) float64 { return math.Sqrt(x) })
			check(3, bounds["x / root(y)"], x, func(x, y float64) float64 { return x / math.Sqrt(y) })
			check(4, bounds["x / y"], x, func(x, _ float64) float64 { return x / 3 })
			same := func(what string, got, want float32, from ...float32) {
				for _, n := range append(from, want) {
					if math.Abs(float64(n)) < tiny { // a device may count it as 0
						return
					}
				}
				if got != want && (got == got || want == want) {
					require.Equal(t, want, got, "%s of %g, %g and %g on %s", what, x, y, w, device)
				}
			}
			product := float32(x * y)
			for j, want := range []float32{product + w, w - product, product + w} {
				same(exact[j], got[1][3*i+j], want, x, y, product)
			}
			if once := float32(math.FMA(float64(x), float64(y), float64(w))); once != product+w && got[2][i] == once {
				fused++
			}
			if got[3] != nil {
				same(double[0], got[3][2*i], float32(float64(x)/float64(y)), x, y)
				same(double[1], got[3][2*i+1], float32(1/math.Sqrt(float64(y)+1)), y)
			}
		}
		t.Logf("%s: off by at most %.2f units in the last place; %d fused", device, worst, fused)
	}
}

// A fast kernel has its own forms of operations, also in functions that exact kernels call as well. A mark before a package clause is for all kernels.
func TestFastKernelsAndOthers(t *testing.T) {
	t.Parallel()
	const text = "package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\ntype named float32\n\nfunc sum(x, y float32) float32 { return x*y + 1 }\n\n" +
		"//halyard:kernel\nfunc exact(t grid.Thread, x []float32) { x[0] = sum(x[1], x[2]/x[3]) }\n\n" +
		"//halyard:kernel fast\nfunc quick(t grid.Thread, x []float32) { x[0] = sum(x[1], x[2]/x[3]) + float32(x[4]*x[5]) + float32(named(x[6])*named(x[7])) - x[8]*(x[9]/8) }\n\n" +
		"//halyard:kernel fast float32 int32\nfunc typed[T float32 | int32](t grid.Thread, x []T) { x[0] = x[1]*x[2] + x[3]/x[4] }\n"
	dir := module(t, map[string]string{"k.go": text, "doc.go": "package p\n"})
	made := generated(t, dir)
	c := strings.NewReplacer("GO_AT(", "", ", h_x_n", "").Replace(made.C)
	for _, part := range []string{"return h_x * h_y + 1.0f;", "f_sum(h_x[1], h_x[2] / h_x[3])", "return go_mad_f32(h_x, h_y, 1.0f);", "f_sum_1(h_x[1], go_quotient(h_x[2], h_x[3]))",
		"go_mad_f32(-h_x[8], h_x[9] * 0.125f, v_1 + h_x[4] * h_x[5] + h_x[6] * h_x[7])", "go_mad_f32(h_x[1], h_x[2], go_quotient(h_x[3], h_x[4]))", "(u32)h_x[1] * (u32)h_x[2] + "} {
		assert.Contains(t, regexp.MustCompile(`, \d+\)\]`).ReplaceAllString(c, "]"), part)
	}
	assert.Equal(t, 3, strings.Count(string(made.Go), "Fast: true"))
	assert.NotContains(t, string(made.Go), "doc.go")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "doc.go"), []byte("// Package p has kernels.\n//\n//halyard:kernel fast\npackage p\n"), 0o600))
	made = generated(t, dir)
	assert.Equal(t, 4, strings.Count(string(made.Go), "Fast: true"))
	assert.NotContains(t, made.C, "h_x * h_y")
	assert.Contains(t, string(made.Go), "doc.go halyard:kernel ")
}

// fastNode is an expression of a fast kernel: its text, and the function that computes it, exactly but for float64, with a bound of a device's error.
type fastNode struct {
	text string
	leaf bool // the text is one number
	of   func(in [3]float64) (v, e float64)
}

// fastTree returns a random expression. A quotient or root whose operand may be 0 has an error without a bound.
func fastTree(r *rand.Rand, bounds map[string]float64, depth int) fastNode {
	if depth == 0 || r.IntN(8) == 0 {
		i := r.IntN(4)
		if i == 3 {
			c := float64(1+r.IntN(16)) / 8
			return fastNode{fmt.Sprintf("float32(%g)", c), true, func([3]float64) (v, e float64) { return c, 0 }}
		}
		return fastNode{[]string{"x", "y", "w"}[i], true, func(in [3]float64) (v, e float64) { return in[i], 0 }}
	}
	a, b := fastTree(r, bounds, depth-1), fastTree(r, bounds, depth-1)
	if a.leaf && b.leaf { // two constants would be computed by Go's compiler
		a = fastNode{"x", true, func(in [3]float64) (v, e float64) { return in[0], 0 }}
	}
	rounded := func(v, e, units float64) (float64, float64) { return v, e + (math.Abs(v)+e)*units*0x1p-23 + 0x1p-120 }
	node := func(format string, of func(v, d, u, e float64) (float64, float64)) fastNode {
		return fastNode{fmt.Sprintf(format, a.text, b.text), false, func(in [3]float64) (float64, float64) {
			v, d := a.of(in)
			u, e := b.of(in)
			return of(v, d, u, e)
		}}
	}
	quotient := func(v, d, u, e, units float64) (float64, float64) {
		if !(math.Abs(u) > 2*e) {
			return 0, math.Inf(1)
		}
		return rounded(v/u, (d+math.Abs(v/u)*e)/(math.Abs(u)-e), units)
	}
	root := func(u, e, units float64) (float64, float64) {
		if !(u > 2*e) {
			return 0, math.Inf(1)
		}
		return rounded(math.Sqrt(u), math.Sqrt(u)-math.Sqrt(u-e), units)
	}
	switch r.IntN(8) {
	case 0, 1:
		return node("(%s + %s)", func(v, d, u, e float64) (float64, float64) { return rounded(v+u, d+e, 0.5) })
	case 2:
		return node("(%s - %s)", func(v, d, u, e float64) (float64, float64) { return rounded(v-u, d+e, 0.5) })
	case 3, 4:
		return node([]string{"%s * %s", "float32(%s * %s)"}[r.IntN(2)], func(v, d, u, e float64) (float64, float64) {
			return rounded(v*u, math.Abs(v)*e+math.Abs(u)*d+d*e, 0.5)
		})
	case 5:
		return node("(%s) / (%s)", func(v, d, u, e float64) (float64, float64) { return quotient(v, d, u, e, bounds["x / y"]) })
	case 6:
		b.text = "root(" + b.text + ")"
		return node("(%s + %s)", func(v, d, u, e float64) (float64, float64) {
			u, e = root(u, e, bounds["root(x)"])
			return rounded(v+u, d+e, 0.5)
		})
	}
	return node("(%s) / float32(math.Sqrt(float64(%s)))", func(v, d, u, e float64) (float64, float64) {
		u, e = root(u, e, 0)
		return quotient(v, d, u, e, bounds["x / root(y)"])
	})
}

// Random expressions of fast kernels differ from exact results by no more than the errors of their operations add up to.
func TestFastExpressions(t *testing.T) {
	t.Parallel()
	bounds := fastBounds(t)
	r := rand.New(rand.NewPCG(9, 10))
	var in [3][]float32
	for range 256 {
		for i := range in {
			in[i] = append(in[i], float32(math.Exp(r.NormFloat64())*float64(1-2*r.IntN(2))))
		}
	}
	const each = 25
	var kernels [][]string
	var nodes [][]fastNode
	for range (*fastExpressions + each - 1) / each {
		var list []string
		var some []fastNode
		for len(list) < each {
			if n := fastTree(r, bounds, 1+r.IntN(4)); !n.leaf {
				list, some = append(list, n.text), append(some, n)
			}
		}
		kernels, nodes = append(kernels, list), append(nodes, some)
	}
	for device, got := range fastOn(t, kernels, in) {
		compared, closest := 0, math.Inf(1)
		for k, some := range nodes {
			for j, n := range some {
				for i := range in[0] {
					v, e := n.of([3]float64{float64(in[0][i]), float64(in[1][i]), float64(in[2][i])})
					if g := float64(got[k][i*each+j]); math.Abs(v) < 1e30 && e < 1e30 && v == v && e == e {
						compared++
						if !(math.Abs(g-v) <= e) {
							require.LessOrEqual(t, math.Abs(g-v), e, "%s of %g, %g and %g is %g and not %g on %s", kernels[k][j], in[0][i], in[1][i], in[2][i], g, v, device)
						}
						closest = min(closest, (e-math.Abs(g-v))/e)
					}
				}
			}
		}
		assert.Greater(t, compared, len(nodes)*each*64, "most expressions have a bound")
		t.Logf("%s: %d results are within their bounds; the nearest is %.2f of its bound away", device, compared, closest)
	}
}
