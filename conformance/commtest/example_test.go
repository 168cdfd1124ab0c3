package commtest_test

import (
	"context"
	"fmt"

	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/conformance/commtest"
)

// Three ranks meet at a barrier, and one is missing: the others learn who it is.
func ExampleJob_Lose() {
	j := commtest.New(3)
	defer j.Close()
	world := comm.New(j.Engine(0))
	j.Lose(2)
	fmt.Println(world.Barrier(context.Background()))
	// Output: Barrier (rank 2): a rank was lost: rank 2 was lost
}
