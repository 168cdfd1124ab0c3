//go:build hip

package hip

import "github.com/go-halyard/halyard/internal/cudahip/rtc"

// compiler compiles HIP C++ for the machine's devices, and for architectures that no device of the
// machine has.
const compiler = rtc.HIPRTC
