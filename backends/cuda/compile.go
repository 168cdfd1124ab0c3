//go:build cuda

package cuda

import "github.com/go-halyard/halyard/internal/cudahip/rtc"

// compiler compiles CUDA C++ for the devices, and for architectures of which there is no device.
const compiler = rtc.NVRTC
