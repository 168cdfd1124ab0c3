package commtest_test

import (
	"fmt"

	"github.com/go-halyard/halyard/comm/commtest"
	"github.com/go-halyard/halyard/comm/driver"
)

// Three ranks meet at a barrier, and one is missing: the others learn who it is.
func ExampleJob_Lose() {
	j := commtest.New(3)
	defer j.Close()
	e := j.Engine(0)
	r, _ := e.World().Collective(driver.Collective{Call: driver.Barrier})
	j.Lose(2)
	var out [1]driver.Status
	_, _ = e.Test([]driver.Request{r}, out[:])
	fmt.Println(out[0].Err)
	// Output: Barrier (rank 2): a rank was lost: rank 2 was lost
}
