package buffer_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// registerApart registers host memory that the device has its own block for.
func registerApart(d *hooked.Device, p unsafe.Pointer, n uint64) (*hooked.Memory, error) {
	m, err := d.PlainAlloc(driver.KindHost, n, 0)
	if err != nil {
		return nil, err
	}
	s, err := d.Device.NewStream(driver.StreamOptions{})
	if err == nil {
		err = s.CopyIn(m.All(), p)
	}
	if err == nil {
		err = s.Sync()
	}
	if err == nil {
		err = s.Close()
	}
	m.Data = &view{bytes: unsafe.Slice((*byte)(p), n)}
	return m, err
}

func TestFirstTurnUnderHostAccess(t *testing.T) {
	backend := newTurns()
	described := backend.Info
	backend.Info = func(i driver.Info) driver.Info { i = described(i); i.Caps |= driver.CapRegister; return i }
	backend.Register = registerApart
	a := fixture.Device(t, backend, 1)
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
