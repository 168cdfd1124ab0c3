package conformance_test

import (
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// The host reaches the discrete device's memory through copies alone, as in OpenCL without unified shared memory.
func TestHiddenMemory(t *testing.T) {
	conformance.Run(t, newShim(bugs{
		withInfo(func(_ *shim, i *driver.Info) {
			i.Caps &^= driver.CapRegister | driver.CapConcurrentShared | driver.CapShared
		}),
		hooks{HostPointer: func(*hooked.Memory) unsafe.Pointer { return nil }},
	}).harness())
}
