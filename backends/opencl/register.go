//go:build opencl

package opencl

import "github.com/go-halyard/halyard/hal/driver"

func init() { driver.Register(newBackend(bindTable)) }
