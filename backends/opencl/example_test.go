//go:build opencl

package opencl_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	_ "github.com/go-halyard/halyard/backends/opencl"
	"github.com/go-halyard/halyard/hal"
)

// Without its library the backend is unavailable, and the error has every name that was tried.
func Example() {
	const variable = "HALYARD_OPENCL_LIBRARY"
	old := os.Getenv(variable)
	defer os.Setenv(variable, old)
	os.Setenv(variable, "/nonexistent/driver.so")

	_, err := hal.Open(context.Background(), "opencl:0")
	fmt.Println(errors.Is(err, hal.ErrUnavailable))
	// Output: true
}
