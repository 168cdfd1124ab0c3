//go:build !hip

package hal_test

import (
	"context"
	"fmt"

	"github.com/go-halyard/halyard/hal"
)

func ExampleOpen_notBuilt() {
	_, err := hal.Open(context.Background(), "hip:0")
	fmt.Println(err)
	// Output: hip: open: backend not built in: build with -tags hip, and import the package halyard or its package backends
}
