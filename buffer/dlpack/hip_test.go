//go:build hip && linux && !linked

package dlpack_test

import (
	"testing"

	"github.com/go-halyard/halyard/backends/hip"
	"github.com/go-halyard/halyard/buffer/dlpack/internal/abi"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
)

func TestHIP(t *testing.T) {
	_, lib := cudahiptest.Libraries(t, "hip")
	v := &vendor{backend: hip.New(), onDevice: abi.ROCm, onHost: abi.ROCmHost, shared: abi.ROCm,
		defaultStream: 0}
	v.run(t, lib, "HALYARD_HIP_LIBRARY")
}
