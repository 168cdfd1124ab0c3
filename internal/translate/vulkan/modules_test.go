package vulkan

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	words "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate"
)

// valid checks modules with spirv-val.
func valid(t *testing.T, what string, m *build.Module) {
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
	if parts, err := words.Parts(data); err == nil {
		versions = append(versions, parts)
	} else {
		assert.ErrorContains(t, err, "arguments", what)
	}
	for i, data := range versions {
		file := filepath.Join(t.TempDir(), "module.spv")
		require.NoError(t, os.WriteFile(file, data, 0o600))
		if out, err := exec.Command(path, "--target-env", "vulkan1.2", file).CombinedOutput(); err != nil {
			t.Errorf("%s, for parts: %v: %v: %s\n%s", what, i > 0, err, out, build.Text(m.Words()))
		}
	}
}

// The modules of all kernels of this repository are valid.
func TestModulesOfTheRepository(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	packages, err := translate.Load(t.Context(), root, "./examples/...", "./bench/...", "./internal/testing/...", "./kernel/...")
	require.NoError(t, err)
	n, size := 0, 0
	for _, p := range packages {
		p.Modules = func(p *translate.Package, sites []string, kernels []translate.Entry) ([]translate.Modules, error) {
			all, err := Modules(p, sites, kernels)
			for i, m := range all {
				what := p.Dir + ": " + kernels[i].Kernel
				valid(t, what, m.Plain)
				valid(t, what+", bounds", m.Checked)
				if m.Watched != nil {
					valid(t, what+", rounds", m.Watched)
				}
				n++
			}
			return all, err
		}
		made, err := p.Translate()
		require.NoError(t, err)
		size += len(made.Vulkan)
	}
	assert.Greater(t, n, 100)
	t.Logf("%d kernels, %d bytes of generated files", n, size)
}
