// Package everydevice runs a test on each device of the machine.
package everydevice

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
)

// Run runs fn as a test on each device of the machine, and on one of the host backend that has memory of its own. A device that runs no
// kernels, or not this one, is skipped. If HALYARD_REQUIRE names opencl, fn must run on an OpenCL device.
func Run(t *testing.T, fn func(t *testing.T, q *halyard.Queue)) {
	t.Helper()
	t.Setenv("HALYARD_HOST_DEVICES", "1")
	devices, err := hal.Devices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	for _, d := range devices {
		t.Run(d.Name(), func(t *testing.T) {
			q := halyard.Open(t.Context(), d.Name())
			fn(t, q)
			switch err := q.Close(); {
			case d.Backend != "host" && (errors.Is(err, hal.ErrUnsupported) || errors.Is(err, hal.ErrUnavailable)):
				t.Skip(err)
			case err != nil:
				t.Fatal(err)
			}
			ran[d.Backend] = true
		})
	}
	if strings.Contains(os.Getenv("HALYARD_REQUIRE"), "opencl") && !ran["opencl"] {
		t.Error("HALYARD_REQUIRE asks for OpenCL, and the kernels ran on no such device")
	}
}
