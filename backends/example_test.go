package backends_test

import (
	"context"
	"fmt"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/hal"
)

// The import alone makes the backends known.
func Example() {
	for _, r := range hal.List(context.Background()) {
		if r.Backend == "host" {
			fmt.Println(r.Backend, r.Built, len(r.Devices) > 0)
		}
	}
	// Output: host true true
}
