package translate_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	isa "github.com/go-halyard/halyard/internal/spirv"
	module "github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/internal/translate/build"
	"github.com/go-halyard/halyard/internal/translate/cprint"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/passes"
	"github.com/go-halyard/halyard/internal/translate/spirv"
	"github.com/go-halyard/halyard/internal/translate/vulkan"
)

// It is known which shared memory is written before any thread can read it.
func TestFilled(t *testing.T) {
	t.Parallel()
	for _, k := range translate.SharedKernels {
		p, err := translate.Checked(k.Text)
		require.NoError(t, err)
		made, err := build.Program(p.Package)
		require.NoError(t, err)
		f := made.Functions[len(made.Functions)-1]
		var array *ir.Local
		for _, l := range f.Locals {
			if l.Space == ir.Shared {
				array = l
			}
		}
		_, filled := facts.Filled(f, array)
		assert.Equal(t, k.Filled, filled, "%s:\n%s", k.Name, f)
	}
}

var validKernels = flag.Int("valid", 10, "for how many random kernels spirv-val is asked whether their modules are valid")

// valid checks modules with spirv-val.
func valid(t *testing.T, what string, m *module.Module) {
	t.Helper()
	path := os.Getenv("HALYARD_TEST_SPIRV_VAL")
	if path == "" {
		path = "spirv-val"
	}
	path, err := exec.LookPath(path)
	if err != nil {
		if strings.Contains(os.Getenv("HALYARD_REQUIRE"), "vulkan") {
			t.Fatalf("HALYARD_REQUIRE asks for Vulkan: %v", err)
		}
		t.Skip(err)
	}
	var data []byte
	for _, w := range m.Words() {
		data = binary.LittleEndian.AppendUint32(data, w)
	}
	versions := [][]byte{data}
	if parts, err := isa.Parts(data); err == nil {
		versions = append(versions, parts)
	} else {
		assert.ErrorContains(t, err, "arguments have more than 104 bytes", what)
	}
	if slots, list := isa.Slots(data); len(list) > 0 {
		versions = append(versions, slots)
	}
	for i, data := range versions {
		file := filepath.Join(t.TempDir(), "k.spv")
		require.NoError(t, os.WriteFile(file, data, 0o600))
		if out, err := exec.Command(path, "--target-env", "vulkan1.2", file).CombinedOutput(); err != nil {
			t.Errorf("%s, version %d of plain, for parts and with slots: %v: %s\n%s", what, i, err, out, module.Text(m.Words()))
		}
	}
}

// validated checks the modules of a package, and returns how many kernels it has.
func validated(t *testing.T, what string, p *translate.Package) (n int) {
	program, err := build.Program(p.Package)
	require.NoError(t, err, what)
	program = passes.Devices(program)
	narrow := facts.NarrowOf(program)
	for _, f := range program.Functions {
		if !f.Kernel {
			continue
		}
		m, err := vulkan.ModulesOf(program, f, spirv.Options{Entry: cprint.Entry(f), Loops: true, Narrow: narrow})
		require.NoError(t, err, what)
		for reports, made := range []*module.Module{m.Plain, m.Watched, m.Checked} {
			valid(t, fmt.Sprintf("%s, kernel %s, reports %d", what, f.Name, reports), made)
		}
		n++
	}
	return n
}

// The kernel add of k-means uses centres with indexes that count to constants, so its memory is in slots. That of move, which has no such
// parameter, is not. Whatever is damaged in a module, Slots returns.
func TestSlots(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	packages, err := translate.Load(t.Context(), root, "./examples/kmeans/lloyd")
	require.NoError(t, err)
	program, err := build.Program(packages[0].Package)
	require.NoError(t, err)
	program = passes.Devices(program)
	want := map[string][]int{"add": {0, 2, 4}, "move": nil}
	for _, f := range program.Functions {
		if !f.Kernel {
			continue
		}
		m, err := vulkan.ModulesOf(program, f, spirv.Options{Entry: cprint.Entry(f), Narrow: facts.NarrowOf(program)})
		require.NoError(t, err)
		var data []byte
		for _, w := range m.Plain.Words() {
			data = binary.LittleEndian.AppendUint32(data, w)
		}
		_, list := isa.Slots(data)
		assert.Equal(t, want[f.Name], list, f.Name)
		for at := range len(data) {
			isa.Slots(data[:at])
			damaged := bytes.Clone(data)
			damaged[at] ^= 1 << (at % 8)
			isa.Slots(damaged)
		}
	}
}

