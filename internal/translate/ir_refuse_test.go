package translate_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/internal/translate/build"
)

// notKernels are refusals that are about the generated file, not about the kernel.
var notKernels = []string{"kernel is a package that the generated file imports; rename this"}

// What has no translation has no representation, and the errors are the same.
func TestRepresentationIsRefused(t *testing.T) {
	for _, c := range translate.Refused {
		text := "//halyard:kernel\nfunc k(t grid.Thread, x, y []int32, o grid.Out[int32]) {\no[1] = 1\n" + c.Text + "\n}\n"
		if top, ok := strings.CutPrefix(c.Text, "//top "); ok {
			text = "//halyard:kernel\n" + top + "\n"
		}
		src := strings.Replace(translate.AroundRefused+text, "‹", "", 1)
		p, err := translate.Checked(src)
		if !assert.NoError(t, err, c.Text) {
			continue
		}
		_, err = build.Program(p)
		var want, got translate.Errors
		p, _ = translate.Checked(src)
		_, wantErr := p.Translate()
		require.ErrorAs(t, wantErr, &want, c.Text)
		if strings.Contains(wantErr.Error(), notKernels[0]) {
			continue
		}
		if assert.ErrorAs(t, err, &got, c.Text) {
			assert.Equal(t, want, got, c.Text)
		}
	}
}

// Whatever a kernel's text is, what has a translation has a representation that keeps the rules, and what is refused for its own sake has none.
func FuzzRepresentation(f *testing.F) {
	for _, c := range translate.Refused {
		f.Add(strings.ReplaceAll(c.Text, "‹", ""))
	}
	for _, s := range []string{
		"for i := range x { if i > 3 { continue }; y[i] = x[i] << y[i] }", "switch x[0] { case 1, 2: fallthrough; case 3: break; default: y[0]++ }",
		"a, b := x[0], x[1]; a, b = b, a; y[0] = min(a, b, 3)", "s := grid.Shared[[4][2]int32](t); s[t.Local(0)][1] = 2; t.Barrier(); y[0] = s[0][1]",
		"L: for { for { break L } }", "var v one; v.v, y[0] = 1, v.get()", "y[0] = int32(math.Sqrt(float64(x[0])) / 3)", "inc(&y[0]); help(1 << x[0])",
		"type local struct { a [3]int32; b bool }; v := [2]local{1: {b: true}}; w := v; if v != w { return }", "y[0] /= x[0]; y[0] %= -1; y[0] <<= 40; y[0] &^= 1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		src := translate.AroundRefused + "//halyard:kernel\nfunc k(t grid.Thread, x, y []int32, o grid.Out[int32]) {\no[1] = 1\n" + body + "\n}\n"
		p, err := translate.Checked(src)
		if err != nil {
			return
		}
		made, err := build.Program(p)
		if (made == nil) == (err == nil) {
			t.Error("neither a representation nor an error")
		}
		if made != nil {
			assert.NoError(t, made.Verify())
		}
		p, _ = translate.Checked(src)
		if _, other := p.Translate(); err != nil {
			assert.Equal(t, other, err)
		}
	})
}
