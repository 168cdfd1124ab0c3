package host

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/pintest"
)

// Import refuses addresses that cannot be what the caller says they are.
func TestImportChecksWhatItKnows(t *testing.T) {
	b := New(Options{Discrete: 2})
	var devs [3]driver.Device
	for i := range devs {
		var err error
		devs[i], err = b.Open(context.Background(), i)
		require.NoError(t, err)
	}
	const n = 1 << 20
	one, err := devs[1].Alloc(driver.KindDevice, n, 0)
	require.NoError(t, err)
	at := one.Handle()
	plain := pintest.Slice(t, make([]byte, 4096))
	check := func(want error, dev int, kind driver.Kind, handle uintptr, size uint64) {
		t.Helper()
		m, err := devs[dev].(driver.Importer).Import(kind, handle, size)
		if want == nil {
			require.NoError(t, err)
			require.NoError(t, m.Free())
			return
		}
		require.ErrorIs(t, err, want)
	}
	check(nil, 1, driver.KindDevice, at+64, n-64)
	check(driver.ErrOutOfRange, 1, driver.KindDevice, at+64, n)
	check(driver.ErrInvalidArgument, 1, driver.KindHost, at, n)
	check(driver.ErrInvalidArgument, 0, driver.KindShared, at+8, 8)
	check(driver.ErrWrongDevice, 2, driver.KindDevice, at, n)
	check(driver.ErrWrongDevice, 0, driver.KindDevice, at, n)
	check(nil, 0, driver.KindHost, plain, 4096)
	check(nil, 1, driver.KindDevice, plain, 4096)
	check(driver.ErrInvalidArgument, 0, driver.KindHost, 8, 8)
	require.NoError(t, one.Free())
	check(driver.ErrOutOfRange, 0, driver.KindHost, plain, 1<<46) // so long that it might reach over the device's memory
	require.Zero(t, devs[1].(*device).hardware.blocks.held.held.Len())
	for _, d := range devs {
		require.NoError(t, d.Close())
	}
}
