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

// Kernels call functions and methods of other packages of their module and of other modules, and use their types and constants.
func TestOtherPackages(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{"kernels.go": `package main

import (
	vec "example.org/other"

	"example.org/p/geo"
	"github.com/go-halyard/halyard/kernel/grid"
)

const far = geo.Far + 1

//halyard:kernel
func move(t grid.Thread, by geo.Vector, points []geo.Point, sums []float32) {
	i := t.Global(0)
	if i >= len(points) {
		return
	}
	p := points[i]
	p.Move(by)
	points[i] = p
	points[i].At = geo.Twice(points[i].At)
	sums[i] = vec.Dot(p.At, by) + geo.Largest(float32(i), far)
}

//halyard:kernel
func turn(t grid.Thread, points []geo.Point) {
	s := grid.Shared[[8]geo.Vector](t)
	me, i := t.Local(0), t.Global(0)
	s[me] = points[i].At
	t.Barrier()
	points[i].At = s[7-me].Plus(s[me])
}
`, "main.go": `package main

import (
	"context"
	"fmt"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"

	"example.org/p/geo"
)

func main() {
	ctx := context.Background()
	for _, d := range must(hal.Devices(ctx)) {
		if d.Backend != "opencl" && d.Name() != "host:0" {
			continue
		}
		s := must(must(hal.Open(ctx, d.Name())).NewStream())
		points, sums := must(buffer.New[geo.Point](8)), must(buffer.New[float32](8))
		check(MoveOn(ctx, s, hal.Over(8).Of(8), geo.Vector{1, 2}, points, sums))
		check(TurnOn(ctx, s, hal.Over(8).Of(8), points))
		v := make([]float32, 8)
		check(sums.CopyOut(ctx, v))
		fmt.Println(d.Backend, v, must(points.At(ctx, 3)))
	}
}

func must[T any](v T, err error) T { check(err); return v }

func check(err error) {
	if err != nil {
		panic(err)
	}
}
`})
	for name, text := range map[string]string{"geo/geo.go": `// Package geo is of the same module.
package geo

import vec "example.org/other"

const Far = 2

type Vector = vec.Vector

type Point struct {
	At vec.Vector
	n  int32
}

func (p *Point) Move(by Vector) {
	p.At = p.At.Plus(by)
	p.count()
}

func (p *Point) count() { p.n++ }

func Twice(v Vector) Vector { return vec.Scale(v, 2) }

func Largest[T int32 | float32](a, b T) T {
	if a < b {
		return b
	}
	return a
}
`, "geo/unused.go": "package geo\n\nfunc Name() string { return \"geo\" }\n", "other/go.mod": "module example.org/other\n\ngo 1.24\n", "other/vec.go": `package vec

type Vector struct{ X, Y float32 }

func (v Vector) Plus(w Vector) Vector { return Vector{v.X + w.X, v.Y + w.Y} }

func Scale(v Vector, by float32) Vector {
	v.X *= by
	v.Y *= by
	return v
}

func Dot(v, w Vector) float32 { return float32(v.X*w.X) + float32(v.Y*w.Y) }

func Print(v Vector) float32 {
	m := map[int]int{}
	return float32(len(m))
}
`} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	mod = append(mod, "\nrequire example.org/other v0.0.0\n\nreplace example.org/other => ./other\n"...)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), mod, 0o600))
	packages, err := Load(t.Context(), dir, ".")
	require.NoError(t, err)
	made, err := packages[0].Translate()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(made.File, made.Go, 0o600))
	run := exec.Command("go", "run", "-mod=mod", "-gcflags", plainly, "-ldflags", "-s -w", "-tags", "opencl", ".")
	run.Dir, run.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "HALYARD_KERNEL_CACHE=off", "HALYARD_HOST_DEVICES=1")
	out, err := run.Output()
	require.NoError(t, err, "%s\n%s", out, made.C)
	for line := range strings.Lines(string(out)) {
		_, line, _ = strings.Cut(line, " ")
		assert.Equal(t, "[8 8 8 8 9 10 11 12] {{4 8} 1}\n", line, made.C)
	}

	require.NoError(t, os.WriteFile(filepath.Join(dir, "kernels.go"), []byte(`package main

import (
	"strings"

	vec "example.org/other"
	"github.com/go-halyard/halyard/kernel/grid"
)

//halyard:kernel
func move(t grid.Thread, sums []float32) {
	sums[0] = vec.Print(vec.Vector{})
	sums[1] = float32(strings.Count("a", "b"))
}
`), 0o600))
	require.NoError(t, os.Remove(filepath.Join(dir, "main.go")))
	require.NoError(t, os.Remove(made.File))
	packages, err = Load(t.Context(), dir, ".")
	require.NoError(t, err)
	_, err = packages[0].Translate()
	require.Error(t, err)
	assert.Equal(t, "kernels.go:12:12: example.org/other.Print, which is called here, has no translation: other/vec.go:16:7: a map has no translation; "+
		"use a slice, or an array of fixed size\nkernels.go:13:20: strings.Count is a function of another package; write one in this package, and call that",
		err.Error())
}

// Types of other packages as elements.
func TestElementsOfOtherPackages(t *testing.T) {
	const head = "package p\n\nimport (\n\t\"os\"\n\n\t\"github.com/go-halyard/halyard/kernel/grid\"\n)\n\n"
	made, err := translated(t, head+"//halyard:kernel\nfunc k(t grid.Thread, y []os.FileMode) { y[t.Global(0)]++ }\n")
	require.NoError(t, err)
	assert.Contains(t, string(made.Go), "kernel.Vector[os.FileMode]")
	assert.Contains(t, string(made.Go), "\n\t\"os\"\n")
	made, err = translated(t, head+"type mode = os.FileMode\n\n//halyard:kernel\nfunc k(t grid.Thread, y []mode) { y[t.Global(0)]++ }\n")
	require.NoError(t, err, "it has a name in this package")
	assert.NotContains(t, string(made.Go), "\"os\"")
	_, err = translated(t, strings.Replace(head, "\"os\"", "system \"os\"", 1)+"const os = 1\n\n//halyard:kernel\nfunc k(t grid.Thread, y []system.FileMode) { y[t.Global(0)]++ }\n")
	assert.ErrorContains(t, err, "whose name os means something else in the generated file; declare a type in this package")
}
