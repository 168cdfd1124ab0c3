package translate

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const matrixRowRunner = `package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

type matrix = grid.Matrix[float32]

func same(x, y float32) bool { return x == y || x != x && y != y }

func try(f func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprint(p)
		}
	}()
	f()
	return ""
}

func compare(name string, plain func(grid.Thread, int, matrix, matrix), row func(gridgen.Row, int, matrix, matrix),
	front func(gridgen.Row, int, matrix, matrix) gridgen.Row) {
	r := rand.New(rand.NewPCG(5, 5))
	vectors := 0
	for range 300 {
		h, w, n := r.IntN(6), r.IntN(90), r.IntN(5)-1
		data := make([]float32, 2*h*w+200)
		for i := range data {
			data[i] = float32(r.IntN(100))
		}
		at := []int{0, 100, h*w + 100, 101, 99, 100 + w, max(0, 100-w)}[r.IntN(7)] // the matrices may share memory
		block := kernel.Block{Size: [3]uint32{uint32(w + r.IntN(3)), uint32(h + r.IntN(2)), 1}, Grid: [3]uint32{1, 1, 1}}
		var all [3][]float32
		var said [3]string
		for way := range 3 {
			m := slices.Clone(data)
			a, b, blk := grid.MatrixOf(m[100:100+h*w], h, w), grid.MatrixOf(m[at:at+h*w], h, w), block
			said[way] = try(func() {
				if way == 0 {
					for t := range grid.Threads(&blk) {
						plain(t, n, a, b)
					}
					return
				}
				for rest := range gridgen.Rows(&blk) {
					if way == 2 && front != nil {
						first := rest.First()
						rest = front(rest, n, a, b)
						vectors += rest.First() - first
					}
					row(rest, n, a, b)
				}
			})
			all[way] = m
		}
		for way := 1; way < 3; way++ {
			if said[way] != said[0] || !slices.EqualFunc(all[way], all[0], same) {
				fmt.Println("FAILED", name, way, h, w, n, at, said)
			}
		}
	}
	fmt.Println("compared", name, vectors > 0)
}
`

// Elements of matrices are as fast on the host as those of slices, because the functions for rows treat them alike: they have views
// and vectors. They do what the threads do one by one, also where the matrices share memory, and where an index is out of range.
func TestMatricesInRows(t *testing.T) {
	t.Parallel()
	kernels := []struct{ body, row, why string }{
		{"b.Set(i, j, a.At(i, j)+1)", ":= a.Span(", ""},
		{"*b.Ref(i, j) += 2 * a.At(i, j)", ":= b.Span(", ""},
		{"if i > 0 && j > 0 && i < b.Rows()-1 && j != b.Cols()-1 {\nb.Set(i, j, a.At(i-1, j)+a.At(i+1, j)+(a.At(i, j-1)+a.At(i, j+1)))\n}", ":= a.Span(r.Y+1, 1)", ""},
		{"b.Set(i+n, j+n, a.At(i-n, j)) // may be outside", ":= b.Span(", ""},
		{"b.Set(i, j, a.At(n, 1)) // n is the same for all", ":= b.Span(", ""},
		{"if a.At(i, j) > 50 {\nb.Set(i, j, 3)\n} else {\n*b.Ref(i, j)++\n}", ":= a.Span(", ""},
		{"b.Set(i, j, a.At((i), (\nj)))", ":= a.Span(", ""},
		{"sum := float32(0)\nfor k := range a.Cols() {\nsum += float32(a.At(i, k) * a.At(min(k, a.Rows()-1), j))\n}\nb.Set(i, j, sum)", "", ""},
		{"sum := float32(0)\nfor k := n; k < a.Rows(); k++ {\nsum += a.At(k, j)\n}\nb.Set(i, j, sum)", "", ""},
		{"for k := range n {\nb.Set(i, j, a.At(k, j))\n}", "", "after something was stored"},
		{"b.Set(i, j, a.At(j, i))", ":= b.Span(", "the elements of the threads are not neighbours: their rows differ"},
		{"b.Set(j, i, a.At(i, j))", ":= a.Span(", "their rows differ"},
	}
	src := "package main\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\n"
	table := "package main\n\nfunc main() {\n"
	for k, c := range kernels {
		src += fmt.Sprintf("//halyard:kernel\nfunc k%d(t grid.Thread, n int, a, b grid.Matrix[float32]) {\ni, j := t.Global(1), t.Global(0)\n"+
			"if i >= b.Rows() || j >= b.Cols() {\nreturn\n}\n%s\n}\n\n", k, c.body)
		table += fmt.Sprintf("compare(\"k%d\", k%[1]d, k%[1]dRow, k%[1]dVectors)\n", k)
		if c.why != "" {
			table = strings.Replace(table, fmt.Sprintf("k%dVectors", k), "nil", 1)
		}
	}
	imp, err := imports()
	require.NoError(t, err)
	made, err := translatedWith(imp, src)
	require.NoError(t, err)
	for k, c := range kernels {
		_, text, _ := strings.Cut(string(made.Go), fmt.Sprintf("func k%dRow(", k))
		text, _, _ = strings.Cut(text, "\n}\n")
		assert.Equal(t, c.row != "", strings.Contains(text, ".Span("), c.body)
		assert.Contains(t, text, c.row, c.body)
		if l := made.Loops[k]; c.why != "" {
			require.NotNil(t, l.Why, c.body)
			assert.Contains(t, l.Why.Text, c.why, c.body)
		} else {
			assert.True(t, l.Vectors, "%s: %v", c.body, l.Why)
		}
	}
	env := vectorBuild(t)
	dir := module(t, map[string]string{"kernels.go": src, "main.go": matrixRowRunner, "table.go": table + "}\n",
		"main_kernels.go": string(made.Go), "main_kernels_simd.go": string(made.SIMD)})
	cmd := exec.CommandContext(t.Context(), "go", "run", "-mod=mod", "-ldflags", "-s -w", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), append(env, "GODEBUG=simd=256")...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.NotContains(t, string(out), "FAILED")
	for k, c := range kernels {
		assert.Contains(t, string(out), fmt.Sprintf("compared k%d %t", k, c.why == ""), c.body)
	}
}