// The modules of all kernels of this repository, of some with long lists of conditions, and of random ones, are valid.
func TestModulesAreValid(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	packages, err := translate.Load(t.Context(), root, "./examples/...", "./bench/...", "./internal/testing/...", "./kernel/...")
	require.NoError(t, err)
	n := 0
	for _, p := range packages {
		n += validated(t, p.Dir, p)
	}
	assert.Greater(t, n, 100)
	lists, err := translate.Checked(translate.LongLists)
	require.NoError(t, err)
	validated(t, "long lists of conditions", lists)
	for k := range *validKernels {
		seed := translate.FirstSeed() + uint64(k)
		p, err := translate.Checked(translate.RandomHead + translate.Randomly(seed, 0).Text)
		require.NoError(t, err)
		validated(t, fmt.Sprint("seed ", seed), p)
	}
}

// Each function of Go's packages for mathematics has modules.
func TestModulesOfMath(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("package p\n\nimport (\n\t\"math\"\n\t\"math/bits\"\n\t\"math/cmplx\"\n\n\t\"github.com/go-halyard/halyard/kernel/grid\"\n)\n\n" +
		"var _, _, _ = math.Pi, bits.Len, cmplx.Abs\n")
	i := 0
	for name := range ir.Functions {
		params, result, _ := ir.Signature(name)
		var args, types []string
		for _, p := range params {
			kind := map[ir.Kind]string{ir.Int: "int(x[1])", ir.Uint: "uint(x[2])", ir.U8: "uint8(x[3])", ir.U16: "uint16(x[4])", ir.U32: "uint32(x[5])", ir.U64: "uint64(x[6])",
				ir.F32: "float32(f[1])", ir.F64: "float64(f[0])", ir.C128: "complex(float64(f[0]), 1)"}[p.Kind]
			args, types = append(args, kind), append(types, p.String())
		}
		call := fmt.Sprintf("%s(%s)", strings.Replace(name, "math.FMA32", "grid.FMA", 1), strings.Join(args, ", "))
		body := "r := " + call + "\n\t_ = r"
		switch {
		case result.Kind == ir.Tuple:
			body = "r, s := " + call + "\n\tx[0] = int64(r ^ s)"
		case result.Integer():
			body = "x[0] = int64(" + call + ")"
		case result.Kind == ir.F64 && !slices.Contains(types, "int") && !slices.Contains(types, "c128"):
			body = "f[0] = float32(" + call + ")"
		}
		fmt.Fprintf(&text, "\n//halyard:kernel\nfunc k%d(t grid.Thread, x []int64, f []float32) {\n\t%s\n}\n", i, body)
		i++
	}
	p, err := translate.Checked(text.String())
	require.NoError(t, err)
	assert.Equal(t, len(ir.Functions), validated(t, "functions", p))
}

// A module needs integers of 64 bits only if some integer of the kernel is not narrow. Without them it also has nothing else that SwiftShader lacks.
func TestModulesWithoutIntegersOf64Bits(t *testing.T) {
	t.Parallel()
	for body, wide := range map[string]bool{
		"x[t.Global(0)] *= x[n-1]":                                                                        false,
		"for i := t.Global(0); i < len(x); i += 4 { x[i] += float32(i) }":                                 false,
		"if i, j := t.Global(0), t.Global(1); j < m.Rows() && i < m.Cols() { m.Set(j, i, m.At(j, i)+1) }": false,
		"e := s[0]; e[n&3] = 1; s[n] = e":                                                                 false,
		"b := grid.Shared[[4]int32](t); b[t.Local(0)&3]++; t.Barrier(); x[0] = float32(b[0])":             false,
		"if s[0] == s[1] { x[0] = 1 }":                                                                    false,
		"x[0] = float32(n * n)":                                                                           true,
		"w[0] = int64(n)":                                                                                 true,
		"v := big[0]; v[1] = 2; big[n] = v":                                                               true, // too many parts
		"grid.AtomicAdd(&x[0], 1)":                                                                        true, // the conversion of a pointer
	} {
		params := ""
		if strings.Contains(body, "w[") {
			params = ", w []int64"
		}
		p, err := translate.Checked("package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\n//halyard:kernel\n" +
			"func k(t grid.Thread, n int, x []float32, m grid.Matrix[float32], s [][4]float32, big [][1000]float32" + params + ") {\n\t" + body + "\n}\n")
		require.NoError(t, err, body)
		program, err := build.Program(p.Package)
		require.NoError(t, err, body)
		program = passes.Devices(program)
		f := program.Functions[len(program.Functions)-1]
		made, err := vulkan.ModulesOf(program, f, spirv.Options{Entry: cprint.Entry(f), Loops: true, Narrow: facts.NarrowOf(program)})
		require.NoError(t, err, body)
		for what, m := range map[string]*module.Module{"plain": made.Plain, "watched": made.Watched} {
			text := module.Text(m.Words())
			assert.Equal(t, wide, m.Needs(module.Int64), "%s, %s\n%s", body, what, text)
			if !wide {
				assert.NotContains(t, text, "OpCopyLogical", body)
				assert.NotRegexp(t, `Op[SU]Convert`, text, body)
			}
		}
		assert.True(t, made.Checked.Needs(module.Int64), body)
	}
}
