package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// root is the folder that holds go.mod.
func root(t *testing.T) string {
	dir, err := filepath.Abs("../../..")
	require.NoError(t, err)
	_, err = os.Stat(filepath.Join(dir, "go.mod"))
	require.NoError(t, err, "the root of the module")
	return dir
}

func TestImportsKeepTheirDirection(t *testing.T) {
	tree, err := Read(os.DirFS(root(t)))
	require.NoError(t, err)
	for _, v := range Check(tree, Rules, Closures) {
		t.Error(v)
	}
	for _, folder := range []string{"coherence", "internal/protocol", "hal", "hal/driver", "buffer", "buffer/internal/order", "internal/span",
		"conformance", "backends", "backends/host", "backends/cuda", "backends/hip", "backends/opencl", "cmd/halyard"} {
		if _, ok := tree[folder]; !ok {
			t.Errorf("no Go files found in %s, which the rules speak of", folder)
		}
	}
}

// A test that does less of its work with -short says how much it did, for package testreport. One that is left out is told anyway, and a harness tells the suite.
func TestShortTestsSayWhatTheyDid(t *testing.T) {
	short := regexp.MustCompile(`(?m)^.*testing\.Short\(\) \{\n.*$`)
	found := 0
	require.NoError(t, filepath.WalkDir(root(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, use := range short.FindAllString(string(text), -1) {
			if strings.Contains(use, "Skip") || strings.Contains(use, "miss(") || strings.Contains(use, "require.") {
				continue
			}
			found++
			assert.Contains(t, string(text), "did %d of %d ", "%s: %s", path, use)
		}
		return err
	}))
	assert.NotZero(t, found)
}

func file(imports ...string) *fstest.MapFile {
	src := "//go:build never\n\npackage p\n"
	for _, i := range imports {
		src += "import _ \"" + i + "\"\n"
	}
	return &fstest.MapFile{Data: []byte(src)}
}

// Each row is one import that must be found out, in a file that no default build compiles.
func TestForbiddenImportsAreFound(t *testing.T) {
	for _, c := range []struct{ file, imports string }{
		{"coherence/a.go", "golang.org/x/exp/slices"},
		{"coherence/a.go", Module + "/hal"},
		{"coherence/a.go", Module + "/internal/protocol"},
		{"internal/protocol/a.go", Module + "/hal"},
		{"internal/protocol/a.go", Module + "/internal/debug"},
		{"hal/driver/a.go", Module + "/hal"},
		{"hal/driver/a.go", "golang.org/x/sys/unix"},
		{"hal/a.go", Module + "/buffer"},
		{"hal/a.go", Module + "/internal/dl"},
		{"hal/a.go", Module + "/backends/host"},
		{"buffer/a.go", Module + "/backends/host"},
		{"buffer/a.go", Module + "/conformance"},
		{"buffer/a.go", "github.com/ebitengine/purego"},
		{"internal/span/a.go", Module + "/hal"},
		{"buffer/internal/order/a.go", Module + "/buffer"},
		{"buffer/internal/order/a.go", Module + "/coherence"},
		{"conformance/a.go", Module + "/backends/host"},
		{"backends/host/a.go", Module + "/hal"},
		{"backends/host/a.go", Module + "/coherence"},
		{"backends/cuda/a.go", Module + "/backends/hip"},
		{"backends/cuda/a.go", "github.com/go-gl/cl/v1.2/cl"},
		{"backends/hip/a.go", "gorgonia.org/cu"},
		{"backends/opencl/a.go", Module + "/buffer"},
		{"internal/cudahip/a.go", Module + "/hal"},
		{"hal/a.go", Module + "/internal/testing/faulty"},
		{"backends/hip/a.go", Module + "/internal/testing/simgpu"},
		{"internal/cudahip/a.go", "github.com/stretchr/testify/assert"},
		{"cmd/halyard/a.go", "github.com/stretchr/testify/assert"},
		{"newfolder/a.go", "fmt"},
	} {
		tree, err := Read(fstest.MapFS{c.file: file(c.imports)})
		require.NoError(t, err)
		assert.Len(t, Check(tree, Rules, nil), 1, "%s importing %s", c.file, c.imports)
	}
}

