package buffer_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// hideMemory makes a backend's memory such that the host reaches it through copies alone, as integrated GPUs with OpenCL 1.2 have it.
func hideMemory(b *hooked.Backend) {
	described := b.Info
	b.Info = func(i driver.Info) driver.Info {
		if described != nil {
			i = described(i)
		}
		i.SharesHostMemory = false
		i.Caps &^= driver.CapAddress | driver.CapShared | driver.CapConcurrentShared | driver.CapImport | driver.CapStreamAlloc | driver.CapRegister
		return i
	}
	b.HostPointer = func(*hooked.Memory) unsafe.Pointer { return nil }
}

func newHidden() *hooked.Backend {
	b := &hooked.Backend{Backend: host.New(host.Options{Name: "hidden", Discrete: 1})}
	b.PeerAccess = func(*hooked.Device, *hooked.Device) driver.PeerAccess { return 0 }
	hideMemory(b)
	return b
}

// A device whose memory the host cannot access has a replica of its own, and host and device use parts of a buffer at the same time.
func TestHiddenMemoryIsTheDevices(t *testing.T) {
	s := newStream(t, fixture.Device(t, newHidden(), 1))
	for name, opts := range map[string][]buffer.Option{"ordinary": nil, "pinned": {buffer.WithPinnedHost(s.Device())}} {
		t.Run(name, func(t *testing.T) {
			b, err := buffer.From([]uint32{1, 1, 1, 1}, opts...)
			require.NoError(t, err)
			l, err := cut(t, b, 2, 4).TryAcquire(s, coherence.ReadWrite)
			require.NoError(t, err)
			require.NoError(t, cut(t, b, 0, 2).Fill(inTime(t), 5))
			require.NoError(t, s.Fill(l.Region(), hal.Pattern32(2)))
			require.NoError(t, l.Release())
			require.Equal(t, []uint32{5, 5, 2, 2}, contents(t, b))
			require.EqualValues(t, 2, b.Stats().Copies)
			require.NoError(t, b.Close())
		})
	}
}

// Adopted memory that the host cannot access is the device's replica, whatever its kind.
func TestAdoptHiddenMemory(t *testing.T) {
	s := newStream(t, fixture.Device(t, newHidden(), 1))
	for _, kind := range []hal.Kind{hal.KindDevice, hal.KindHost} {
		m, err := s.Device().Alloc(kind, 16, 0)
		require.NoError(t, err)
		require.NoError(t, s.Fill(m.Region(0, 16), hal.Pattern32(3)))
		require.NoError(t, s.Sync(ctx))
		b, err := buffer.Adopt[uint32](m)
		require.NoError(t, err)
		require.EqualValues(t, -1, b.Version(nil))
		require.Equal(t, []uint32{3, 3, 3, 3}, contents(t, b))
		require.NoError(t, b.Fill(ctx, 4))
		l, err := b.TryAcquire(s, coherence.Read)
		require.NoError(t, err)
		require.Same(t, m, l.Region().Mem)
		require.NoError(t, l.Release())
		require.NoError(t, b.Close())
	}
}
