package conformance_test

import (
	"context"
	"fmt"

	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/internal/comm/bugs"
	"github.com/go-halyard/halyard/internal/comm/conformance"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// One check finds out what is wrong with an engine whose barrier lets ranks through.
func ExampleCheck_Run() {
	errs := make([]error, 2)
	for _, c := range conformance.Checks() {
		if c.Name == "Collectives/BarrierWaits" {
			_ = commtest.Execute(2, func(e driver.Engine) error {
				errs[e.World().Rank()] = c.Run(context.Background(), e, nil)
				return errs[e.World().Rank()]
			}, bugs.Broken(bugs.BarrierLetsThrough).(commtest.Option))
		}
	}
	fmt.Println(errs[1])
	// Output: Collectives/BarrierWaits: rank 1: the barrier is done before rank 0 has begun it (rule: A barrier is not done before every rank has begun it.)
}
