//go:build opencl

package opencl

import "github.com/go-halyard/halyard/hal/driver"

// registered is the backend without options, which package hal finds.
var registered = newBackend(bindTable)

func init() { driver.Register(registered) }
