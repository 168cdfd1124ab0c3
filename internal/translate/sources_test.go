package translate

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The generated file names what the translation depends on, and nothing else of the package.
func TestSources(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{"k.go": `package p

import "github.com/go-halyard/halyard/kernel/grid"

const (
	one = 1
	two = 2
)

type (
	number interface{ ~int32 | ~float32 }
	pair   struct{ a, b inner }
	inner  struct{ v int32 }
	other  struct{}
)

func (p *pair) sum() int32 { return p.a.v + p.b.v }

func (other) sum() int32 { return 0 }

func add[T number](x, y T) T { return x + y }

func unused() int32 { return add[int32](one, two) }

//halyard:kernel
func k(t grid.Thread, x []int32) {
	p := pair{inner{one}, inner{x[0]}}
	x[0] = add(p.sum(), far())
}
`, "far.go": "package p\n\nfunc far() int32 { return three }\n\nconst three = 3\n",
		"taken.go": "package p\n\nvar testing, kernels = 1, 2\n"})
	made := generated(t, dir)
	var names []string
	_, list, _ := strings.Cut(string(made.Go), "Sources: []string{\n")
	list, _, _ = strings.Cut(list, "}")
	for line := range strings.Lines(list) {
		fields := strings.Fields(strings.Trim(line, "\t\n\","))
		require.Len(t, fields, 3, line)
		assert.Len(t, fields[2], 16, line)
		names = append(names, fields[0]+" "+fields[1])
	}
	assert.Equal(t, []string{"far.go far", "far.go three", "k.go add", "k.go inner", "k.go k", "k.go number", "k.go one", "k.go pair", "k.go pair.sum"}, names)

	assert.Equal(t, filepath.Join(dir, "p_kernels_test.go"), made.TestFile)
	require.NoError(t, os.WriteFile(made.TestFile, made.Test, 0o600))
	vet := exec.Command("go", "vet", "-mod=mod", ".")
	vet.Dir = dir
	out, err := vet.CombinedOutput()
	assert.NoError(t, err, "%s", out)
	packages, err := Load(t.Context(), dir, ".")
	require.NoError(t, err)
	assert.Empty(t, packages[0].orphans)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "k.go"), []byte("package p\n"), 0o600))
	packages, err = Load(t.Context(), dir, ".")
	require.NoError(t, err)
	assert.Equal(t, []string{made.File, made.TestFile}, packages[0].orphans)
}
