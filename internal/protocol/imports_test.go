package protocol

import (
	"go/build"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The state machine knows the words that programs use, and nothing else.
func TestNothingIsImportedButTheWords(t *testing.T) {
	pkg, err := build.ImportDir(".", 0)
	require.NoError(t, err)
	require.NotEmpty(t, pkg.Imports)
	for _, path := range pkg.Imports {
		if path == "github.com/go-halyard/halyard/coherence" {
			continue
		}
		first, _, _ := strings.Cut(path, "/")
		assert.NotContains(t, first, ".", "%s is not in the standard library", path)
		assert.NotEqual(t, "C", path)
	}
}
