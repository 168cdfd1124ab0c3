package translate

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The steps of a kernel grow with what its threads do, and a kernel whose loops may run any number of times has none. An argument's place counts
// the elements and the length of each slice before it.
func TestSteps(t *testing.T) {
	t.Parallel()
	imp, err := imports()
	require.NoError(t, err)
	for _, c := range []struct{ name, body, steps string }{
		{"one element", "y[t.Global(0)] = a", "13"},
		{"condition", "if i := t.Global(0); i < len(y) {\n y[i] += a * x[i]\n}", "22"},
		{"function", "y[0] = twice(a)", "15"},
		{"of math", "y[0] = float32(math.Sin(float64(a)))", "71"},
		{"division", "y[0] = float32(n / 3)", "19"},
		{"constant rounds", "for k := range 10 {\n y[k] = a\n}", "74"},
		{"halves", "for h := 128; h > 0; h /= 2 {\n y[h] = a\n}", "68"},
		{"length", "for k := range x {\n y[0] += x[k]\n}", "4, 0, 0, 0, 11"},
		{"elements", "for _, v := range x {\n y[0] += v\n}", "4, 0, 0, 0, 11"},
		{"number", "for k := 0; k < int(n)-1; k++ {\n y[k] = a\n}", "4, 0, 10"},
		{"number with a step", "m := min(len(x), int(n))\nfor k := t.Global(0); k <= m; k += t.Size(0) * t.Blocks(0) {\n y[k] = a\n}", "16, 0, 8"},
		{"two loops", "for k := range x {\n y[k] = a\n}\nfor k := range n {\n y[k] = a\n}", "4, 0, 7, 0, 7"},
		{"inside a constant loop", "for range 4 {\n for k := range n {\n  y[k] = a\n }\n}", "12, 0, 28"},
		{"loop in a loop", "for j := range n {\n for k := range x {\n  y[j] += x[k]\n }\n}", ""},
		{"while", "for a < x[0] {\n a *= 2\n}\ny[0] = a", ""},
		{"endless", "for {\n}", ""},
		{"other way", "for k := 5; k > 0; k++ {\n y[k] = a\n}", ""},
		{"changed in the loop", "for k := 0; k < 5; k++ {\n k -= int(n)\n}", ""},
		{"changed by its address", "for k := 0; k < 5; k++ {\n back(&k)\n}", ""},
		{"number that is changed", "n *= 1000\nfor range n {\n y[0] = a\n}", ""},
		{"number from memory", "for range z[0] {\n y[0] = a\n}", ""},
		{"narrow", "for k := int8(0); k < 100; k += 100 {\n y[0] = a\n}", ""},
		{"wraps around to the end", "for k := uint32(5); k >= 0; k-- {\n y[0] = a\n}", ""},
		{"difference of unsigned numbers", "for k := uint32(0); k < u-1; k++ {\n y[0] = a\n}", ""},
		{"narrow number", "for k := uint32(0); k < uint32(small); k++ {\n y[0] = a\n}", ""},
		{"step of no size", "for k := 0; k < 100; k += int(n) {\n y[0] = a\n}", ""},
		{"from below", "for k := int(n); k < 100; k++ {\n y[0] = a\n}", ""},
		{"function with a loop", "y[0] = rounds(n)", ""},
		{"generic function", "y[0] = same(a)", "15"},
		{"generic structure", "y[0] = first(a)", "17"},
		{"negative number as an unsigned one", "for k := uint32(0); k < uint32(n-5); k++ {\n y[0] = a\n}", ""},
		{"negative length as an unsigned one", "last := len(x) - 1\nfor range uint(last) {\n y[0] = a\n}", ""},
		{"smaller of two as an unsigned one", "for range uint32(min(n, 5)) {\n y[0] = a\n}", ""},
		{"number as an unsigned one", "for range uint32(n / 2) {\n y[0] = a\n}", "4, 0, 7"},
		{"difference that wraps around", "for range n - 2000000000 - 2000000000 {\n y[0] = a\n}", ""},
		{"changed by a loop in the loop", "for k := 0; k < 5; k++ {\n for k = range 2 {\n  y[0] = a\n }\n}", ""},
	} {
		src := "package p\n\nimport (\n\"math\"\n\n\"github.com/go-halyard/halyard/kernel/grid\"\n)\n\nvar _ = math.Abs\n\nfunc twice(a float32) float32 { return a * 2 }\n\nfunc back(k *int) { *k -= 1 }\n\n" +
			"func same[T any](a T) T {\nb := a\nreturn b\n}\n\ntype pair[T any] struct{ a, b T }\n\nfunc first[T any](a T) T {\np := pair[T]{a, a}\nreturn p.a\n}\n\n" +
			"func rounds(n int32) (r float32) {\nfor range n {\nr++\n}\nreturn r\n}\n\n" +
			"//halyard:kernel\nfunc k(t grid.Thread, a float32, n int32, x, y []float32, z []int32, u uint32, small int8) {\n" + c.body + "\n}\n"
		made, err := translatedWith(imp, src)
		if !assert.NoError(t, err, c.name) {
			continue
		}
		found := regexp.MustCompile(`"k": (?:kernel|gridgen)\.(Go\(|Bounded\(\[\]uint32\{(.*?)\}, )func`).FindStringSubmatch(string(made.Go))
		if assert.NotNil(t, found, c.name) {
			assert.Equal(t, c.steps, found[2], fmt.Sprintf("%s: %s", c.name, c.body))
		}
	}
}
