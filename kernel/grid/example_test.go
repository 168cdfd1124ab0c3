package grid_test

import (
	"fmt"

	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

// Four threads of one block add up what they have, each its own step between two barriers.
func Example() {
	x := []int32{1, 2, 3, 4}
	grid.RunTogether(&kernel.Block{Size: [3]uint32{4, 1, 1}, Grid: [3]uint32{1, 1, 1}}, func(t grid.Thread) {
		i := t.Global(0)
		for half := 2; half > 0; half /= 2 {
			if i < half {
				x[i] += x[i+half]
			}
			t.Barrier()
		}
	})
	fmt.Println(x[0])
	// Output: 10
}
