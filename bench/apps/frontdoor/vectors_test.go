//go:build go1.27 && goexperiment.simd && (amd64 || arm64 || wasm)

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/gridgen"
	"github.com/go-halyard/halyard/kernel/lanes"
)

// The threads of a row write the same numbers as vectors as one by one, for each kernel of the apps that has vectors.
func TestVectorsGiveTheBitsOfTheLoop(t *testing.T) {
	if !lanes.Hardware() {
		t.Skip("the processor has no vectors")
	}
	for _, n := range []int{1, 16, 17, 100, 333} {
		r := rand.New(rand.NewPCG(1, uint64(n)))
		p, q := make([]float32, n*(n+2)), make([]float32, n*n)
		a, b, c := make([]float64, n), make([]float64, n), make([]float64, n)
		out, one := make([]uint16, n*n), []float32{3}
		w := int32(n)
		for _, k := range []struct {
			name  string
			front func(gridgen.Row) gridgen.Row
			row   func(gridgen.Row)
		}{
			{"laplace", func(r gridgen.Row) gridgen.Row { return laplaceVectors(r, n, p, q) }, func(r gridgen.Row) { laplaceRow(r, n, p, q) }},
			{"spread", func(r gridgen.Row) gridgen.Row { return spreadVectors(r, n, p, q) }, func(r gridgen.Row) { spreadRow(r, n, p, q) }},
			{"direct", func(r gridgen.Row) gridgen.Row { return directVectors(r, q, p, one, p[:1]) }, func(r gridgen.Row) { directRow(r, q, p, one, p[:1]) }},
			{"escape", func(r gridgen.Row) gridgen.Row { return escapeVectors(r, w, 100, out) }, func(r gridgen.Row) { escapeRow(r, w, 100, out) }},
			{"copies", func(r gridgen.Row) gridgen.Row { return copiesVectors(r, a, c) }, func(r gridgen.Row) { copiesRow(r, a, c) }},
			{"mul", func(r gridgen.Row) gridgen.Row { return mulVectors(r, b, c) }, func(r gridgen.Row) { mulRow(r, b, c) }},
			{"add", func(r gridgen.Row) gridgen.Row { return addVectors(r, a, b, c) }, func(r gridgen.Row) { addRow(r, a, b, c) }},
			{"triad", func(r gridgen.Row) gridgen.Row { return triadVectors(r, a, b, c) }, func(r gridgen.Row) { triadRow(r, a, b, c) }},
			{"nstream", func(r gridgen.Row) gridgen.Row { return nstreamVectors(r, a, b, c) }, func(r gridgen.Row) { nstreamRow(r, a, b, c) }},
		} {
			for i := range p {
				p[i] = r.Float32()
			}
			for i := range a {
				a[i], b[i], c[i] = r.Float64(), r.Float64(), r.Float64()
			}
			begin := [][]float64{slices.Clone(a), slices.Clone(b), slices.Clone(c)}
			var results []string
			for _, vectors := range []bool{false, true} {
				copy(a, begin[0])
				copy(b, begin[1])
				copy(c, begin[2])
				clear(q)
				clear(out)
				block := kernel.Block{Size: [3]uint32{uint32(n) + 5, 3, 1}, Grid: [3]uint32{1, 1, 1}}
				for row := range gridgen.Rows(&block) {
					if vectors {
						row = k.front(row)
					}
					k.row(row)
				}
				results = append(results, fmt.Sprint(q, out, a, b, c)) // with as many digits as tell floats apart
			}
			assert.Equal(t, results[0], results[1], "%s, %d threads", k.name, n)
		}
	}
}
