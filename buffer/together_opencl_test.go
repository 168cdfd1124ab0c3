//go:build opencl

package buffer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/go-halyard/halyard/backends/opencl"
	"github.com/go-halyard/halyard/hal"
)

// BenchmarkLeasesOpenCL is what five leases cost on each OpenCL device, where each event is a command of its own once the program has the
// stream's handle.
func BenchmarkLeasesOpenCL(b *testing.B) {
	for _, r := range hal.List(ctx) {
		if r.Backend != "opencl" {
			continue
		}
		for _, info := range r.Devices {
			b.Run(info.Name(), func(b *testing.B) {
				d, err := hal.Open(ctx, info.Name())
				require.NoError(b, err)
				b.Cleanup(func() { require.NoError(b, d.Close()) })
				leases(b, d)
			})
		}
	}
}
