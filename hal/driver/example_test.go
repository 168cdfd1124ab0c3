package driver_test

import (
	"errors"
	"fmt"

	"github.com/go-halyard/halyard/hal/driver"
)

// A backend keeps the vendor's own status beside the kind that programs match.
func ExampleError() {
	err := error(&driver.Error{
		Op: "alloc", Backend: "cuda", Device: 0, Kind: driver.ErrOutOfMemory,
		Vendor:   driver.Vendor{API: "cuMemAlloc_v2", Name: "CUDA_ERROR_OUT_OF_MEMORY", Code: 2},
		Shortage: &driver.Shortage{Request: 4096, Kind: driver.KindDevice},
	})
	fmt.Println(errors.Is(err, driver.ErrOutOfMemory))
	fmt.Println(err)
	// Output:
	// true
	// cuda:0: alloc: out of memory (asked for 4096 bytes of device memory, holding 0) [cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2)]
}
