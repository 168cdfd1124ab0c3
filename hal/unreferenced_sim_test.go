//go:build cuda && hip && linux

package hal_test

import (
	"testing"

	"github.com/go-halyard/halyard/backends/cuda"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
	"github.com/go-halyard/halyard/internal/testing/simgpu"
)

func TestCallsKeepTheirObjectsOnCUDA(t *testing.T) {
	cudahiptest.Simulate(t)
	image := hal.Image{Format: hal.FormatPTX, Data: simgpu.PTX(simgpu.Kernels...)}
	callsOnGarbage(t, cuda.New(), 0, image, "add_one", hal.Value(uint32(1)))
}
