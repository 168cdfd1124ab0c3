package translate_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/internal/translate/build"
	"github.com/go-halyard/halyard/internal/translate/passes"
)

// A load moves in front of a loop if each round loads the same, if nothing in the loop may change it, and if it panics where it did before.
func TestHoistedLoads(t *testing.T) {
	t.Parallel()
	const head = `package p

import (
	"github.com/go-halyard/halyard/kernel/grid"
)

func sum(x []float32) (s float32) {
	for _, v := range x {
		s += v
	}
	return s
}

func set(x []float32) { x[0] = 1 }

//halyard:kernel
func k(t grid.Thread, n int, x, y []float32, v [][8]float32, z []int32) {
	i := t.Global(0)
	s, p := float32(0), i
	_, _ = s, p
`
	for _, c := range []struct{ body, moved string }{
		{"for k := range 32 {\n p := v[i]\n s += p[k&7]\n}", "v[i]"},
		{"for k := range 32 {\n s += x[i] * v[k][0]\n}", "x[i]"},
		{"for k := range 32 {\n s += v[k][0] * x[i]\n}", ""},                         // v[k] panics first
		{"for k := range 32 {\n s = 1\n s += x[i] + y[n] + v[k][0]\n}", "x[i] y[n]"}, // one after the other
		{"for k := range 4 {\n for j := range 4 {\n  s += x[i] + v[k][j]\n }\n}", "x[i]"},
		{"for k := range 4 {\n for j := range n {\n  s += x[i] + v[k][j]\n }\n}", ""}, // the inner loop may have no round
		{"for k := range n {\n s += x[i] * v[k][0]\n}", ""},
		{"for k := 0; k < int(z[i]); k++ {\n s += x[k]\n}", "z[i]"}, // the condition is tested in any case
		{"for k := 0; k < int(z[i]); k++ {\n y[k] = s\n}", ""},      // y may be z
		{"for k := range 32 {\n s += x[i] * v[k][0]\n set(y)\n}", ""},
		{"for k := range 32 {\n s += x[i] * v[k][0]\n s += sum(y)\n}", "x[i]"},
		{"for range 32 {\n s += x[i] * sum(y)\n}", ""}, // the call may panic first
		{"for k := range 32 {\n s += x[i] * v[k][0]\n grid.AtomicAdd(&z[0], 1)\n}", ""},
		{"m := grid.Shared[[8]float32](t)\nfor k := range 32 {\n s += x[i] * v[k][0]\n t.Barrier()\n m[k&7] = s\n}", ""},
		{"m := grid.Shared[[8]float32](t)\nfor k := range 32 {\n s += x[i] * v[k][0]\n m[k&7] = s\n}", "x[i]"},
		{"m := grid.Shared[[8]float32](t)\nfor k := range 32 {\n s += m[i&7] * v[k][0]\n m[k&7] = s\n}", ""},
		{"for k := range 32 {\n s += x[p] * v[k][0]\n p++\n}", ""},
		{"for k := range 32 {\n if k > n {\n  s += x[i] * v[k][0]\n }\n}", ""},
		{"for k := range 32 {\n if x[i] > 0 && y[i] > 0 {\n  s += v[k][0]\n }\n}", "x[i]"},
		{"for k := range 32 {\n q := i / n\n s += x[q] * v[k][0]\n}", ""}, // the quotient panics first
	} {
		p, err := translate.Checked(head + c.body + "\ny[i] = s\n}\n")
		require.NoError(t, err, c.body)
		program, err := build.Program(p.Package)
		require.NoError(t, err, c.body)
		lets := func(text string) (all []string) {
			for _, found := range regexp.MustCompile(`(?m)^(\t+)\w+ \S+ := (\w\[.*\])$`).FindAllStringSubmatch(text, -1) {
				all = append(all, found[1]+found[2])
			}
			return all
		}
		before, after := lets(program.String()), passes.Devices(program).String()
		moved := slices.DeleteFunc(lets(after), func(l string) bool { return slices.Contains(before, l) })
		assert.Equal(t, c.moved, strings.ReplaceAll(strings.Join(moved, " "), "\t", ""), "%s\n%s", c.body, after)
	}
}
