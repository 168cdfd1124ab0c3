package parts

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/everydevice"
)

// given returns numbers of which a matrix with a large diagonal is made.
func given(n, columns int) []float32 {
	a := make([]float32, n)
	for i := range a {
		if a[i] = float32(i*37%101)/16 - 3; i/columns%columns == i%columns {
			a[i] += 40
		}
	}
	return a
}

// triangles decomposes a matrix by the formulas of the textbook.
func triangles(a []float32, n int) {
	for k := range n {
		for i := k + 1; i < n; i++ {
			a[i*n+k] /= a[k*n+k]
			for j := k + 1; j < n; j++ {
				a[i*n+j] -= float32(a[i*n+k] * a[k*n+j])
			}
		}
	}
}

// Rows that are parts of a matrix give the bits of plain loops on every device.
func TestDecompositions(t *testing.T) {
	const n, many = 37, 51
	want, each := given(n*n, n), given(16*many, 4)
	triangles(want, n)
	for i := range many {
		triangles(each[16*i:16*i+16], 4)
	}
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		a, b := halyard.From(q, given(n*n, n)), halyard.From(q, given(16*many, 4))
		for k := range n - 1 {
			Eliminate(q.Over(n-1-k), n, k, a)
		}
		Small(q, b)
		got, gotEach := a.Values(), b.Values()
		if q.Err() == nil {
			assert.Equal(t, want, got)
			assert.Equal(t, each, gotEach)
		}
	})
}

// A part of shared memory, and one of a buffer, stay the same behind a barrier.
func TestPartsBehindBarriers(t *testing.T) {
	const size, blocks = 16, 5
	from := given(4*size*blocks, 4)
	want := slices.Clone(from)
	for i := range size * blocks {
		row, next := want[4*i:4*i+4], from[4*(i/size*size+(i+1)%size):][:4]
		for j := range row {
			row[j] = from[4*i+(j+1)%4] + next[j]
		}
		row[1] += 0 + next[3]
	}
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		a := halyard.From(q, slices.Clone(from))
		Turn(q.Grid(hal.Over(size*blocks).Of(size)), a)
		if got := a.Values(); q.Err() == nil {
			assert.Equal(t, want, got)
		}
	})
}

// What is written into a part of an array of the thread is in the array: behind a barrier, and in that thread only.
func TestPartsOfArrays(t *testing.T) {
	const size, blocks = 16, 5
	from := given(4*size*blocks, 4)
	kept, faded := slices.Clone(from), slices.Clone(from)
	by := [4]float32{2, 3, 0.5, -1}
	for i := range size * blocks {
		kept[4*i] += from[4*(i/size*size+(i+1)%size)]
		kept[4*i+1], kept[4*i+2] = 0, 0
		for j, v := range by {
			if i%4 == 0 && j > 0 {
				v = 0
			}
			faded[4*i+j] *= v
		}
	}
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		a, b := halyard.From(q, slices.Clone(from)), halyard.From(q, slices.Clone(from))
		Keep(q.Grid(hal.Over(size*blocks).Of(size)), a)
		Fade(q, by, b)
		gotKept, gotFaded := a.Values(), b.Values()
		if q.Err() == nil {
			assert.Equal(t, kept, gotKept)
			assert.Equal(t, faded, gotFaded)
		}
	})
}
