package translate_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/internal/translate/build"
	"github.com/go-halyard/halyard/internal/translate/cprint"
	"github.com/go-halyard/halyard/internal/translate/facts"
)

// The text has the form that the kernel has in Go.
func TestPrintedText(t *testing.T) {
	t.Parallel()
	p, err := translate.Checked(`package p

import "github.com/go-halyard/halyard/kernel/grid"

//halyard:kernel
func saxpy(t grid.Thread, a float32, x, y []float32) {
	if i := t.Global(0); i < len(y) {
		y[i] += a * x[i]
	}
}

//halyard:kernel
func first(t grid.Thread, x []int32, at []int32) {
	s := grid.Shared[[8]int32](t)
	me := t.Local(0)
rows:
	for row := me; row < len(at); row += 8 {
		at[row] = -1
		for k := range 8 {
			switch v := x[row*8+k]; {
			case v > 0:
				at[row] = int32(k)
				continue rows
			case v < 0:
				break rows
			}
		}
	}
	s[me&7] = at[0] - int32(me)
	t.Barrier()
	at[me] = max(s[0], ^s[me%3], 7)
}
`)
	require.NoError(t, err)
	program, err := build.Program(p.Package)
	require.NoError(t, err)
	made := cprint.Print(program, facts.NarrowOf(program))
	assert.Equal(t, []string{"k.go:8", "k.go:18", "k.go:20", "k.go:22", "k.go:29", "k.go:31"}, made.Sites)
	const text = "testdata/printed.c"
	if *rewritten {
		require.NoError(t, os.WriteFile(text, []byte(made.C), 0o600))
	}
	want, err := os.ReadFile(text)
	require.NoError(t, err)
	assert.Equal(t, string(want), made.C)
}

// Stores are made at once if two indexes that are read from memory may be the same number, and are not plainly the same.
func TestStoresThroughIndexesInMemory(t *testing.T) {
	t.Parallel()
	for other, once := range map[string]int{"x[0]+p[0].A": 0, "x[1]+p[0].A": 2, "x[0]+p[0].B": 2, "x[0]+p[1].A": 2} {
		p, err := translate.Checked("package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\ntype pair struct{ A, B int32 }\n\n" +
			"//halyard:kernel\nfunc k(t grid.Thread, x []int32, p []pair, y []int32) {\n\ty[x[0]+p[0].A] = 5\n\ty[" + other + "] = 7\n}\n")
		require.NoError(t, err)
		program, err := build.Program(p.Package)
		require.NoError(t, err)
		c := cprint.Print(program, facts.NarrowOf(program)).C
		assert.Equal(t, once, strings.Count(c, "\tGO_ONCE(h_y["), "%s:\n%s", other, c)
	}
}

// Stores to elements of one slice are plain if the indexes of a thread differ: by a constant, or by a number below which its place is.
func TestStoresToDifferentElements(t *testing.T) {
	t.Parallel()
	for body, once := range map[string]int{
		"y[2*i], y[2*i+1] = 5, 7":                        0,
		"y[2*i], y[i] = 5, 7":                            2,
		"if i >= n {\nreturn\n}\ny[n+i], y[i] = 5, 7":    0,
		"if i < n && j < m {\ny[i*m] = 7\ny[i*m+m]++\n}": 0,
		"if i < n {\ny[i*m], y[i*m+m] = 5, 7\n}":         2,
		"if i < n {\ny[i], y[i+2*n] = 5, 7\n}":           2,
	} {
		p, err := translate.Checked("package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\n" +
			"//halyard:kernel\nfunc k(t grid.Thread, n, m int, y []int32) {\ni, j := t.Global(0), t.Global(1)\n_ = j\n" + body + "\n}\n")
		require.NoError(t, err)
		program, err := build.Program(p.Package)
		require.NoError(t, err)
		c := cprint.Print(program, facts.NarrowOf(program)).C
		assert.Equal(t, once, strings.Count(c, "GO_ONCE(h_y["), "%s:\n%s", body, c)
	}
}
