//go:build opencl

package opencl

import (
	"context"
	"testing"

	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
)

// The suite leaves no object of OpenCL's behind, on no device and in no tier.
func TestConformance(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector sees the backend in the other tests, and would take minutes here")
	}
	everywhere(t, func(t *testing.T, p place) {
		open := func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, p.backend, p.ordinal) }
		conformance.Run(t, conformance.Harness{Open: open, Backend: p.backend, Short: true})
	})
}
