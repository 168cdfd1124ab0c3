//go:build opencl

package opencl

import (
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
)

// NVIDIA's driver fills 2 GiB and more with other bytes, so a large fill is several.
func TestLargeFillIsCut(t *testing.T) {
	t.Setenv(memoryEnv, "buffer")
	tab, err := loadTable()
	if err != nil {
		absent(t, err.Error())
	}
	var off, calls uint64
	cut := *tab
	cut.fillBuffer = func(queue, mem uintptr, bits, width, at, n uint64) (uintptr, status) {
		if at != off || n >= 1<<31 || n%width != 0 {
			t.Errorf("%d bytes at %d are filled after %d", n, at, off)
		}
		off, calls = at+n, calls+1
		return tab.fillBuffer(queue, mem, bits, width, 0, 64)
	}
	d, err := newBackend(func() (*table, error) { return &cut, nil }).Open(t.Context(), 0)
	ok(t, err)
	m, err := d.Alloc(driver.KindDevice, 64, 64)
	ok(t, err)
	s, err := d.NewStream(driver.StreamOptions{})
	ok(t, err)
	const size = 5<<30 + 8
	ok(t, s.Fill(driver.Region{Mem: m, Len: size}, driver.Pattern{Bits: 1, Width: 8}))
	ok(t, s.Sync())
	if off != size || calls != 6 {
		t.Errorf("%d fills of %d bytes, want 6 of %d", calls, off, uint64(size))
	}
	ok(t, s.Close())
	ok(t, m.Free())
	ok(t, d.Close())
}
