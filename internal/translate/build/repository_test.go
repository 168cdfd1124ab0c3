package build

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate"
)

// All kernels of the repository have a representation that keeps its rules.
func TestAllKernelsOfTheRepository(t *testing.T) {
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	packages, err := translate.Load(t.Context(), root, "./examples/...", "./bench/...", "./internal/testing/...", "./kernel/...")
	require.NoError(t, err)
	kernels, functions := 0, 0
	for _, p := range packages {
		made, err := Program(p)
		if !assert.NoError(t, err, p.Dir) || made == nil {
			continue
		}
		assert.NoError(t, made.Verify(), p.Dir)
		functions += len(made.Functions)
		for _, f := range made.Functions {
			if f.Kernel {
				kernels++
			}
		}
	}
	assert.GreaterOrEqual(t, kernels, 131)
	t.Logf("%d packages, %d kernels, %d functions", len(packages), kernels, functions)
}
