package translate_test

import (
	"go/importer"
	"go/types"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/testing/gomath"
	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/internal/translate/build"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/ir/interp"
)

// Each function of Go's packages for mathematics is an operation, or a kernel of package gomath calls it.
func TestAllOfMathematics(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile(filepath.Join("..", "testing", "gomath", "gomath.go"))
	require.NoError(t, err)
	called := map[string]bool{}
	for _, call := range regexp.MustCompile(`\b(math|bits|cmplx)\.\w+\(`).FindAll(src, -1) {
		called[string(call[:len(call)-1])] = true
	}
	for _, path := range []string{"math", "math/bits", "math/cmplx"} {
		pkg, err := importer.Default().Import(path)
		if err != nil {
			pkg, err = importer.ForCompiler(nil, "source", nil).Import(path)
		}
		require.NoError(t, err)
		for _, name := range pkg.Scope().Names() {
			if _, ok := pkg.Scope().Lookup(name).(*types.Func); ok && pkg.Scope().Lookup(name).Exported() {
				full := pkg.Name() + "." + name
				assert.True(t, called[full] || ir.Functions[full] != nil, "%s is in no kernel", full)
			}
		}
	}
}

// The interpreter has Go's bits for functions that are translated from Go's source, and where Go panics it fails.
func TestInterpreterOfMathematics(t *testing.T) {
	t.Parallel()
	packages, err := translate.Load(t.Context(), filepath.Join("..", "testing", "gomath"), ".")
	require.NoError(t, err)
	p, err := build.Program(packages[0].Package)
	require.NoError(t, err)
	require.NoError(t, p.Verify())
	kernels := map[string]*ir.Function{}
	for _, f := range p.Functions {
		if f.Kernel {
			kernels[f.Name] = f
		}
	}
	grid := interp.Grid{Size: [3]int{len(gomath.Special), 1, 1}, Blocks: [3]int{1, 1, 1}}
	n := len(gomath.Special)
	order, z := make([]int64, n), make([]complex128, n)
	for shift := range n {
		x, y := gomath.Special, append(gomath.Special[shift:n:n], gomath.Special[:shift]...)
		for i := range z {
			order[i], z[i] = int64(i*37%4300)-2150, complex(x[i], y[i])
		}
		out, pairs := make([][20]float64, n), make([][8]complex128, n)
		require.NoError(t, interp.Run(p, kernels["exactly"], grid, x, y, order, out))
		for i := range out {
			assert.Equal(t, bitsOf(gomath.Exact(x[i], y[i], order[i])), bitsOf(out[i]), "%g, %g, %d", x[i], y[i], order[i])
		}
		for name, f := range gomath.OfComplex {
			require.NoError(t, interp.Run(p, kernels[name], grid, z, z, pairs))
			for i := range pairs {
				want := f(z[i], z[i])
				for j := range want {
					assert.Equal(t, bitsOf([20]float64{real(want[j]), imag(want[j])}), bitsOf([20]float64{real(pairs[i][j]), imag(pairs[i][j])}), "%s: result %d of %g", name, j, z[i])
				}
			}
		}
		for name, f := range gomath.OfFloats {
			some := make([][8]float64, n)
			require.NoError(t, interp.Run(p, kernels[name], grid, y, order, some))
			for i := range some {
				want := f(y[i], order[i])
				for j := range want {
					assert.Equal(t, bitsOf([20]float64{want[j]}), bitsOf([20]float64{some[i][j]}), "%s: result %d of %g, %d", name, j, y[i], order[i])
				}
			}
		}
	}
	for _, y := range []uint64{0, 5} {
		assert.ErrorContains(t, interp.Run(p, kernels["faulty"], interp.Grid{Size: [3]int{1, 1, 1}, Blocks: [3]int{1, 1, 1}}, []uint64{y}, make([][2]uint64, 1)), "divide by zero")
	}
}

func bitsOf(x [20]float64) (all [20]uint64) {
	for i, f := range x {
		if all[i] = math.Float64bits(f); f != f {
			all[i] = math.Float64bits(math.NaN())
		}
	}
	return all
}
