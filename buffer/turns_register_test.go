package buffer_test

import (
	"context"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// registering is a device that takes turns with the host, on memory of the host as well.
type registering struct{ turns }

func (b registering) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	d, err := b.Backend.Open(ctx, ordinal)
	return registeringDevice{turnsDevice{d}}, err
}

type registeringDevice struct{ turnsDevice }

func (d registeringDevice) Info() driver.Info {
	i := d.turnsDevice.Info()
	i.Caps |= driver.CapRegister
	return i
}

func (d registeringDevice) Register(p unsafe.Pointer, n uint64) (driver.Memory, error) {
	m, err := d.Device.Alloc(driver.KindHost, n, 0)
	if err != nil {
		return nil, err
	}
	s, err := d.Device.NewStream(driver.StreamOptions{})
	if err == nil {
		err = s.CopyIn(driver.Region{Mem: m, Len: n}, p)
	}
	if err == nil {
		err = s.Sync()
	}
	if err == nil {
		err = s.Close()
	}
	return &turnsMemory{Memory: m, shadow: unsafe.Slice((*byte)(p), n)}, err
}

func TestFirstTurnUnderHostAccess(t *testing.T) {
	a, err := hal.OpenWith(ctx, registering{turns{host.New(host.Options{Name: "turns", Discrete: 1})}}, 1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	sa := newStream(t, a)
	b := newBuffer(t, []uint32{1, 1, 1, 1, 1, 1, 1, 1})
	low, err := b.Slice(0, 4)
	require.NoError(t, err)
	high, err := b.Slice(4, 8)
	require.NoError(t, err)
	l, err := low.AcquireHost(ctx, coherence.ReadWrite)
	require.NoError(t, err)
	p := (*[4]uint32)(l.Pointer())
	x, err := high.TryAcquire(sa, coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, sa.Fill(x.Region(), hal.Pattern32(2)))
	require.NoError(t, x.Release())
	require.Equal(t, unsafe.Pointer(p), l.Pointer())
	*p = [4]uint32{5, 5, 5, 5}
	require.NoError(t, l.Release())
	require.Equal(t, []uint32{5, 5, 5, 5, 2, 2, 2, 2}, contents(t, b))
}
