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

const matrices = `package main

import "github.com/go-halyard/halyard/kernel/grid"

type Cell struct{ V, W float32 }

func (c *Cell) add(x float32) { c.V += x }

func around(m grid.Matrix[float32], i, j int) float32 {
	return m.At(i-1, j) + m.At(i+1, j) + (m.At(i, j-1) + m.At(i, j+1))
}

func put[T int32 | float32](m grid.OutMatrix[T], i, j int, v T) { m.Set(i, j, v) }

//halyard:kernel
func smooth(t grid.Thread, from grid.Matrix[float32], to grid.OutMatrix[float32]) {
	j, i := t.Global(0), t.Global(1)
	if i >= to.Rows() || j >= to.Cols() {
		return
	}
	if i == 0 || j == 0 || i == to.Rows()-1 || j == to.Cols()-1 {
		put(to, i, j, from.At(i, j))
		return
	}
	to.Set(i, j, 0.25*around(from, i, j))
}

//halyard:kernel
func transpose(t grid.Thread, from grid.Matrix[float32], to grid.Matrix[float32]) {
	j, i := t.Global(0), t.Global(1)
	if i < from.Rows() && j < from.Cols() {
		a, b := to.At(j, i), from.At(i, j)
		*to.Ref(j, i), a = b, a
		for k := range to.Cols() {
			if k == i {
				*to.Ref(j, k) += a * 2
			}
		}
	}
}

//halyard:kernel
func cells(t grid.Thread, m grid.Matrix[Cell], n []int32, counts grid.Matrix[int32]) {
	j, i := t.Global(0), t.Global(1)
	if i < m.Rows() && j < m.Cols() {
		m.Ref(i, j).V += 2
		m.Ref(i, j).add(m.At(i, j).W)
		*m.Ref(i, j) = Cell{m.Ref(i, j).W, m.At(i, j).V}
		grid.AtomicAdd(counts.Ref(0, j), n[0])
	}
}

//halyard:kernel
func tiles(t grid.Thread, from grid.Matrix[float32], to grid.OutMatrix[float32]) {
	s := grid.Shared[[64]float32](t)
	x, y := t.Local(0), t.Local(1)
	if i, j := t.Global(1), t.Global(0); i < from.Rows() && j < from.Cols() {
		s[y*8+x] = from.At(i, j)
	}
	t.Barrier()
	if i, j := t.Block(0)*8+y, t.Block(1)*8+x; i < to.Rows() && j < to.Cols() {
		to.Set(i, j, s[x*8+y])
	}
}

//halyard:kernel
func wrong(t grid.Thread, by int, m grid.Matrix[float32], to grid.OutMatrix[float32]) {
	if j, i := t.Global(0), t.Global(1); i < m.Rows() && j < m.Cols() {
		to.Set(i, j, 1)
		m.Set(i+by/10, j+by%10, 2)
	}
}

//halyard:kernel
func product(t grid.Thread, a, b grid.Matrix[float32], c grid.OutMatrix[float32]) {
	sa := grid.Shared[[4][4]float32](t)
	sb := grid.Shared[[4][4]float32](t)
	x, y, tx, ty := t.Global(0), t.Global(1), t.Local(0), t.Local(1)
	sum := float32(0)
	for k := 0; k < a.Cols(); k += 4 {
		sa[ty][tx], sb[ty][tx] = 0, 0
		if y < a.Rows() && k+tx < a.Cols() {
			sa[ty][tx] = a.At(y, k+tx)
		}
		if x < b.Cols() && k+ty < b.Rows() {
			sb[ty][tx] = b.At(k+ty, x)
		}
		t.Barrier()
		for j := range 4 {
			sum += sa[ty][j] * sb[j][tx]
		}
		t.Barrier()
	}
	if y < c.Rows() && x < c.Cols() {
		c.Set(y, x, sum)
	}
}
`

