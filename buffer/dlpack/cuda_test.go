//go:build cuda && linux && !linked

package dlpack_test

import (
	"testing"

	"github.com/go-halyard/halyard/backends/cuda"
	"github.com/go-halyard/halyard/buffer/dlpack/internal/abi"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
)

func TestCUDA(t *testing.T) {
	lib, _ := cudahiptest.Libraries(t, "cuda")
	v := &vendor{backend: cuda.New(), onDevice: abi.CUDA, onHost: abi.CUDAHost, shared: abi.CUDAManaged,
		defaultStream: 1}
	v.run(t, lib, "HALYARD_CUDA_LIBRARY")
}
