package translate

import (
	"bufio"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

var mathValues = flag.Int("values", 20000, "for how many random arguments functions of package math are compared")

// mathRunner calls every function on the host and on OpenCL devices, and prints how far each is from the host's result for float64, in units in the last
// place of the result's type.
const mathRunner = `package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

type tested struct {
	name   string
	single func(context.Context, kernel.Target, hal.Grid, kernel.Vector[float32], kernel.Vector[float32], kernel.Vector[float32]) error
	double func(context.Context, kernel.Target, hal.Grid, kernel.Vector[float64], kernel.Vector[float64], kernel.Vector[float64]) error
	exact  func(x, y float64) float64
}

func main() {
	ctx := context.Background()
	random := must(strconv.Atoi(os.Args[1]))
	r := rand.New(rand.NewPCG(1, 2))
	special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 2, -2, 10, 100, math.Pi, -math.Pi / 2, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, math.MaxFloat32,
		math.SmallestNonzeroFloat32, 0x1p-126, 0x1p-1022, 1e-10, -1e-10, 1e5, 1e10, 1e22, 709.7, -745, 88.7, -103.9, 1 + 0x1p-23, 1 - 0x1p-24, 1 + 0x1p-52, 3, 5, 7.5}
	var xs, ys []float64
	for _, x := range special {
		for _, y := range special {
			xs, ys = append(xs, x), append(ys, y)
		}
	}
	for i := range random {
		wide := func() float64 {
			switch i % 4 {
			case 0:
				return float64(math.Float32frombits(r.Uint32()))
			case 1:
				return math.Float64frombits(r.Uint64())
			case 2:
				return (r.Float64() - 0.5) * 8
			}
			return (r.Float64() - 0.5) * 200
		}
		xs, ys = append(xs, wide()), append(ys, wide())
	}
	for _, d := range must(hal.Devices(ctx)) {
		if d.Backend == "host" && d.Name() != "host:0" || d.Backend != "host" && d.Backend != "opencl" && d.Backend != "vulkan" {
			continue
		}
		s := must(must(hal.Open(ctx, d.Name())).NewStream())
		what := "other"
		switch about := strings.ToLower(d.Model + d.Vendor + d.Driver); {
		case d.Backend == "host":
			what = "host"
		case d.Backend == "vulkan":
			what = "vulkan"
		case strings.Contains(about, "portable computing"):
			what = "pocl"
		case strings.Contains(about, "intel"):
			what = "intel"
		}
		fmt.Printf("DEVICE %s %s %s %s\n", d.Name(), what, d.Model, d.Driver)
		for _, f := range functions {
			single, at := measure(ctx, s, xs, ys, f.name, f.single, f.exact)
			fmt.Printf("ULP %s 32 %s %g at %s\n", what, f.name, single, at)
			double, at := measure(ctx, s, xs, ys, f.name, f.double, f.exact)
			fmt.Printf("ULP %s 64 %s %g at %s\n", what, f.name, double, at)
		}
	}
}

func measure[T float32 | float64](ctx context.Context, s *hal.Stream, xs, ys []float64, name string,
	launch func(context.Context, kernel.Target, hal.Grid, kernel.Vector[T], kernel.Vector[T], kernel.Vector[T]) error, exact func(x, y float64) float64) (worst float64, at string) {
	n := len(xs)
	x, y, z := must(buffer.New[T](n)), must(buffer.New[T](n)), must(buffer.New[T](n))
	defer func() { check(hal.CloseAll(x, y, z)) }()
	in := [2][]T{make([]T, n), make([]T, n)}
	for i := range n {
		in[0][i], in[1][i] = T(xs[i]), T(ys[i])
	}
	check(x.CopyIn(ctx, in[0]))
	check(y.CopyIn(ctx, in[1]))
	check(launch(ctx, s, hal.Over(n).Of(64), x, y, z))
	got := make([]T, n)
	check(z.CopyOut(ctx, got))
	for i, g := range got {
		want := exact(float64(in[0][i]), float64(in[1][i]))
		if u := ulps(g, want); !(u <= worst) && !(double[T]() && unsure(name, float64(in[0][i]), float64(in[1][i]), want)) {
			worst, at = u, fmt.Sprintf("%v, %v: %v, and %v is right", in[0][i], in[1][i], g, want)
		}
	}
	return worst, at
}

// double reports whether T is float64.
func double[T float32 | float64]() bool { _, ok := any(*new(T)).(float64); return ok }

// unsure reports whether package math itself is inexact for float64 here, as the guide says, so that other results cannot be compared with it.
func unsure(name string, x, y, want float64) bool {
	switch name {
	case "Sin", "Cos", "Tan":
		return math.Abs(want) < 0.1 || math.Abs(want) > 10
	case "Exp", "Sinh", "Cosh", "Expm1":
		return math.Abs(x) > 700 && math.Abs(x) < 750
	case "Asin", "Acos":
		return math.Abs(x) > 0.9 && math.Abs(x) < 1
	case "Log", "Log10":
		return math.Abs(x) < 0x1p-1022
	case "Log2":
		return math.Abs(x-1) < 0.1
	case "Pow":
		return (math.Abs(y) > 20 || math.Abs(want) > 1e9 || math.Abs(want) < 1e-9) && !math.IsInf(x, 0) && !math.IsInf(y, 0)
	case "Atan2":
		return math.Abs(y) > math.Abs(x)*0x1p1000 && !math.IsInf(y, 0)
	}
	return false
}

// ulps returns how far g is from want, in distances between numbers of T near want. Subnormal results may be 0.
func ulps[T float32 | float64](g T, want float64) float64 {
	w := T(want)
	var tiny, largest float64 = 0x1p-1022, math.MaxFloat64
	bits := 53
	if _, ok := any(g).(float32); ok {
		tiny, largest, bits = 0x1p-126, math.MaxFloat32, 24
	}
	switch {
	case g != g && want != want, float64(g) == want, g == w:
		return 0
	case g != g || want != want:
		return math.Inf(1)
	case math.Abs(want) < tiny && math.Abs(float64(g)) <= tiny:
		return 0
	}
	a, b := float64(g), want
	if math.IsInf(a, 0) { // the number after the largest, if the result is near it
		a = math.Copysign(largest, a)
	}
	if math.IsInf(b, 0) || math.Abs(b) > largest {
		b = math.Copysign(largest, b)
	}
	_, e := math.Frexp(b)
	unit := math.Ldexp(1, max(e-bits, -1074))
	return math.Round(math.Abs(a-b)/unit*100) / 100
}

func must[T any](v T, err error) T { check(err); return v }

func check(err error) {
	if err != nil {
		panic(err)
	}
}
`

// twoArguments are the functions that take two arguments.
var twoArguments = []string{"Copysign", "Mod", "Remainder", "Atan2", "Pow", "Hypot", "Max", "Min"}

// On each device of this machine, functions of package math differ from the host's functions for float64 by no more than the guide says. The bounds
// allow for the host's own errors.
func TestMathBounds(t *testing.T) {
	t.Parallel()
	bounds := readBounds(t)
	var names []string // of those that compute a float64 from one or two
	for name := range ir.Functions {
		params, result, _ := ir.Signature(name)
		if name, ok := strings.CutPrefix(name, "math."); ok && result.Kind == ir.F64 && len(params) > 0 && params[0].Kind == ir.F64 && len(params) < 3 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	assert.ElementsMatch(t, names, slices.Collect(maps.Keys(bounds)), "the guide has a row for each function")
	var kernels, table strings.Builder
	kernels.WriteString("package main\n\nimport (\n\t\"math\"\n\n\t\"github.com/go-halyard/halyard/kernel/grid\"\n)\n")
	table.WriteString("package main\n\nimport \"math\"\n\nvar functions = []tested{\n")
	for _, name := range names {
		single, double, exact := "float64(x[i])", "x[i]", "math."+name+"(x)"
		if slices.Contains(twoArguments, name) {
			single, double, exact = "float64(x[i]), float64(y[i])", "x[i], y[i]", "math."+name+"(x, y)"
		}
		for width, args := range map[string]string{"32": single, "64": double} {
			fmt.Fprintf(&kernels, "\n//halyard:kernel\nfunc go%s%s(t grid.Thread, x, y, z []float%s) {\n\tif i := t.Global(0); i < len(z) {\n\t\tz[i] = float%s(math.%s(%s))\n\t}\n}\n",
				name, width, width, width, name, args)
		}
		fmt.Fprintf(&table, "\t{%q, Go%s32On, Go%s64On, func(x, y float64) float64 { return %s }},\n", name, name, name, exact)
	}
	table.WriteString("}\n")
	dir := module(t, map[string]string{"kernels.go": kernels.String(), "main.go": mathRunner, "table.go": table.String()})
	imp, err := imports()
	require.NoError(t, err)
	made, err := translatedWith(imp, kernels.String())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main_kernels.go"), made.Go, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main_kernels_vulkan.go"), made.Vulkan, 0o600))
	build := exec.Command("go", "build", "-mod=mod", "-ldflags", "-s -w", "-tags", "opencl vulkan", "-o", "kernels", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	run := exec.Command("./kernels", strconv.Itoa(*mathValues))
	run.Dir, run.Env = dir, append(os.Environ(), "HALYARD_KERNEL_CACHE=off", "HALYARD_HOST_DEVICES=1")
	out, err = run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	measured, devices := 0, 0
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "DEVICE") {
			t.Log(line)
			devices++
		}
		var device, name string
		var width int
		var ulp float64
		if n, _ := fmt.Sscanf(line, "ULP %s %d %s %g", &device, &width, &name, &ulp); n != 4 {
			continue
		}
		measured++
		bound, column := 0.0, map[string]int{"pocl": 0, "intel": 2, "vulkan": 4}[device]
		if width == 64 {
			column++
		}
		if device != "host" { // the host is what others are compared with
			bound = bounds[name][column]
		}
		if device != "other" { // its bounds were never measured
			assert.LessOrEqual(t, ulp, bound, line)
		}
		t.Log(line)
	}
	assert.Equal(t, devices*2*len(names), measured, "%s", out)
	requireDevices(t, make([]string, devices))
}

// readBounds reads the table of the guide: for each function how far PoCL may be from the host for float32 and float64, then how far Intel may be,
// and then how far devices of Vulkan may be.
func readBounds(t *testing.T) map[string][6]float64 {
	text, err := os.ReadFile("../../docs/guide/go-kernels-run.md")
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\| (`[A-Z].*`) \\| ([0-9.]+) \\| ([0-9.]+) \\| ([0-9.]+) \\| ([0-9.]+) \\| ([0-9.]+) \\| ([0-9.]+) \\|").FindAllStringSubmatch(string(text), -1)
	bounds := map[string][6]float64{}
	for _, row := range rows {
		var six [6]float64
		for i := range six {
			six[i], err = strconv.ParseFloat(row[2+i], 64)
			require.NoError(t, err)
		}
		for _, name := range strings.Split(row[1], ", ") {
			bounds[strings.Trim(name, "`")] = six
		}
	}
	return bounds
}
