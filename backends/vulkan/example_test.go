//go:build vulkan

package vulkan_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	_ "github.com/go-halyard/halyard/backends/vulkan"
	"github.com/go-halyard/halyard/hal"
)

// Without its library the backend is unavailable, and the error has every name that was tried.
func Example() {
	const variable = "HALYARD_VULKAN_LIBRARY"
	old := os.Getenv(variable)
	defer os.Setenv(variable, old)
	os.Setenv(variable, "/nonexistent/driver.so")

	_, err := hal.Open(context.Background(), "vulkan:0")
	fmt.Println(errors.Is(err, hal.ErrUnavailable))
	// Output: true
}
