package hal

import (
	"github.com/go-halyard/halyard/hal/internal/life"
)

// CompileWith is CompileFor with a compiler of the test.
var CompileWith = compileWith

// WaitsForFrees reports whether a gate or bridge is about to be made, and waits for frees under way.
func WaitsForFrees() bool {
	return life.GatesWait()
}

// DevicesOf is what Devices makes of the reports of all backends.
func DevicesOf(reports []Report) ([]Info, error) { return devices("devices", reports) }

// Best is the index of the device that Default opens, of those that Devices lists.
var Best = best
