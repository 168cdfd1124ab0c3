package translate_test

import (
	"encoding/json"
	"errors"
	"go/importer"
	"go/types"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/internal/translate/build"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/ir/interp"
	"github.com/go-halyard/halyard/internal/translate/testdata/gomath"
	"github.com/go-halyard/halyard/kernel"
)

// Each function of Go's packages for mathematics is an operation, or a kernel of package gomath calls it.
func TestAllOfMathematics(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile(filepath.Join("testdata", "gomath", "gomath.go"))
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
	packages, err := translate.Load(t.Context(), filepath.Join("testdata", "gomath"), ".")
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

// Compilers take the functions that are translated from Go's source, and on devices the tests of package gomath hold. The files that it needs are not in the
// repository, as they are large: the go command finds them beside it through an overlay.
func TestMathematicsOnDevices(t *testing.T) {
	t.Parallel()
	if testing.Short() || os.Getenv("HALYARD_REQUIRE") == "" {
		t.Skip("takes a minute; HALYARD_REQUIRE, which names what has to be there, asks for it")
	}
	folder, err := filepath.Abs(filepath.Join("testdata", "gomath"))
	require.NoError(t, err)
	packages, err := translate.Load(t.Context(), folder, ".")
	require.NoError(t, err)
	made, err := packages[0].Translate()
	require.NoError(t, err)
	for target, language := range map[string]hal.Language{"compute_70": hal.LanguageCUDA, "gfx906": hal.LanguageHIP} {
		_, err := hal.CompileFor(t.Context(), target, hal.Source{Name: "gomath", Text: kernel.Prelude(language) + made.C})
		required := strings.Contains(os.Getenv("HALYARD_REQUIRE"), map[string]string{"compute_70": "nvrtc", "gfx906": "hiprtc"}[target])
		if !errors.Is(err, hal.ErrNotBuilt) && (required || !errors.Is(err, hal.ErrUnavailable)) {
			assert.NoError(t, err, target)
		}
	}
	temporary, replace := t.TempDir(), map[string]string{}
	for name, text := range map[string][]byte{"gomath_kernels.go": made.Go, "gomath_kernels_vulkan.go": made.Vulkan} {
		replace[filepath.Join(folder, name)] = filepath.Join(temporary, name)
		require.NoError(t, os.WriteFile(filepath.Join(temporary, name), text, 0o600))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(temporary, "overlay.json"), overlay, 0o600))
	run := exec.CommandContext(t.Context(), "go", "test", "-overlay", filepath.Join(temporary, "overlay.json"), "-tags", "opencl vulkan", "-v", ".")
	run.Dir, run.Env = folder, append(os.Environ(), "CGO_ENABLED=0")
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	if strings.Contains(os.Getenv("HALYARD_REQUIRE"), "opencl") {
		assert.Contains(t, string(out), "--- PASS: TestExactly/opencl:0")
	}
}
