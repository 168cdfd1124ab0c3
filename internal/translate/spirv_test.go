package translate

import (
	"encoding/binary"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/kernel"
)

var validKernels = flag.Int("valid", 10, "for how many random kernels spirv-val is asked whether their modules are valid")

// validator returns the path of spirv-val, or skips the test.
func validator(t *testing.T) string {
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
	return path
}

// valid checks the modules of a text with spirv-val, and returns how many there are.
func valid(t *testing.T, val, what, c string) (n int) {
	t.Helper()
	for _, mode := range []checks{reportsNothing, reportsRounds, reportsBounds} {
		made, lacks, err := modules(c, mode)
		require.NoError(t, err, what)
		assert.Empty(t, lacks, what)
		for name, m := range made {
			var data []byte
			for _, w := range m.words {
				data = binary.LittleEndian.AppendUint32(data, w)
			}
			versions := [][]byte{data}
			if parts, err := spirv.Parts(data); err == nil {
				versions = append(versions, parts)
			} else {
				assert.ErrorContains(t, err, "arguments have more than 104 bytes", "%s, kernel %s", what, name)
			}
			for i, data := range versions {
				file := filepath.Join(t.TempDir(), name)
				require.NoError(t, os.WriteFile(file, data, 0o600))
				if out, err := exec.Command(val, "--target-env", "vulkan1.2", file).CombinedOutput(); err != nil {
					t.Errorf("%s, kernel %s, reports %v, for parts: %v: %s\n%s", what, name, mode, i > 0, out, build.Text(m.words))
				}
			}
			n++
		}
	}
	return n
}

// The modules of all kernels of this repository, and of random ones, are valid.
func TestModulesAreValid(t *testing.T) {
	t.Parallel()
	val, n := validator(t), 0
	portable := regexp.MustCompile("(?s)Portable: `(.*?)`")
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." && d.Name() != "../.." {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_kernels.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if m := portable.FindSubmatch(text); m != nil {
			n += valid(t, val, path, string(m[1]))
		}
		return err
	}))
	assert.Greater(t, n, 200)
	imp, err := imports()
	require.NoError(t, err)
	for seed := *randomSeed; seed < *randomSeed+uint64(*validKernels); seed++ {
		made, err := translatedWith(imp, head+random(seed, 0))
		require.NoError(t, err)
		valid(t, val, fmt.Sprint("seed ", seed), made.C)
	}
}

// Each function of package math has a translation.
func TestModulesOfMath(t *testing.T) {
	t.Parallel()
	val := validator(t)
	for name, c := range mathNames {
		if c == "" {
			continue
		}
		for _, width := range []string{"f32", "f64"} {
			x, second := "x[0]", ""
			if slices.Contains(twoArguments, name) {
				second = ", x[1]"
			}
			valid(t, val, name, fmt.Sprintf("KERNEL void k_f(GLOBAL %s *x, i64 x_n GO_FAULTS) {\n\tx[0] = %s(%s%s);\n}\n", width, c, x, second))
		}
	}
}

// The text for Vulkan checks indexes as that for other devices does.
func TestBoundsAreThoseOfThePrelude(t *testing.T) {
	t.Parallel()
	rounds, bounds, _ := strings.Cut(boundsText, "FUNCTION void go_wide")
	assert.Contains(t, kernel.Prelude(hal.LanguageHIP), rounds)
	assert.Contains(t, kernel.Prelude(hal.LanguageHIP), bounds)
}

// A text that the translator did not write, or that is cut off, is an error and no panic.
func TestTextsThatAreNone(t *testing.T) {
	t.Parallel()
	const whole = `typedef struct { f32 a[4]; } T_4_f32;
FUNCTION i32 f_g(i32 h_x) { return h_x > 0 ? h_x : -h_x; }
KERNEL void k_f(GLOBAL i32 *h_x, i64 h_x_n GO_FAULTS) {
	T_4_f32 v_1 = {0};
	for (i64 i = 0; i < 4; i++) {
		v_1.a[GO_AT(i, 4, 0)] = 1.5f;
	}
	h_x[0] = f_g((i32)v_1.a[1]);
}
`
	_, lacks, err := modules(whole, reportsNothing)
	require.NoError(t, err)
	require.Empty(t, lacks)
	tokens := cTokens(whole)
	for i := range tokens {
		_, err := parseC(strings.Join(tokens[:i], " "), checks(i%3))
		if open := strings.Count(strings.Join(tokens[:i], ""), "{") - strings.Count(strings.Join(tokens[:i], ""), "}"); open > 0 {
			assert.Error(t, err, "%d tokens", i)
		}
		for _, other := range []string{"", "(", "}", "h_none", "5", ";"} {
			_, _ = parseC(strings.Join(slices.Concat(tokens[:i], []string{other}, tokens[i+1:]), " "), reportsNothing)
		}
	}
	_, lacks, err = modules("KERNEL void k_f(GLOBAL f64 *x) { x[0] = tgamma(x[0]); }", reportsNothing)
	require.NoError(t, err)
	assert.ErrorContains(t, lacks["k_f"], "has no translation for Vulkan; write a function")
}
