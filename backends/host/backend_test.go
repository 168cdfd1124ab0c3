package host_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal/driver"
)

func registered(t *testing.T) driver.Backend {
	all := driver.Backends()
	i := slices.IndexFunc(all, func(b driver.Backend) bool { return b.Name() == "host" })
	if i < 0 {
		t.Fatal("importing the package registered no backend host")
	}
	return all[i]
}

func TestVariableIsReadByEachCall(t *testing.T) {
	b := registered(t)
	for _, row := range []struct {
		value   string
		devices int // 0 for an error
	}{
		{"", 1}, {"0", 1}, {"1", 2}, {" 3 ", 4}, {"62", 63},
		{"63", 0}, {"-1", 0}, {"two", 0}, {"1.5", 0}, {"99999999999999999999", 0},
	} {
		t.Setenv("HALYARD_HOST_DEVICES", row.value)
		infos, err := b.Devices(context.Background())
		if row.devices == 0 {
			e := wantKind(t, err, driver.ErrInvalidArgument)
			if !strings.Contains(e.Detail, "HALYARD_HOST_DEVICES") {
				t.Errorf("%q: %v does not name the variable", row.value, err)
			}
			_, err = b.Open(context.Background(), 0)
			wantKind(t, err, driver.ErrInvalidArgument)
			continue
		}
		check(t, err)
		want(t, "devices for "+strconv.Quote(row.value), len(infos), row.devices)
		last, err := b.Open(context.Background(), row.devices-1)
		check(t, err)
		want(t, "ordinal", last.Info().Ordinal, row.devices-1)
		check(t, last.Close())
		_, err = b.Open(context.Background(), row.devices)
		wantKind(t, err, driver.ErrOutOfRange)
	}
}

func TestOptionsOutOfBounds(t *testing.T) {
	for _, discrete := range []int{-1, 63} {
		b := host.New(host.Options{Discrete: discrete})
		_, err := b.Devices(context.Background())
		wantKind(t, err, driver.ErrInvalidArgument)
		_, err = b.Open(context.Background(), 0)
		wantKind(t, err, driver.ErrInvalidArgument)
	}
	_, err := host.New(host.Options{}).Open(context.Background(), -1)
	wantKind(t, err, driver.ErrOutOfRange)
}

func TestInfo(t *testing.T) {
	infos, err := host.New(host.Options{Name: "second", Discrete: 2, MemoryLimit: 1 << 20}).Devices(context.Background())
	check(t, err)
	seen := map[driver.UUID]bool{}
	for i, info := range infos {
		want(t, "backend", info.Backend, "second")
		want(t, "ordinal", info.Ordinal, i)
		want(t, "unified", info.SharesHostMemory, i == 0)
		want(t, "simulated", info.Simulated, i > 0)
		want(t, "largest allocation", info.MaxAlloc, info.TotalMemory)
		if i > 0 {
			want(t, "total memory", info.TotalMemory, 1<<20)
			want(t, "simulated in the name", strings.Contains(info.Model, "simulated"), true)
		}
		if info.Model == "" || info.Driver == "" || info.UUID == (driver.UUID{}) || seen[info.UUID] ||
			info.TotalMemory == 0 || info.Alignment < 64 || info.MaxAlign < 4096 {
			t.Errorf("incomplete: %+v", info)
		}
		seen[info.UUID] = true
	}
}

// A capability is there if and only if the interface is.
func TestCapsAndInterfaces(t *testing.T) {
	for ordinal := range 2 {
		d := open(t, host.Options{Discrete: 1}, ordinal)
		s, e := newStream(t, d), newEvent(t, d, true)
		caps := d.Info().Caps
		is := func(cap driver.Caps, implemented bool) {
			t.Helper()
			want(t, cap.String(), caps.Has(cap), implemented)
		}
		_, ok := e.(driver.Timer)
		is(driver.CapTiming, ok)
		_, ok = s.(driver.Gater)
		is(driver.CapGate, ok)
		_, ok = s.(driver.Notifier)
		is(driver.CapHostCallback, ok)
		_, ok = d.(driver.Registerer)
		is(driver.CapRegister, ok)
		_, ok = d.(driver.Peering)
		is(driver.CapPeerCopy, ok)
		_, ok = s.(driver.StreamAllocator)
		is(driver.CapStreamAlloc, ok)
		_, ok = s.(driver.Prefetcher)
		is(driver.CapPrefetch, ok)
		_, ok = d.(driver.IPCSharer)
		is(driver.CapIPC, ok)
		_, ok = d.(driver.Importer)
		is(driver.CapImport, ok)
		_, ok = d.(driver.StreamImporter)
		is(driver.CapImportStream, ok)
		_, ok = s.(driver.Copier2D)
		is(driver.CapCopy2D, ok)
		_, ok = d.(driver.PointerQuerier)
		is(driver.CapPointerInfo, ok)
		_, _, err := d.MemInfo()
		is(driver.CapMemInfo, err == nil)
		is(driver.CapPriority, d.Info().LowPriority != d.Info().HighPriority)
	}
}
