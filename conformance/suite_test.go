package conformance_test

import (
	"context"
	"testing"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

type openFunc = func(context.Context) (*hal.Device, error)

func opener(b driver.Backend, ordinal int) openFunc {
	return func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, b, ordinal) }
}

func TestUnifiedHost(t *testing.T) {
	b := host.New(host.Options{})
	conformance.Run(t, conformance.Harness{Open: opener(b, 0), Backend: b, Short: testing.Short() || raceEnabled})
}

func TestDiscreteHost(t *testing.T) {
	b := host.New(host.Options{Discrete: 3, MemoryLimit: 128 << 20})
	other := host.New(host.Options{Name: "elsewhere", Discrete: 1})
	conformance.Run(t, conformance.Harness{
		Open: opener(b, 1), Peer: opener(b, 2), Backend: b, Short: testing.Short() || raceEnabled,
		Others: []openFunc{opener(other, 1), opener(other, 0)},
	})
}

// TestShim is the control of the mutants: without a bug the layer that they are made with passes.
func TestShim(t *testing.T) { conformance.Run(t, newShim(nil).harness()) }
