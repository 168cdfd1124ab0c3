//go:build vulkan

package vulkan

import (
	"context"
	"testing"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// The suite passes in both memory models, also when each call of the driver fails in turn and when the device is lost.
func TestConformance(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		h := conformance.Harness{
			Open:     func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, p.backend, p.ordinal) },
			Others:   []func(context.Context) (*hal.Device, error){another},
			Backend:  p.backend,
			Faults:   func() conformance.FaultControl { return p.spy },
			Contexts: p.spy.devices,
			VendorCodes: func() []driver.Error {
				var codes []driver.Error
				for _, k := range statuses {
					codes = append(codes, *failure("", -1, "", k.code))
				}
				return codes
			},
			Short: testing.Short() || raceEnabled,
		}
		leave := func(check, reason string) {
			h.Exclusions = append(h.Exclusions, conformance.Exclusion{Check: check, Kind: conformance.Unsupported, Reason: reason})
		}
		leave("Errors/VendorCodePreserved", "a stream, small memory, an event and the wait for an idle stream need no call of the driver; "+
			"TestFailuresNameTheCall fails the others")
		if p.info.SharesHostMemory {
			leave("Errors/DeviceLostIsSticky", "the host fills little memory itself, without a call that could find the device lost; "+
				"TestLostDevice fills more")
			leave("Coherence/FailedCopyLeavesDestinationInvalid", "the replica of a unified device is the host's: nothing is copied")
		}
		conformance.Run(t, h)
	})
}

// TestSuite is the suite as any program runs it, without a spy. TestValidationLayer runs it, too.
func TestSuite(t *testing.T) {
	if !testing.Short() {
		t.Skip("TestConformance checks more")
	}
	everyModel(t, func(t *testing.T, p at) {
		b := newBackend(loadTable).with(p.opts)
		open := func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, b, p.ordinal) }
		conformance.Run(t, conformance.Harness{Open: open, Backend: b, Short: true})
	})
}

// another opens a device of another backend.
func another(ctx context.Context) (*hal.Device, error) {
	return hal.OpenWith(ctx, host.New(host.Options{Name: "another", Discrete: 1, MemoryLimit: 64 << 20}), 1)
}
