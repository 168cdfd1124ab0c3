// Package llvmpipe knows the limits of Mesa's driver for processors, llvmpipe, which is below lavapipe (Vulkan) and Rusticl (OpenCL).
package llvmpipe

import (
	"fmt"
	"regexp"
	"strings"
)

var version = regexp.MustCompile(`\d+\.\d+`)

// Limits returns driver.Compute.LoopRounds and Nesting for a device by its name and the text of its driver's version, 0 for other devices.
//
// Mesa 22.3 counts down from 65,535 in each round of a loop, and in the one that finds its end; at 0 all loops end, also those that begin
// later. Mesa 26.1 does not. Both keep 80 conditions that are nested; the masks of others are dropped, and at 80 the "else" is. The checks
// of a translation nest up to three more.
func Limits(model, driver string) (rounds, nesting int) {
	if !strings.HasPrefix(model, "llvmpipe") {
		return 0, 0
	}
	var major, minor int
	_, _ = fmt.Sscanf(version.FindString(driver), "%d.%d", &major, &minor)
	if major < 26 || major == 26 && minor < 1 {
		rounds = 65534
	}
	return rounds, 76
}
