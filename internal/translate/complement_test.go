package translate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Intel's compiler takes a complement too many where the least or the largest of a complement and n goes into a sum that is the next n.
func TestComplements(t *testing.T) {
	t.Parallel()
	var kernels []text
	for _, body := range []string{
		"n := p.N; for range 4 { n += max(^int32(u), n) }",
		"n := p.N; for range 3 { n ^= max(^int32(u), n) }",
		"n := p.N; for range 4 { n += min(^int32(u), n) }",
		"n := p.N; for range 4 { m := n; if ^int32(u) > n { m = ^int32(u) }; n += m }",
		"n := p.N; for range 4 { n += max(-1-int32(u), n) }",
		"n := p.N; for range 4 { n += max(int32(u)^-1, n) }",
		"n := a; for range 4 { n += max(^int64(u), n) }",
		"n := uint32(p.N); for range 4 { n += max(^u, n) }",
		"n := uint32(p.N); for range 4 { n += max(0xffffffff-u, n) }",
		"n := p.N; m := int32(-1); m &^= int32(u); for range 4 { n += max(m, n) }",
	} {
		kernels = append(kernels, text{1000620, `
//halyard:kernel
func k0(t grid.Thread, a int64, p Par, x []uint32, f []float32, g []float32, y []uint64, z []int32) {
	i := t.Global(1)*t.Size(0)*t.Blocks(0) + t.Global(0)
	if i >= len(y) {
		return
	}
	u := x[i]
	` + strings.ReplaceAll(body, "; ", "\n\t") + `
	y[i] = uint64(n)
}
`})
	}
	b := newBatch(t)
	all, err := b.run(t.Context(), kernels, b.devices)
	require.NoError(t, err)
	for k, f := range all {
		assert.Equal(t, found{}, f, kernels[k].src)
	}
	requireDevices(t, b)
}
