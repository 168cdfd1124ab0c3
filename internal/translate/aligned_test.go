package translate_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/internal/translate/build"
	"github.com/go-halyard/halyard/internal/translate/cprint"
	"github.com/go-halyard/halyard/internal/translate/facts"
)

// A kernel is compiled for aligned pointers if loops of it read neighbouring numbers of slices that it does not write.
func TestKernelsForAlignedPointers(t *testing.T) {
	t.Parallel()
	tests := []struct{ params, body, joined, copies string }{
		{"x []float32", "for k := 0; k < len(x); k += 4 { s += x[k]*x[k+1] + x[k+2] }", "x", ""},
		{"x, y []float32", "for k := 0; k < len(x); k += 2 { s += x[k+1]*x[k]*y[k] }", "x", ""},
		{"x, y []float32", "for k := 0; k < len(x); k += 4 { s += x[k]*x[k+1]*y[k+2]*y[k+3] }", "x y", ""},
		{"x []float32", "for k := 0; k < len(x); k += 3 { s += x[k]*x[k+1] }", "", ""},
		{"x []float32", "for k := 1; k < len(x); k += 4 { s += x[k]*x[k+1] }", "", ""},
		{"x []float32", "for k := 0; k < len(x); k += 4 { s += x[k+1]*x[k+2] }", "", ""},
		{"y, x []float32", "for k := 0; k < len(x); k += 4 { s += x[k]*x[k+1]+y[0]; x[k] = s }", "", ""},
		{"x []float64", "for k := 0; k < len(x); k += 4 { s += float32(x[k]*x[k+1]) }", "", ""},
		{"x []float32", "s = x[0]*x[1]", "", ""},
		{"x [][4]float32", "for k := range x { e := x[k]; s += e[0]*e[1] }", "x", ""},
		{"x [][3]float32", "for k := range x { e := x[k]; s += e[0]*e[1] }", "", ""},
		{"x [][4]float64", "for k := range x { e := x[k]; s += float32(e[0]*e[1]) }", "", ""},
		{"x [][4]float32", "e := [4]float32{}; for k := range x { for d := range 4 { e[d] += x[k][d] } }; s = e[0]", "x", "x"},
		{"x [][4]float32", "e, k := [4]float32{}, len(x)/2; for d := range 4 { e[d] += x[k][d] }; s = e[0]", "x", "x"},
		{"x, y [][4]float32", "e := [4]float32{}; for k := range x { for d := range 4 { e[d] += x[k][d]; y[k][d] = 1 } }; s = e[0]", "", ""},
		{"x [][4]float32", "e := [4]float32{}; for k := range x { for d := range 4 { if e[d] > 0 { e[d] += x[k][d] } } }; s = e[0]", "", ""},
		{"x [][4]float32", "e := [4]float32{}; for d := range 4 { e[d] += x[d][d] }; s = e[0]", "", ""},
	}
	aligned := regexp.MustCompile(`GO_ALIGNED\(h_(\w+)\)`)
	copied := regexp.MustCompile(`GO_COPY\(\w+, \w+, h_(\w+)\[`)
	for _, test := range tests {
		p, err := translate.Checked("package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\n//halyard:kernel\nfunc k(t grid.Thread, " + test.params +
			", out []float32) {\n\ts := float32(0)\n\t" + test.body + "\n\tout[t.Global(0)] = s\n}\n")
		require.NoError(t, err, test.body)
		program, err := build.Program(p.Package)
		require.NoError(t, err, test.body)
		text := cprint.Print(program, facts.NarrowOf(program)).C
		names := func(found *regexp.Regexp) string {
			var all []string
			for _, m := range found.FindAllStringSubmatch(text, -1) {
				all = append(all, m[1])
			}
			return strings.Join(all, " ")
		}
		assert.Equal(t, test.joined, names(aligned), "%s\n%s", test.body, text)
		assert.Equal(t, test.copies, names(copied), "%s\n%s", test.body, text)
		assert.Contains(t, text, "KERNEL void k_k(const GLOBAL ", "parts of grids find the types of arguments there")
	}
}

// Loops of fast kernels that read neighbouring numbers are unrolled by eight.
func TestFastLoopsAreUnrolled(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mark, body string
		eight      int
	}{
		{" fast", "for k := 0; k < len(x); k += 4 { s += x[k]*x[k+1] }", 1},
		{" fast", "for k := range p { e := p[k]; s += e[0]*e[1] }", 1},
		{" fast", "for range x { for k := 0; k < len(x); k += 4 { s += x[k]*x[k+1] } }", 1},
		{" fast", "for k := 0; k < len(x); k += 4 { for range 9 { s += x[k]*x[k+1] } }", 0},
		{" fast", "for k := range x { s += x[k] }", 0},
		{" fast", "for k := 0; k < len(out); k += 4 { s += out[k]*out[k+1] }", 0}, // it is written
		{"", "for k := 0; k < len(x); k += 4 { s += x[k]*x[k+1] }", 0},
	} {
		p, err := translate.Checked("package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\n//halyard:kernel" + test.mark +
			"\nfunc k(t grid.Thread, x []float32, p [][4]float32, out []float32) {\n\ts := float32(0)\n\t" + test.body + "\n\tout[t.Global(0)] = s\n}\n")
		require.NoError(t, err, test.body)
		program, err := build.Program(p.Package)
		require.NoError(t, err, test.body)
		text := cprint.Print(program, facts.NarrowOf(program)).C
		assert.Equal(t, test.eight, strings.Count(text, "GO_EIGHT for"), "%s\n%s", test.body, text)
	}
}
