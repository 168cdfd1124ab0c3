//go:build (cuda || hip) && linux && !linked

package dlpack_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/buffer/dlpack"
	"github.com/go-halyard/halyard/buffer/dlpack/internal/abi"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/pintest"
)

// vendor is what DLPack calls the memory of one backend.
type vendor struct {
	backend                  driver.Backend
	onDevice, onHost, shared abi.DeviceType
	defaultStream            uintptr
}

func open(t *testing.T, b driver.Backend, ordinal int) *hal.Device {
	t.Helper()
	d, err := hal.OpenWith(ctx, b, ordinal)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, d.Reclaim(ctx))
		require.NoError(t, d.Close())
	})
	return d
}

// run lends memory of a device to C and takes it back, all of it without a copy.
func (v *vendor) run(t *testing.T, library, variable string) {
	t.Setenv(variable, library)
	d, other := open(t, v.backend, 0), open(t, v.backend, 1)
	s := newStream(t, d)
	t.Run("RoundTrip", func(t *testing.T) { v.roundTrip(t, d, other, s) })
	t.Run("Streams", func(t *testing.T) { v.streams(t, other) })
	t.Run("HostAndShared", func(t *testing.T) { v.hostAndShared(t, d) })
	require.Zero(t, dlpack.Outstanding())
}

func (v *vendor) roundTrip(t *testing.T, d, other *hal.Device, s *hal.Stream) {
	a, err := array.From(counted(6*7), 6, 7)
	require.NoError(t, err)
	part, err := a.Slice(array.Between(1, 5), array.Between(2, 7).By(2))
	require.NoError(t, err)
	gate, err := s.Gate()
	require.NoError(t, err)
	m, err := dlpack.ExportArray(ctx, part, dlpack.WithDevice(d), dlpack.WithStream(s), dlpack.WithMode(coherence.ReadWrite))
	require.NoError(t, err, "it does not wait for the stream")
	tensor, err := m.Tensor()
	require.NoError(t, err)
	require.Equal(t, abi.Device{Type: v.onDevice, ID: int32(d.Info().Ordinal)}, abi.Device{Type: abi.DeviceType(tensor.DeviceType), ID: tensor.DeviceID})
	require.Equal(t, []int64{4, 3}, tensor.Shape)
	require.Equal(t, []int64{7, 2}, tensor.Strides)
	require.False(t, tensor.ReadOnly)
	whole, _, err := a.Bounds()
	require.NoError(t, err)
	region, err := whole.Memory(d)
	require.NoError(t, err)
	require.Equal(t, region.Mem.Handle()+4*(7+2), tensor.Data())
	require.NoError(t, gate.Signal())

	for _, wrong := range []*hal.Device{nil, other, openHost(t, 1)} {
		_, _, err = dlpack.Import[int32](ctx, m, dlpack.WithDevice(wrong))
		require.ErrorIs(t, err, hal.ErrWrongDevice)
	}
	before := buffer.Totals()
	b, got, err := dlpack.Import[int32](ctx, m, dlpack.WithDevice(d))
	require.NoError(t, err)
	require.Equal(t, []int{7, 2}, got.Strides())
	lease, err := b.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	require.Equal(t, tensor.Data(), lease.Pointer())
	require.NoError(t, s.Fill(lease.Region(), hal.Pattern32(9)))
	require.NoError(t, lease.Release())
	require.Equal(t, before.BytesCopied, buffer.Totals().BytesCopied, "nothing was copied")
	require.NoError(t, b.Close())
	require.Eventually(t, func() bool { return dlpack.Outstanding() == 0 }, patience, time.Millisecond)
	values, err := a.Values(ctx)
	require.NoError(t, err)
	want := counted(6 * 7)
	copy(want[9:9+3*7+5], fill(26, 9))
	require.Equal(t, want, values)

	// A copy is made on the device.
	m, err = dlpack.ExportArray(ctx, part, dlpack.WithDevice(d))
	require.NoError(t, err)
	b, got, err = dlpack.Import[int32](ctx, m, dlpack.WithDevice(d), dlpack.WithCopy(true))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return dlpack.Outstanding() == 0 }, patience, time.Millisecond)
	require.NoError(t, a.Set(ctx, -1, 1, 2))
	values, err = got.Values(ctx)
	require.NoError(t, err)
	require.Equal(t, fill(12, 9), values)
	require.NoError(t, b.Close())
	require.NoError(t, a.Close())
}

