//go:build opencl && !linked

package dlpack_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/go-halyard/halyard/backends/opencl"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/dlpack"
	"github.com/go-halyard/halyard/buffer/dlpack/internal/abi"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

func TestOpenCL(t *testing.T) {
	ran := 0
	for _, tier := range []string{"buffer", "svm-coarse", "svm", "usm"} {
		t.Setenv("HALYARD_OPENCL_MEMORY", tier)
		infos, err := hal.Devices(ctx)
		require.NoError(t, err)
		for _, info := range infos {
			if info.Backend != "opencl" || info.MemoryModel != tier {
				continue
			}
			t.Run(tier+"/"+info.Model, func(t *testing.T) {
				d, err := hal.Open(ctx, info.Name())
				require.NoError(t, err)
				lendAndTake(t, d)
				require.NoError(t, d.Reclaim(ctx))
				require.NoError(t, d.Close())
			})
			ran++
		}
	}
	if ran == 0 {
		if strings.Contains(os.Getenv("HALYARD_REQUIRE"), "opencl") {
			t.Fatal("HALYARD_REQUIRE asks for OpenCL, and there is no device")
		}
		t.Skip("there is no OpenCL device")
	}
}

func lendAndTake(t *testing.T, d *hal.Device) {
	s, err := d.NewStream()
	require.NoError(t, err)
	whole, err := buffer.From(counted(4096), buffer.WithPinnedHost(d))
	require.NoError(t, err)
	part, err := whole.Slice(1024, 1024+256)
	require.NoError(t, err)
	m, err := dlpack.Export(ctx, part, dlpack.WithDevice(d), dlpack.WithMode(coherence.ReadWrite))
	if d.Info().MemoryModel == "svm-coarse" {
		require.ErrorIs(t, err, hal.ErrUnsupported, "the address is no cl_mem, and not the host's either")
		require.NoError(t, whole.Close())
		require.NoError(t, s.Close())
		return
	}
	require.NoError(t, err)
	tensor, err := m.Tensor()
	require.NoError(t, err)
	region, err := whole.Memory(d)
	require.NoError(t, err)
	switch {
	case d.Info().MemoryModel == "buffer":
		require.Equal(t, abi.Device{Type: abi.OpenCL, ID: int32(d.Info().Ordinal)}, abi.Device{Type: abi.DeviceType(tensor.DeviceType), ID: tensor.DeviceID})
		require.Equal(t, region.Mem.Handle(), tensor.Data())
		require.EqualValues(t, 4096, tensor.ByteOffset())
		_, _, err = dlpack.Import[int32](ctx, m)
		require.ErrorIs(t, err, hal.ErrWrongDevice)
	case region.Mem.HostPointer() != nil:
		require.Equal(t, abi.Device{Type: abi.CPU}, abi.Device{Type: abi.DeviceType(tensor.DeviceType), ID: tensor.DeviceID})
		require.Equal(t, uintptr(region.Mem.HostPointer())+4096, tensor.Data())
	default:
		require.Equal(t, abi.OneAPI, abi.DeviceType(tensor.DeviceType))
		require.Equal(t, region.Mem.Handle()+4096, tensor.Data())
	}
	before := buffer.Totals()
	b, a, err := dlpack.Import[int32](ctx, m, dlpack.WithDevice(d))
	require.NoError(t, err)
	if d.Info().MemoryModel == "buffer" {
		require.Equal(t, 1024, a.Offset(), "a cl_mem is known from its start")
		require.Equal(t, 1280, b.Len())
	}
	mine, err := b.Slice(a.Offset(), a.Offset()+256)
	require.NoError(t, err)
	lease, err := mine.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, s.Fill(lease.Region(), hal.Pattern32(6)))
	require.NoError(t, lease.Release())
	require.Equal(t, before.BytesCopied, buffer.Totals().BytesCopied, "nothing was copied")
	require.NoError(t, s.Sync(ctx))
	require.NoError(t, b.Close())
	require.Eventually(t, func() bool { return dlpack.Outstanding() == 0 }, patience, time.Millisecond)
	want := counted(4096)
	copy(want[1024:], fill(256, 6))
	require.NoError(t, whole.View(ctx, func(x []int32) error { require.Equal(t, want, x); return nil }))
	require.NoError(t, whole.Close())
	require.NoError(t, s.Close())
}
