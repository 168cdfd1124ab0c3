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
