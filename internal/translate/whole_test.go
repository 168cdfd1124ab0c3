package translate

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWholeBlocksHaveNoGuard has kernels in which a whole block may leave out the comparison with the end, and kernels in which that would change
// the meaning.
func TestWholeBlocksHaveNoGuard(t *testing.T) {
	for _, c := range []struct{ name, end, body string }{
		{"around", "(GO_INT)h_y_n", "if i := t.Global(0); i < len(y) {\n\ty[i] += n\n}"},
		{"before", "(GO_INT)h_y_n", "i := t.Global(0)\nif i >= len(y) {\n\treturn\n}\ny[i] += n"},
		{"number", "(GO_INT)h_m", "if i := t.Global(0); i < m {\n\ty[i] = 1\n}"},
		{"loops", "(GO_INT)h_y_n", "i := t.Global(0)\nif i >= len(y) {\n\treturn\n}\nouter:\nfor a := range 5 {\n\tfor b := range 5 {\n\t\tif a*b == 6 {\n\t\t\tcontinue outer\n\t\t}\n\t\ty[i]++\n\t}\n}"},
		{"index changed", "", "i := t.Global(0)\nif i >= len(y) {\n\treturn\n}\ny[i]++\ni++"},
		{"index pointed to", "", "i := t.Global(0)\nif i >= len(y) {\n\treturn\n}\nset(&i)\ny[0]++"},
		{"end changed", "", "if i := t.Global(0); i < m {\n\tm--\n\ty[i] = int32(m)\n}"},
		{"another dimension", "", "if i := t.Global(1); i < len(y) {\n\ty[i] += n\n}"},
		{"another index", "", "if i := t.Local(0); i < len(y) {\n\ty[i] += n\n}"},
		{"the other way", "", "if i := t.Global(0); i >= len(y) {\n\ty[0] += n\n}"},
		{"up to", "", "if i := t.Global(0); i <= m {\n\ty[i] += n\n}"},
		{"not a parameter", "", "i := t.Global(0)\nif i >= len(y)-1 {\n\treturn\n}\ny[i] += n"},
		{"something else first", "", "y[0]++\nif t.Global(0) >= len(y) {\n\treturn\n}\ny[1]++"},
		{"else", "", "if i := t.Global(0); i < len(y) {\n\ty[i] += n\n} else {\n\ty[0] = 1\n}"},
		{"shared memory", "", "i := t.Global(0)\nif i >= len(y) {\n\treturn\n}\ns := grid.Shared[[8]int32](t)\ns[t.Local(0)] += n\ny[i] = s[t.Local(0)]"},
		{"behind it", "", "if i := t.Global(0); i < len(y) {\n\ty[i] += n\n}\ny[0] = 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			made, err := translated(t, "package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\nfunc set(i *int) { *i = 0 }\n\n//halyard:kernel\nfunc k(t grid.Thread, n int32, m int, y []int32) {\n"+c.body+"\n}\n")
			require.NoError(t, err)
			if c.end == "" {
				assert.NotContains(t, made.C, "GO_WHOLE")
				return
			}
			first, second, ok := strings.Cut(made.C, "\t} else {\n")
			require.True(t, ok, made.C)
			assert.Contains(t, first, "if (GO_WHOLE("+c.end+")) {")
			assert.NotContains(t, first, "return")
			assert.NotContains(t, first, "< "+c.end)
			assert.Regexp(t, "(<|>=) "+regexp.QuoteMeta(c.end), second)
		})
	}
}
