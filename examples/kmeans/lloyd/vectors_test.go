//go:build go1.27 && goexperiment.simd && (amd64 || arm64 || wasm)

package lloyd

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/gridgen"
	"github.com/go-halyard/halyard/kernel/lanes"
)

// The threads of a row give the same bits as vectors as one by one. Some have a point more than others, and some none.
func TestVectorsGiveTheBitsOfTheLoop(t *testing.T) {
	if !lanes.Hardware() {
		t.Skip("the processor has no vectors")
	}
	for _, parts := range []int{1, 8, 13, 40} {
		for _, n := range []int{K, 39, 200} {
			points := Cloud(n)
			var centres [2][K][8]float32
			var sums [2][][K][9]float32
			ran := 0
			for i := range 2 {
				copy(centres[i][:], points)
				sums[i] = make([][K][9]float32, parts)
				block := kernel.Block{Size: [3]uint32{uint32(parts) + 3, 1, 1}, Grid: [3]uint32{1, 1, 1}}
				for r := range gridgen.Rows(&block) {
					if i == 1 {
						rest := addVectors(r, points, centres[i][:], sums[i])
						ran += rest.First() - r.First()
						r = rest
					}
					addRow(r, points, centres[i][:], sums[i])
				}
				block = kernel.Block{Size: [3]uint32{8, K, 1}, Grid: [3]uint32{1, 1, 1}}
				for r := range gridgen.Rows(&block) {
					if i == 1 {
						rest := moveVectors(r, sums[i], centres[i][:])
						ran += rest.First() - r.First()
						r = rest
					}
					moveRow(r, sums[i], centres[i][:])
				}
			}
			assert.Equal(t, sums[0], sums[1], "%d points in %d parts", n, parts)
			assert.Equal(t, centres[0], centres[1], "%d points in %d parts", n, parts)
			assert.GreaterOrEqual(t, ran, 8*K, "threads that ran as vectors")
		}
	}
}