func TestAllowedImportsPass(t *testing.T) {
	tree, err := Read(fstest.MapFS{
		"coherence/a.go":              file("errors"),
		"internal/protocol/a.go":      file("math/bits", Module+"/coherence"),
		"internal/protocol/a_test.go": file("pgregory.net/rapid", Module+"/hal"),
		"hal/a.go":                    file("context", Module+"/hal/driver"),
		"buffer/a.go":                 file("unsafe", Module+"/hal", Module+"/coherence", Module+"/buffer/internal/order"),
		"buffer/internal/order/a.go":  file("sync", Module+"/hal", Module+"/internal/span"),
		"backends/host/a.go":          file(Module+"/hal/driver", Module+"/internal/memcopy"),
		"backends/cuda/a.go":          file("C", "gorgonia.org/cu"),
		"backends/opencl/a.go":        file("github.com/go-gl/cl/v1.2/cl"),
		"internal/memcopy/a.go":       file("golang.org/x/sys/cpu"),
		"cmd/halyard/a.go":            file("github.com/jedib0t/go-pretty/v6/table", Module+"/backends"),
		"examples/x/a.go":             file("gorgonia.org/cu", Module+"/buffer"),
		"examples/go.mod":             {Data: []byte("module " + Module + "/examples\n")},
		"examples/y/go.mod":           {Data: []byte("module example.org/y\n")},
		"examples/y/sub/a.go":         file(Module + "/internal/dl"),
		"hal/testdata/a.go":           file(Module + "/buffer"),
		".hidden/a.go":                file(Module + "/buffer"),
		"internal/dl/windows.go":      file("github.com/ebitengine/purego"),
	})
	require.NoError(t, err)
	assert.Empty(t, Check(tree, Rules, Closures))
	assert.NotContains(t, tree, "examples/y/sub")
	assert.Contains(t, tree, "examples/x", "a module of this repository")
}

// What is reached through a package in between is found as well, and the way there is named.
func TestForbiddenReachIsFound(t *testing.T) {
	tree, err := Read(fstest.MapFS{
		"buffer/a.go":            file(Module + "/internal/memcopy"),
		"internal/memcopy/a.go":  file(Module + "/internal/dl"),
		"internal/dl/a.go":       file("github.com/ebitengine/purego"),
		"backends/hip/a.go":      file(Module + "/internal/cudahip"),
		"internal/cudahip/a.go":  file(Module + "/hal"),
		"hal/a.go":               file("fmt"),
		"backends/cuda/a.go":     file(Module + "/internal/protocol"),
		"internal/protocol/a.go": file(Module + "/coherence"),
		"coherence/a.go":         file("errors"),
	})
	require.NoError(t, err)
	var lines []string
	for _, v := range Check(tree, Rules, Closures) {
		lines = append(lines, v.String())
	}
	assert.Equal(t, []string{
		`internal/cudahip/a.go imports "hal": what backends share lies below the packages that programs use`,
		`buffer -> internal/memcopy -> internal/dl imports "github.com/ebitengine/purego": a program that uses buffers links no other module`,
		`backends/cuda -> internal/protocol imports "coherence": a backend reaches nothing above hal/driver`,
		`backends/hip -> internal/cudahip imports "hal": a backend reaches nothing above hal/driver`,
	}, lines)
}

// The table in CONTRIBUTING.md is that of the rules.
func TestContributingShowsTheRules(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root(t), "CONTRIBUTING.md"))
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(page), "<!-- imports: begin -->\n")
	require.True(t, ok, "the table has a beginning")
	table, _, ok = strings.Cut(table, "<!-- imports: end -->")
	require.True(t, ok, "and an end")
	want := "| folder | may import |\n|---|---|\n"
	for _, r := range Rules {
		allowed := "nothing"
		if len(r.Allow) > 0 {
			allowed = "`" + strings.Join(r.Allow, "`, `") + "`"
		}
		want += "| `" + r.Folder + "` | " + allowed + " |\n"
	}
	assert.Equal(t, want, table)
}
