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

type alias = pair

func (p *alias) first() int32 { return p.a.v }

func add[T number](x, y T) T { return x + y }

func unused() int32 { return add[int32](one, two) }

//halyard:kernel
func k(t grid.Thread, x []int32) {
	p := pair{inner{one}, inner{x[0]}}
	x[0] = add(p.sum(), far()) + p.first()
}
`, "far.go": "package p\n\nfunc far() int32 { return three }\n\nconst three = 3\n",
		"taken.go": "package p\n\nvar testing, kernels = 1, 2\n"})
	made := generated(t, dir)
	var names []string
	_, list, _ := strings.Cut(string(made.Go), "Sources: []string{\n")
	list, _, _ = strings.Cut(list, "}")
	assert.Contains(t, list, "\t\"./ float32,int32 p\",\n")
	for line := range strings.Lines(strings.Replace(list, "\t\"./ float32,int32 p\",\n", "", 1)) {
		fields := strings.Fields(strings.Trim(line, "\t\n\","))
		require.Len(t, fields, 3, line)
		assert.Len(t, fields[2], 16, line)
		names = append(names, fields[0]+" "+fields[1])
	}
	assert.Equal(t, []string{"far.go far", "far.go three", "k.go add", "k.go alias", "k.go alias.first",
		"k.go inner", "k.go k", "k.go number", "k.go one", "k.go pair", "k.go pair.sum"}, names)

	assert.Equal(t, filepath.Join(dir, "p_kernels_test.go"), made.TestFile)
	require.NoError(t, os.WriteFile(made.TestFile, made.Test, 0o600))
	vet := exec.Command("go", "vet", "-mod=mod", ".")
	vet.Dir = dir
	out, err := vet.CombinedOutput()
	assert.NoError(t, err, "%s", out)
	packages, err := Load(t.Context(), dir, ".")
	require.NoError(t, err)
	assert.Empty(t, packages[0].Orphans)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "k.go"), []byte("package p\n"), 0o600))
	packages, err = Load(t.Context(), dir, ".")
	require.NoError(t, err)
	assert.Equal(t, []string{made.File, made.TestFile}, packages[0].Orphans)
}

// What kernels use of other packages of the module counts too.
func TestSourcesOfOtherPackages(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{"k.go": `package p

import (
	"example.org/p/geo"
	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/grid/rand"
)

//halyard:kernel
func k(t grid.Thread, points []geo.Point) {
	r := rand.New(1, t.Global(0))
	points[0].Move(r.Float32() + geo.Far)
}
`})
	geo := filepath.Join(dir, "geo", "geo.go")
	require.NoError(t, os.Mkdir(filepath.Dir(geo), 0o700))
	require.NoError(t, os.WriteFile(geo, []byte(`package geo

type Point struct{ At Vector }

type Vector [2]float32

const Far = near * 2

const near = 1

func (p *Point) Move(by float32) { p.At[0] = twice(by) }

func (p *Point) Other() {}

func twice(x float32) float32 { return x * 2 }
`), 0o600))
	made := generated(t, dir)
	var names []string
	_, list, _ := strings.Cut(string(made.Go), "Sources: []string{\n")
	list, _, _ = strings.Cut(list, "}")
	assert.Contains(t, list, "\t\"geo/ float32 geo\",\n")
	for line := range strings.Lines(list) {
		if fields := strings.Fields(strings.Trim(line, "\t\n\",")); len(fields) == 3 && !strings.HasSuffix(fields[0], "/") {
			names = append(names, fields[0]+" "+fields[1])
		}
	}
	assert.Equal(t, []string{"geo/geo.go Far", "geo/geo.go Point", "geo/geo.go Point.Move", "geo/geo.go Vector",
		"geo/geo.go near", "geo/geo.go twice",
		"k.go import:example.org/p/geo", "k.go import:github.com/go-halyard/halyard/kernel/grid/rand", "k.go k"}, names)

	test := func() (string, error) {
		c := exec.Command("go", "test", "-mod=mod", "-vet=off", "-ldflags", "-s -w", ".")
		c.Dir = dir
		out, err := c.CombinedOutput()
		return string(out), err
	}
	for file, text := range map[string][]byte{made.File: made.Go, made.TestFile: made.Test} {
		require.NoError(t, os.WriteFile(file, text, 0o600))
	}
	out, err := test()
	require.NoError(t, err, out)
	text, err := os.ReadFile(geo)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(geo, []byte(strings.Replace(string(text), "near = 1", "near = 3", 1)), 0o600))
	out, err = test()
	require.Error(t, err)
	assert.Contains(t, out, "near has changed since p_kernels.go was written from ")
}

// So does a declaration that gives another meaning to a name that a kernel uses: one of Go itself, or a method of an embedded structure.
func TestSourcesThatAreNotThere(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{"k.go": `package p

import "github.com/go-halyard/halyard/kernel/grid"

type (
	outer struct {
		inner
		other
	}
	inner struct{ deep }
	deep  struct{ v int32 }
	other struct{ w int32 }
)

func (deep) sum() int32 { return 1 }

//halyard:kernel
func k(t grid.Thread, x []int32) {
	var o outer
	x[0] = min(o.sum(), o.v)
}
`})
	made := generated(t, dir)
	assert.Contains(t, string(made.Go), "\t\"./ inner.sum,inner.v,int32,min,other.sum,other.v,outer.sum,outer.v p\",\n")
	for file, text := range map[string][]byte{made.File: made.Go, made.TestFile: made.Test} {
		require.NoError(t, os.WriteFile(file, text, 0o600))
	}
	for text, name := range map[string]string{"func min(x, y int32) int32 { return x + y }": "min", "func (other) sum() int32 { return 2 }": "other.sum"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "new.go"), []byte("package p\n\n"+text+"\n"), 0o600))
		c := exec.Command("go", "test", "-mod=mod", "-vet=off", "-ldflags", "-s -w", ".")
		c.Dir = dir
		out, err := c.CombinedOutput()
		require.Error(t, err)
		assert.Contains(t, string(out), "new.go: "+name+" is declared there, and kernels that p_kernels.go has would mean it")
	}
}
