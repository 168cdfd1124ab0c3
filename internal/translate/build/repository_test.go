package build

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/ir/interp"
	"github.com/go-halyard/halyard/internal/translate/load"
	"github.com/go-halyard/halyard/kernel/grid/rand"
)

// All kernels of the repository have a representation that keeps its rules. All threads of a grid come to each barrier, as the translator has seen.
func TestAllKernelsOfTheRepository(t *testing.T) {
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	packages, err := load.Load(t.Context(), root, "./examples/...", "./bench/...", "./internal/testing/...", "./kernel/...")
	require.NoError(t, err)
	kernels, functions, barriers, indexes, named := 0, 0, 0, 0, 0
	for _, p := range packages {
		made, err := Program(p)
		if !assert.NoError(t, err, p.Dir) || made == nil {
			continue
		}
		assert.NoError(t, made.Verify(), p.Dir)
		functions += len(made.Functions)
		effects := map[*ir.Function]*facts.Effects{}
		for _, f := range made.Functions {
			effects[f] = facts.EffectsOf(f, effects)
			if !f.Kernel {
				continue
			}
			kernels++
			for s, by := range facts.VarianceOf(f, effects, nil).Barriers {
				barriers++
				assert.LessOrEqual(t, by, facts.Block, "%s: kernel %s", made.Position(s.Pos), f.Name)
			}
			r := facts.ReachOf(made, f, effects)
			for _, a := range r.Accesses {
				indexes++
				if r.Named(a.Index) {
					named++
				}
			}
		}
	}
	assert.GreaterOrEqual(t, kernels, 137)
	t.Logf("%d packages, %d kernels, %d functions, %d barriers, %d accesses, of which %d have an index that is a sum of products", len(packages), kernels, functions, barriers, indexes, named)
}

// loaded returns the kernels of packages, by their names.
func loaded(t *testing.T, dir string, patterns ...string) (*ir.Program, map[string]*ir.Function) {
	packages, err := load.Load(t.Context(), dir, patterns...)
	require.NoError(t, err)
	require.Len(t, packages, 1)
	made, err := Program(packages[0])
	require.NoError(t, err)
	require.NoError(t, made.Verify())
	kernels := map[string]*ir.Function{}
	for _, f := range made.Functions {
		kernels[f.Name] = f
	}
	return made, kernels
}

// Functions of other packages are run as well: random numbers are those of package rand.
func TestInterpreterRunsOtherPackages(t *testing.T) {
	made, kernels := loaded(t, "../../testing/random", ".")
	const n, seed = 100, 77
	words, wide, singles, doubles, normals := make([]uint32, n), make([]uint64, n), make([]float32, n), make([]float64, n), make([]float64, n)
	line := interp.Grid{Size: [3]int{16, 1, 1}, Blocks: [3]int{7, 1, 1}}
	require.NoError(t, interp.Run(made, kernels["numbers"], line, uint64(seed), int32(9), words, wide, singles, doubles))
	require.NoError(t, interp.Run(made, kernels["normals"], line, uint64(seed), normals))
	for i := range n {
		r := rand.New(seed, i-1)
		for range i % 7 {
			r.Uint32()
		}
		require.Equal(t, r.Uint32(), words[i])
		require.Equal(t, r.Uint64()^uint64(r.IntN(9)), wide[i])
		require.Equal(t, r.Float32(), singles[i])
		require.Equal(t, r.Float64(), doubles[i])
		r = rand.New(seed, i)
		require.Equal(t, r.NormFloat64(), normals[i])
	}
}
