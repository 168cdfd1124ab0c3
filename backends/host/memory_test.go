package host_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal/driver"
)

func TestKindsOfMemory(t *testing.T) {
	for _, row := range []struct {
		ordinal int
		kind    driver.Kind
		size    uint64
		visible bool
	}{
		{0, driver.KindDevice, 5, true},
		{0, driver.KindHost, 5, true},
		{0, driver.KindShared, 5, true},
		{0, driver.KindDevice, 9 << 20, true},
		{1, driver.KindDevice, 5, false},
		{1, driver.KindHost, 5, true},
		{1, driver.KindShared, 5, true},
		{1, driver.KindDevice, 9 << 20, false},
		{1, driver.KindShared, 300 << 10, true},
	} {
		t.Run(fmt.Sprintf("host%d/%s/%d", row.ordinal, row.kind, row.size), func(t *testing.T) {
			d := open(t, host.Options{Discrete: 1}, row.ordinal)
			m := alloc(t, d, row.kind, row.size)
			want(t, "size", m.Size(), row.size)
			want(t, "visible", m.HostPointer() != nil, row.visible)
			if row.visible {
				want(t, "address", uintptr(m.HostPointer()), m.Handle())
			}
			// Fresh memory must not look like zeros, which nobody promised.
			b := contents(t, d, m)
			want(t, "first byte", b[0], 0xA5)
			want(t, "last byte", b[len(b)-1], 0xA5)
			if row.ordinal > 0 || len(b) < 1<<20 {
				want(t, "middle byte", b[len(b)/2], 0xA5)
			}
			b = put(t, d, m, 7)
			wantBytes(t, "round trip", contents(t, d, m), b)
		})
	}
}

// All of the machine's memory is more than is available, and is refused, not fatal.
func TestHugeAllocationIsRefused(t *testing.T) {
	for ordinal := range 2 {
		d := open(t, host.Options{Discrete: 1}, ordinal)
		if !d.Info().Caps.Has(driver.CapMemInfo) || runtime.GOOS != "linux" && runtime.GOOS != "windows" {
			t.Skip("this system does not tell how much memory is available")
		}
		for _, kind := range []driver.Kind{driver.KindDevice, driver.KindHost, driver.KindShared} {
			_, err := d.Alloc(kind, d.Info().MaxAlloc, 0)
			e := wantKind(t, err, driver.ErrOutOfMemory)
			if e.Vendor.API != "" {
				t.Errorf("the system was asked for all its memory: %v", e)
			}
		}
		alloc(t, d, driver.KindDevice, 1)
	}
}

func TestMemoryLimit(t *testing.T) {
	const limit = 1 << 20
	b := host.New(host.Options{Discrete: 2, MemoryLimit: limit})
	var devices [2]driver.Device // two handles on one device
	for i := range devices {
		var err error
		devices[i], err = b.Open(context.Background(), 1)
		check(t, err)
	}
	free := func(d driver.Device) uint64 {
		t.Helper()
		free, total, err := d.MemInfo()
		check(t, err)
		want(t, "total", total, limit)
		return free
	}
	first, err := devices[0].Alloc(driver.KindDevice, 700<<10, 0)
	check(t, err)
	want(t, "free", free(devices[1]), limit-700<<10)

	_, err = devices[1].Alloc(driver.KindShared, 400<<10, 0)
	wantKind(t, err, driver.ErrOutOfMemory)
	_, err = devices[0].Alloc(driver.KindDevice, 400<<10, 0)
	wantKind(t, err, driver.ErrOutOfMemory)

	pinned, err := devices[1].Alloc(driver.KindHost, 900<<10, 0)
	check(t, err)
	check(t, pinned.Free())
	other, err := b.Open(context.Background(), 2)
	check(t, err)
	want(t, "free of another device", free(other), limit)

	check(t, first.Free())
	_, err = devices[0].Alloc(driver.KindDevice, limit+1, 0)
	wantKind(t, err, driver.ErrOutOfMemory)
	want(t, "free at the end", free(devices[0]), limit)
	whole, err := devices[1].Alloc(driver.KindDevice, limit, 0)
	check(t, err)
	check(t, whole.Free())
}

func TestRegister(t *testing.T) {
	b := host.New(host.Options{Discrete: 1})
	one, err := b.Open(context.Background(), 0)
	check(t, err)
	other, err := b.Open(context.Background(), 1)
	check(t, err)
	mem := make([]byte, 64<<10)
	register := func(d driver.Device, from, to int) (driver.Memory, error) {
		return d.(driver.Registerer).Register(unsafe.Pointer(&mem[from]), uint64(to-from))
	}
	first, err := register(one, 1000, 30_000)
	check(t, err)
	want(t, "size", first.Size(), 29_000)
	want(t, "address", first.HostPointer(), unsafe.Pointer(&mem[1000]))
	for _, r := range [][2]int{{1000, 30_000}, {0, 1001}, {29_999, 40_000}, {2000, 2001}, {0, 60_000}} {
		_, err := register(one, r[0], r[1])
		wantKind(t, err, driver.ErrBusy)
	}
	before, err := register(one, 0, 1000)
	check(t, err)
	after, err := register(one, 30_000, 40_000)
	check(t, err)
	elsewhere, err := register(other, 0, 60_000)
	check(t, err)

	s := newStream(t, other)
	m := alloc(t, other, driver.KindDevice, 29_000)
	data := put(t, other, m, 3)
	check(t, s.Copy(all(first), all(m)))
	check(t, s.Sync())
	wantBytes(t, "registered memory", mem[1000:30_000], data)

	for _, m := range []driver.Memory{first, before, after, elsewhere} {
		check(t, m.Free())
	}
	wantBytes(t, "after unregistering", mem[1000:30_000], data)
	again, err := register(one, 0, 60_000)
	check(t, err)
	check(t, again.Free())
}

func TestStreamOrderedMemory(t *testing.T) {
	const limit = 1 << 20
	d := open(t, host.Options{Discrete: 1, MemoryLimit: limit}, 1)
	s := newStream(t, d)
	a := s.(driver.StreamAllocator)
	m, err := a.AllocAsync(limit, 0)
	check(t, err)
	if m.HostPointer() != nil {
		t.Error("device memory is visible")
	}
	openGate := shut(t, s)
	b := make([]byte, limit)
	check(t, s.Fill(all(m), driver.Pattern{Bits: 0x1234, Width: 2}))
	check(t, s.CopyOut(pointer(b), all(m)))
	_, err = a.AllocAsync(1, 0)
	wantKind(t, err, driver.ErrOutOfMemory)
	openGate()
	check(t, s.Sync())
	check(t, m.Free())
	want(t, "bytes", [2]byte(b[limit-2:]), [2]byte{0x34, 0x12})
	m, err = a.AllocAsync(limit, 0)
	check(t, err)
	check(t, m.Free())
	free, _, err := d.MemInfo()
	check(t, err)
	want(t, "free after a free", free, limit)
}