func (v *vendor) streams(t *testing.T, d *hal.Device) {
	b, err := buffer.From(counted(1000))
	require.NoError(t, err)
	s := newStream(t, d)
	consumer := func(handle uintptr) *hal.Stream { // that of the consumer, by its handle
		c, err := d.ImportStream(handle, nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		return c
	}
	for _, handle := range []uintptr{v.defaultStream, s.Handle()} {
		m, err := dlpack.Export(ctx, b, dlpack.WithDevice(d), dlpack.WithStream(consumer(handle)), dlpack.WithMode(coherence.ReadWrite))
		require.NoError(t, err, "stream %d", handle)
		require.NoError(t, m.Delete())
	}

	// A consumer without a stream finds the bytes there.
	gate, err := s.Gate()
	require.NoError(t, err)
	lease, err := b.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, lease.Release())
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, err = dlpack.Export(short, b, dlpack.WithDevice(d))
	require.ErrorIs(t, err, hal.ErrNotReady)
	require.NoError(t, gate.Signal())

	// What the consumer's stream has been given before the deleter is what the next access waits for.
	m, err := dlpack.Export(ctx, b, dlpack.WithDevice(d), dlpack.WithStream(consumer(s.Handle())), dlpack.WithMode(coherence.ReadWrite))
	require.NoError(t, err)
	gate, err = s.Gate()
	require.NoError(t, err)
	region, err := b.Memory(d)
	require.NoError(t, err)
	require.NoError(t, s.Fill(region, hal.Pattern32(4)))
	require.NoError(t, m.Delete())
	time.AfterFunc(20*time.Millisecond, func() { _ = gate.Signal() })
	require.NoError(t, b.View(ctx, func(x []int32) error { require.Equal(t, fill(1000, 4), x); return nil }))
	require.NoError(t, b.Close())
}

func (v *vendor) hostAndShared(t *testing.T, d *hal.Device) {
	shape := pintest.Slice(t, []int64{256})
	for _, c := range []struct {
		kind hal.Kind
		name abi.DeviceType
	}{{hal.KindHost, v.onHost}, {hal.KindShared, v.shared}} {
		mem, err := d.Alloc(c.kind, 1024, 0)
		require.NoError(t, err)
		require.NoError(t, d.Write(ctx, mem.All(), make([]byte, 1024)))
		m := dlpack.Managed{Legacy: true, Address: pintest.Address(t, &cLegacy{cTensor: cTensor{data: mem.Handle(),
			device: abi.Device{Type: c.name}, ndim: 1, dtype: abi.TypeOf[int32](), shape: shape}})}
		devices := []*hal.Device{d}
		if c.name != v.onDevice {
			_, _, err = dlpack.Import[int32](ctx, m, dlpack.WithDevice(openHost(t, 1)))
			require.ErrorIs(t, err, hal.ErrWrongDevice)
			devices = append(devices, nil)
		}
		for _, dev := range devices {
			b, _, err := dlpack.Import[int32](ctx, m, dlpack.WithDevice(dev))
			require.NoError(t, err, "%v", c.name)
			require.NoError(t, b.Update(ctx, func(x []int32) error { x[7]++; return nil }))
			require.NoError(t, b.SyncTo(ctx, d))
			require.NoError(t, b.Close())
			require.NoError(t, d.Reclaim(ctx))
		}
		got := make([]byte, 1024)
		require.NoError(t, d.Read(ctx, got, mem.All()))
		require.EqualValues(t, len(devices), got[28])
		require.NoError(t, mem.Close())
	}
}
