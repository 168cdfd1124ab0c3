package cudahiptest

import (
	"context"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/testing/simgpu"
)

// Conformance runs the shared suite on the simulated driver. The driver runs work in an odd order,
// and no rule of the driver may be broken.
func Conformance(t *testing.T, h *Harness, codes cudahip.Codes) {
	h.start(t)
	h.reset(t, 1)
	conformance.Run(t, h.Suite(codes))
}

// Suite returns the harness in the form that the shared suite takes.
func (h *Harness) Suite(codes cudahip.Codes) conformance.Harness {
	open := func(ordinal int) func(context.Context) (*hal.Device, error) {
		return func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, h.backend, ordinal) }
	}
	suite := conformance.Harness{
		Open:        open(0),
		Peer:        open(1),
		Backend:     h.backend,
		Short:       testing.Short(),
		VendorCodes: vendorCodes(codes),
		Faults:      func() conformance.FaultControl { return &faults{sim: h.sim} },
	}
	if h.Retain != "" {
		suite.Contexts = func() int {
			n := 0
			for _, l := range h.sim.Leaks() {
				if strings.Contains(l, "context") {
					n++
				}
			}
			return n
		}
	}
	return suite
}

func vendorCodes(codes cudahip.Codes) func() []driver.Error {
	return func() []driver.Error {
		var list []driver.Error
		for code, s := range codes {
			list = append(list, driver.Error{Kind: s.Kind, Vendor: driver.Vendor{Code: int64(code), Name: s.Name}})
		}
		return list
	}
}

// faults makes calls of the simulated driver fail.
type faults struct {
	sim  *simgpu.Control
	base uint64
}

const (
	unknownError = 999
	launchFailed = 719
)

// CallCount implements conformance.FaultControl.
func (f *faults) CallCount() uint64 { return f.sim.CallCount() - f.base }

// FailCall implements conformance.FaultControl.
func (f *faults) FailCall(n uint64) { f.sim.FailCall(n, unknownError) }

// LoseDevice implements conformance.FaultControl.
func (f *faults) LoseDevice(n uint64) { f.sim.FailCall(n, launchFailed) }

// Reset implements conformance.FaultControl.
func (f *faults) Reset() {
	f.sim.FailCall(0, 0)
	f.base = f.sim.CallCount()
}
