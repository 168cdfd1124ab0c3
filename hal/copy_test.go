package hal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

// One call copies in the order of a stream, whichever devices the memories belong to.
func TestCopyAnywhere(t *testing.T) {
	one, two := fixture.Device(t, host.New(host.Options{Name: "copyone", Discrete: 1}), 1), fixture.Device(t, host.New(host.Options{Name: "copytwo", Discrete: 1}), 1)
	third := fixture.Device(t, host.New(host.Options{Name: "copythree", Discrete: 1}), 1)
	require.False(t, one.CanAccessPeer(two))
	s, far := fixture.Stream(t, one), fixture.Stream(t, third)
	memory := func(d *hal.Device, n uint64) hal.Region {
		m, err := d.Alloc(hal.KindDevice, n, 0)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, m.Close()) })
		return m.All()
	}
	const n = 1 << 10
	a, b, c := memory(one, n), memory(one, n), memory(two, n)
	g, err := s.Gate()
	require.NoError(t, err)
	require.NoError(t, s.Fill(a, hal.Pattern8(7)))
	require.NoError(t, hal.Copy(s, c, a)) // to the other device
	require.NoError(t, s.Fill(a, hal.Pattern8(1)))
	require.NoError(t, hal.Copy(s, b, c)) // and back
	require.NoError(t, hal.Copy(s, a, b)) // within the stream's own
	require.NoError(t, g.Signal())
	got := make([]byte, n)
	require.NoError(t, s.CopyOut(got, a))
	require.NoError(t, s.Sync(t.Context()))
	for _, v := range got {
		if v != 7 {
			t.Fatalf("%d", v)
		}
	}
	none, other := memory(one, 0), memory(two, 0)
	require.NoError(t, hal.Copy(s, none, other))
	require.ErrorIs(t, hal.Copy(far, a, c), hal.ErrWrongDevice)
	require.ErrorIs(t, hal.Copy(far, none, other), hal.ErrWrongDevice)
	require.ErrorIs(t, hal.Copy(s, a, c.Mem.Region(0, 1)), hal.ErrInvalidArgument)
	require.ErrorIs(t, hal.Copy(s, a, hal.Region{}), hal.ErrInvalidArgument)
	require.ErrorIs(t, hal.Copy(nil, a, c), hal.ErrInvalidArgument)
	gone, err := two.Alloc(hal.KindDevice, n, 0)
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	require.ErrorIs(t, hal.Copy(s, a, gone.All()), hal.ErrClosed)
}
