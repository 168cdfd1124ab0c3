//go:build cuda

package cuda

import "github.com/go-halyard/halyard/internal/cudahip/rtc"

// compiler compiles CUDA C++ for the machine's devices, and for architectures that no device of the
// machine has.
const compiler = rtc.NVRTC
