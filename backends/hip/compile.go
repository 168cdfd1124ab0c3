//go:build hip

package hip

import "github.com/go-halyard/halyard/internal/cudahip/rtc"

// compiler compiles HIP C++ for the devices, and for architectures of which there is no device.
const compiler = rtc.HIPRTC
