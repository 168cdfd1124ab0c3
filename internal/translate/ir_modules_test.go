package translate_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/internal/translate/build"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/vulkan"
)

func init() {
	if os.Getenv("HALYARD_TEST_MODULES") == "new" {
		translate.MakeModules(vulkan.Modules)
	}
}

// It is known which shared memory is written before any thread can read it.
func TestFilled(t *testing.T) {
	t.Parallel()
	for _, k := range translate.SharedKernels {
		p, err := translate.Checked(k.Text)
		require.NoError(t, err)
		made, err := build.Program(p)
		require.NoError(t, err)
		f := made.Functions[len(made.Functions)-1]
		var array *ir.Local
		for _, l := range f.Locals {
			if l.Space == ir.Shared {
				array = l
			}
		}
		_, filled := facts.Filled(f, array)
		assert.Equal(t, k.Filled, filled, "%s:\n%s", k.Name, f)
	}
}
