//go:build vulkan

package vulkan

import (
	"fmt"

	"github.com/go-halyard/halyard/hal/driver"
)

const backendName = "vulkan"

// Positive codes of a VkResult say how a call succeeded.
const (
	success    status = 0
	notReady   status = 1
	timeout    status = 2
	incomplete status = 5
	deviceLost status = -4
)

// failure returns the error for a status. ordinal is the device's, or -1.
func failure(op string, ordinal int, api string, st status) *driver.Error {
	k := st.known()
	return &driver.Error{Op: op, Backend: backendName, Device: ordinal, Kind: k.kind, Detail: missing[st],
		Vendor: driver.Vendor{API: api, Name: k.name, Code: int64(st)}}
}

// missing says what a status of kind ErrUnavailable means.
var missing = map[status]string{
	-3: "a Vulkan driver could not be initialized",
	-6: "the Vulkan loader does not find a layer that VK_INSTANCE_LAYERS names",
	-9: "the Vulkan loader finds no driver; install the device's, or mesa-vulkan-drivers for processors, or name a driver's file in VK_DRIVER_FILES",
}

// refusal returns an error that the backend itself detected.
func refusal(op string, ordinal int, kind error, format string, args ...any) *driver.Error {
	return &driver.Error{Op: op, Backend: backendName, Device: ordinal, Kind: kind, Detail: fmt.Sprintf(format, args...)}
}
