//go:build cuda

package main

import (
	"github.com/go-halyard/halyard/backends/cuda"
	"github.com/go-halyard/halyard/hal/driver"
)

func init() { newCUDA = func() driver.Backend { return cuda.New() } }
