package grid_test

import (
	"fmt"

	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

// Four threads of one block add up what they have, and each finds where its part begins.
func Example() {
	x := []int32{1, 2, 3, 4}
	from := make([]int32, 4)
	grid.RunTogether(&kernel.Block{Size: [3]uint32{4, 1, 1}, Grid: [3]uint32{1, 1, 1}}, func(t grid.Thread) {
		i := t.Global(0)
		sum := grid.BlockSum(t, x[i])
		from[i] = grid.BlockExclusiveScan(t, x[i])
		if i == 0 {
			fmt.Println(sum)
		}
	})
	fmt.Println(from)
	// Output:
	// 10
	// [0 1 3 6]
}

// The threads of a block turn their numbers round, in memory of as many numbers as there are.
func ExampleSharedSlice() {
	x := []int32{1, 2, 3, 4, 5}
	grid.RunTogether(&kernel.Block{Size: [3]uint32{5, 1, 1}, Grid: [3]uint32{1, 1, 1}}, func(t grid.Thread) {
		s := grid.SharedSlice[int32](t, len(x))
		i := t.Local(0)
		s[len(s)-1-i] = x[i]
		t.Barrier()
		x[i] = s[i]
	})
	fmt.Println(x)
	// Output: [5 4 3 2 1]
}

// nearest is a value with its place.
type nearest struct {
	distance float32
	place    int32
}

// closer returns the nearer of two, and of two that are equally near the first.
func closer(a, b nearest) nearest {
	if b.distance < a.distance {
		return b
	}
	return a
}

// The threads of a block find which of them has the least value.
func ExampleBlockReduce() {
	distance := []float32{4, 2, 7, 2, 5}
	grid.RunTogether(&kernel.Block{Size: [3]uint32{5, 1, 1}, Grid: [3]uint32{1, 1, 1}}, func(t grid.Thread) {
		i := t.Global(0)
		least := grid.BlockReduce(t, nearest{distance[i], int32(i)}, closer)
		if i == 0 {
			fmt.Println(least)
		}
	})
	// Output: {2 1}
}

// A thread adds up the elements around each element of a matrix, which goes on beyond its edges with the elements there.
func ExampleLoadTile() {
	x, y := []float32{1, 2, 3, 4}, make([]float32, 4)
	grid.RunTogether(&kernel.Block{Size: [3]uint32{2, 2, 1}, Grid: [3]uint32{1, 1, 1}}, func(t grid.Thread) {
		from, to := grid.MatrixOf(x, 2, 2), grid.MatrixOf(y, 2, 2)
		tile := grid.Shared[[4][4]float32](t)
		grid.LoadTile(t, tile[:], from, 2*t.Block(1)-1, 2*t.Block(0)-1, grid.EdgeClamp)
		sum := float32(0)
		for _, row := range tile[t.Local(1) : t.Local(1)+3] {
			for _, v := range row[t.Local(0) : t.Local(0)+3] {
				sum += v
			}
		}
		to.Set(t.Global(1), t.Global(0), sum)
	})
	fmt.Println(y)
	// Output: [18 21 24 27]
}
