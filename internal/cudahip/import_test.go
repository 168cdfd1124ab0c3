package cudahip

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal/driver"
)

// ipcAPI is an API for which all handles stand for one allocation.
type ipcAPI struct {
	API
	open int
}

func (a *ipcAPI) Has(Call) bool { return false }

func (a *ipcAPI) IPCOpen(Context, *IPCHandle) (uintptr, Code) {
	a.open++
	return 0x10000, Success
}

func (a *ipcAPI) IPCClose(Context, uintptr) Code {
	a.open--
	return Success
}

// Two handles may stand for the same allocation. It is closed when no import uses it any more, as often as it was
// opened.
func TestTwoHandlesOfOneAllocation(t *testing.T) {
	a := &ipcAPI{}
	d := &Device{lib: &library{vendor: &Vendor{}, api: a}, api: a, info: driver.Info{Caps: driver.CapIPC}}
	open := func(first byte) driver.Memory {
		m, err := d.OpenIPC(driver.IPCShare{Handle: append([]byte{first}, make([]byte, handleSize-1)...), Size: 100})
		require.NoError(t, err)
		return m
	}
	one, other, again := open(1), open(2), open(1)
	require.Equal(t, 2, a.open)
	require.NoError(t, d.imports.close(d, one.(*Memory).base))
	require.NoError(t, d.imports.close(d, other.(*Memory).base))
	require.Equal(t, 2, a.open)
	require.NoError(t, d.imports.close(d, again.(*Memory).base))
	require.Zero(t, a.open)
	open(2)
	require.Equal(t, 1, a.open)
}
