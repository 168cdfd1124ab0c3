package conformance_test

import (
	"context"
	"fmt"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
)

// Part of the suite, without package testing, on a discrete device of the host backend.
func ExampleExecute() {
	backend := host.New(host.Options{Discrete: 1})
	_, err := conformance.Execute(context.Background(), conformance.Harness{
		Open:  func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, backend, 1) },
		Match: "^Fill/Pattern[1248]$",
		Short: true,
	}, func(r conformance.Result) {
		fmt.Println(r.Check.Name, r.Outcome)
	})
	fmt.Println(err)
	// Output:
	// Fill/Pattern1 passed
	// Fill/Pattern2 passed
	// Fill/Pattern4 passed
	// Fill/Pattern8 passed
	// <nil>
}
