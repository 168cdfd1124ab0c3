package translate

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The rounds of all loops of a thread are a sum of products of what a launch passes, or not known; few are not counted.
func TestRoundsOfLoops(t *testing.T) {
	t.Parallel()
	imp, err := imports()
	require.NoError(t, err)
	const unknown = "{1048576}"
	for _, c := range []struct{ name, body, rounds string }{
		{"no loop", "y[0] = a", ""},
		{"few", "for k := range 10 {\n y[k] = a\n}", ""},
		{"many", "for range 70000 {\n y[0] += a\n}", "{70001}"},
		{"many in two loops", "for range 300 {\n for range 300 {\n  y[0] += a\n }\n}", "{90601}"},
		{"number", "for range n {\n y[0] += a\n}", "{1}, {1, 1}"},
		{"product", "for range n {\n for k := range x {\n  y[k] += a\n }\n}", "{1}, {2, 1}, {0, 3}, {1, 1, 3}"},
		{"triangle", "for j := range int(n) {\n for k := 0; k < j; k++ {\n  y[k] += a\n }\n}", "{1}, {2, 1}, {1, 1, 1}"},
		{"threads of the grid", "for i := t.Global(0); i < len(x); i += t.Size(0) * t.Blocks(0) {\n y[i] = a\n}", "{1}, {1, 3, -1}"},
		{"length of another", "for i := t.Global(0); i < len(x); i += len(y) {\n y[0] += x[i]\n}", "{1}, {1, 3, -9}"},
		{"from a number", "for i := n; i < 70000; i++ {\n y[0] = a\n}", "{70001}, {0, 1}"},
		{"a piece", "for i := t.Local(0) * 8; i < min(t.Local(0)*8+8, len(x)); i++ {\n y[0] += x[i]\n}", ""},
		{"halves", "for k := len(x); k > 1; k /= 2 {\n y[0] = a\n}", ""},
		{"doubles", "for k := 1; k < len(x); k *= 2 {\n y[0] = a\n}", ""},
		{"function", "y[0] = rounds(n)", "{2}, {1, 1}"},
		{"function of what is not known", "y[0] = rounds(z[0])", unknown},
		{"number that is changed", "n *= 2\nfor range n {\n y[0] = a\n}", unknown},
		{"while", "for a < 1e9 {\n a *= 2\n}\ny[0] = a", unknown},
		{"from memory", "for k := z[0]; k < z[1]; k++ {\n y[0] = a\n}", unknown},
		{"shifts a negative number", "for k := n; k != 0; k >>= 1 {\n y[0] = a\n}", unknown},
	} {
		src := "package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\nfunc rounds(n int32) (r float32) {\nfor range n {\nr++\n}\nreturn r\n}\n\n" +
			"//halyard:kernel\nfunc k(t grid.Thread, a float32, n int32, x, y []float32, z []int32, u uint32, small int8) {\n" + c.body + "\n}\n"
		made, err := translatedWith(imp, src)
		if !assert.NoError(t, err, c.name) {
			continue
		}
		found := regexp.MustCompile(`Rounds: \[\]\[\]int\{(.*?)\}, RoundsAt`).FindStringSubmatch(string(made.Go))
		if c.rounds == "" {
			assert.Nil(t, found, c.name)
		} else if assert.NotNil(t, found, c.name) {
			assert.Equal(t, c.rounds, found[1], c.name)
			assert.Contains(t, made.C, "\tGO_LOOPED\n", c.name)
		}
	}
}
