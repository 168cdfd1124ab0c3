//go:build cuda && linux

package parts

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/go-halyard/halyard/backends/cuda"
	"github.com/go-halyard/halyard/hal"
)

// cudaDevices are the CUDA devices of the machine.
func cudaDevices(t *testing.T) (list []hal.Info) {
	t.Helper()
	all, err := hal.Devices(t.Context())
	if !errors.Is(err, hal.ErrUnavailable) {
		require.NoError(t, err)
	}
	for _, d := range all {
		if d.Backend == "cuda" {
			list = append(list, d)
		}
	}
	if len(list) == 0 {
		t.Skip("there is no CUDA device: ", err)
	}
	return list
}

// described names a device, and says so if it is simulated.
func described(d hal.Info) string {
	if d.Simulated {
		return d.Name() + ", simulated, " + d.Model
	}
	return d.Name() + ", " + d.Model
}
