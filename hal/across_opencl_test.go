//go:build opencl

package hal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/go-halyard/halyard/backends/opencl"
	"github.com/go-halyard/halyard/hal"
)

// openCLDevices are handles on the host's unified device and on every OpenCL device there is.
func openCLDevices(tb testing.TB) []*hal.Device {
	tb.Helper()
	infos, err := hal.Devices(ctx)
	require.NoError(tb, err)
	var devices []*hal.Device
	for _, info := range infos {
		if info.Backend != "opencl" && !(info.Backend == "host" && info.Ordinal == 0) {
			continue
		}
		d, err := hal.Open(ctx, info.Name())
		require.NoError(tb, err)
		tb.Cleanup(func() { require.NoError(tb, d.Close()) })
		devices = append(devices, d)
	}
	if len(devices) < 2 {
		tb.Skip("there is no OpenCL device")
	}
	return devices
}

func BenchmarkAcrossOpenCL(b *testing.B) {
	devices := openCLDevices(b)
	for _, from := range devices {
		for _, to := range devices {
			if !from.Same(to) && !to.CanAccessPeer(from) {
				b.Run(from.Name()+"-"+to.Name()+"/"+to.Info().MemoryModel, func(b *testing.B) { benchAcross(b, from, to) })
			}
		}
	}
}