const matrixRunner = `package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

func main() {
	ctx := context.Background()
	text, err := os.ReadFile("kernels.c")
	if err != nil {
		panic(err)
	}
	if len(os.Args) > 1 { // in its own process, because compilers that load LLVM interfere with each other
		for target, language := range map[string]hal.Language{"compute_70": hal.LanguageCUDA, "gfx906": hal.LanguageHIP} {
			for _, bounds := range []string{"", "#define HALYARD_BOUNDS 1\n"} {
				_, err := hal.CompileFor(ctx, target, hal.Source{Name: "kernels.c", Text: bounds + kernel.Prelude(language) + string(text)})
				if err != nil && !errors.Is(err, hal.ErrUnavailable) {
					fmt.Println("FAILED", target, err)
				}
			}
		}
		return
	}
	infos, err := hal.Devices(ctx)
	if err != nil {
		panic(err)
	}
	for _, info := range infos {
		run(ctx, info)
	}
}

const rows, cols = 13, 21

func run(ctx context.Context, info hal.Info) {
	var data, smoothed, turned []float32
	for k := range rows * cols {
		data = append(data, float32(k*k%101))
	}
	at := func(i, j int) float32 { return data[i*cols+j] }
	for i := range rows {
		for j := range cols {
			v := at(i, j)
			if i > 0 && j > 0 && i < rows-1 && j < cols-1 {
				v = 0.25 * (at(i-1, j) + at(i+1, j) + (at(i, j-1) + at(i, j+1)))
			}
			smoothed = append(smoothed, v)
		}
	}
	for j := range cols {
		for i := range rows {
			turned = append(turned, at(i, j))
		}
	}
	q := halyard.Open(ctx, info.Name())
	x, y, z := halyard.From(q, data).InRows(cols), halyard.New[float32](q, rows*cols).InRows(cols), halyard.New[float32](q, rows*cols).InRows(rows)
	Smooth(q, x, y)
	same(info, "smooth", y.Values(), smoothed)
	Transpose(q, x, z)
	same(info, "transpose", z.Values(), turned)
	Transpose(q, x, z) // adds the old values twice
	for i := range turned {
		turned[i] *= 3
	}
	same(info, "transpose again", z.Values(), turned)
	z.Fill(0)
	Tiles(q.Grid(hal.Over(cols, rows).Of(8, 8)), x, z)
	for i := range turned {
		turned[i] /= 3
	}
	same(info, "tiles", z.Values(), turned)
	var products []float32
	for i := range rows {
		for k := range rows {
			sum := float32(0)
			for j := range cols {
				sum += at(i, j) * at(k, j)
			}
			products = append(products, sum)
		}
	}
	p := halyard.New[float32](q, rows*rows)
	Product(q.Grid(hal.Over(rows, rows).Of(4, 4)), x, z, p.InRows(rows))
	same(info, "product", p.Values(), products)
	m := halyard.From(q, []Cell{{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}, {11, 12}})
	counts := halyard.New[int32](q, 6)
	Cells(q, m.InRows(2), halyard.From(q, []int32{5}), kernel.InRows(counts, 3))
	same(info, "cells", m.Values(), []Cell{{2, 5}, {4, 9}, {6, 13}, {8, 17}, {10, 21}, {12, 25}})
	same(info, "counts", counts.Values(), []int32{15, 15, 0, 0, 0, 0})
	if err := q.Close(); errors.Is(err, hal.ErrUnavailable) || errors.Is(err, hal.ErrUnsupported) {
		fmt.Println("left out", info.Name(), err)
		return
	} else if err != nil {
		fmt.Println("FAILED", info.Name(), err)
	}
	fmt.Println("ran on", info.Name())
	if info.Backend != "host" && os.Getenv("HALYARD_CHECK") != "bounds" {
		return
	}
	for by, want := range map[int]string{10: "index 2, 0 out of range with 2 rows and 3 columns", 1: "index 0, 3 out of range with 2 rows and 3 columns",
		-10: "index -1, 0 out of range with 2 rows and 3 columns", 9: "out of range with 2 rows and 3 columns"} {
		q := halyard.Open(ctx, info.Name())
		all := halyard.New[float32](q, 18)
		Wrong(q, by, all.Slice(6, 12).InRows(3), halyard.New[float32](q, 6).InRows(3))
		outside := append(all.Slice(0, 6).Values(), all.Slice(12, 18).Values()...)
		if err := q.Err(); err == nil {
			q.Sync()
		}
		for _, v := range outside {
			if v != 0 {
				fmt.Println("FAILED", info.Name(), by, outside)
			}
		}
		if err := q.Close(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "kernels.go:70") || !strings.Contains(err.Error(), "kernel wrong") {
			fmt.Println("FAILED", info.Name(), by, err)
		}
	}
}

func same[T comparable](info hal.Info, what string, got, want []T) {
	for i := range want {
		if got[i] != want[i] {
			fmt.Printf("FAILED %s on %s: %v and not %v\n", what, info.Name(), got, want)
			return
		}
	}
}
`

// An element of a matrix is found by its row and its column, on every device; one outside is an error that names both.
func TestMatrices(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a program is built with the build tags of all backends")
	}
	t.Parallel()
	dir := module(t, map[string]string{"kernels.go": matrices, "main.go": matrixRunner})
	packages, err := Load(t.Context(), dir, ".")
	require.NoError(t, err)
	made, err := packages[0].Translate()
	require.NoError(t, err)
	assert.Contains(t, string(made.Go), `q.Launching("smooth", hal.Over(gridgen.ColsOf(to), gridgen.RowsOf(to)))`)
	assert.Contains(t, string(made.Go), `kernel.In(kernel.Elements(from)), kernel.Value(int64(gridgen.RowsOf(from))), kernel.Value(int64(gridgen.ColsOf(from))), kernel.Out(`)
	require.NoError(t, os.WriteFile(made.File, made.Go, 0o600))
	require.NoError(t, os.WriteFile(made.VulkanFile, made.Vulkan, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kernels.c"), []byte(made.C), 0o600))
	build := exec.Command("go", "build", "-mod=mod", "-gcflags", plainly, "-ldflags", "-s -w", "-tags", "opencl cuda hip vulkan", "-o", "kernels", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, args := range [][]string{{"compile"}, {}, {"HALYARD_CHECK=bounds"}} {
		run := exec.Command("./kernels")
		run.Dir, run.Env = dir, append(os.Environ(), "HALYARD_KERNEL_CACHE=off", "HALYARD_HOST_DEVICES=1")
		if len(args) > 0 && args[0] == "compile" {
			run.Args = append(run.Args, args...)
		} else {
			run.Env = append(run.Env, args...)
		}
		out, err := run.CombinedOutput()
		assert.NoError(t, err, "%s", out)
		assert.NotContains(t, string(out), "FAILED", made.C)
		t.Log(string(out))
		if len(run.Args) == 1 {
			assert.Contains(t, string(out), "ran on host:1")
			if strings.Contains(os.Getenv("HALYARD_REQUIRE"), "opencl") {
				assert.Contains(t, string(out), "ran on opencl:0")
			}
		}
	}
}
