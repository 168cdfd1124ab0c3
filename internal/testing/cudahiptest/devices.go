package cudahiptest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/simgpu"
)

func devicesAreListed(h *Harness, t *testing.T) {
	h.reset(t, 1)
	infos, err := h.backend.Devices(context.Background())
	ok(t, err)
	if len(infos) != 2 {
		t.Fatalf("%d devices, want 2", len(infos))
	}
	for i, info := range infos {
		if info.Ordinal != i || info.Backend != h.backend.Name() || info.Vendor == "" || !strings.Contains(info.Driver, h.Binding) {
			t.Errorf("incomplete: %+v", info)
		}
		if !info.Simulated || !strings.Contains(info.Model, "simulated") {
			t.Errorf("%q (simulated %t) does not say that it is simulated", info.Model, info.Simulated)
		}
		if info.TotalMemory == 0 || info.MaxAlloc == 0 || info.Alignment != 256 || info.MaxAlign < 4096 {
			t.Errorf("sizes: %+v", info)
		}
		if info.PCI == "" || info.UUID == (driver.UUID{}) {
			t.Errorf("no address or UUID: %+v", info)
		}
		const all = driver.CapAsyncCopy | driver.CapTiming | driver.CapGate | driver.CapHostCallback |
			driver.CapRegister | driver.CapPeerCopy | driver.CapStreamAlloc | driver.CapPrefetch | driver.CapIPC |
			driver.CapShared | driver.CapMemInfo | driver.CapPriority | driver.CapAddress | driver.CapConcurrentShared |
			driver.CapOrderedPageable | driver.CapImport | driver.CapImportStream | driver.CapPointerInfo | driver.CapCopy2D | driver.CapKernels
		if info.Caps&^driver.CapCompile != all { // CapCompile depends on whether the vendor's compiler is installed
			t.Errorf("capabilities %q, want %q", info.Caps, all)
		}
	}
	if infos[0].UUID == infos[1].UUID || infos[0].PCI == infos[1].PCI {
		t.Errorf("two devices share a UUID or address: %+v", infos)
	}
	if h.Retain != "" && h.sim.Calls()[h.Retain] != 0 {
		t.Errorf("listing made a context: %v", h.sim.Calls())
	}
	d := h.open(t, 1)
	opened := d.Info()
	if opened.LowPriority <= opened.HighPriority {
		t.Errorf("priorities from %d to %d", opened.LowPriority, opened.HighPriority)
	}
	if opened != infos[1] {
		t.Errorf("open: %+v\nlisted: %+v", opened, infos[1])
	}
}

func noDevices(h *Harness, t *testing.T) {
	h.set(t, simgpu.Devices, 0, 2)
	h.calm(t, 1)
	// This backend loaded the library while it had devices. Now the library has none.
	infos, err := h.backend.Devices(context.Background())
	if err == nil && len(infos) == 0 {
		return
	}
	if !errors.Is(err, driver.ErrUnavailable) {
		t.Errorf("%v, %v", infos, err)
	}
	// A backend that loads a library without devices returns an error, and keeps returning it.
	fresh := h.New()
	_, err = fresh.Devices(context.Background())
	if !errors.Is(err, driver.ErrUnavailable) {
		t.Fatalf("error %v, want ErrUnavailable", err)
	}
	if _, again := fresh.Devices(context.Background()); again != err {
		t.Errorf("asked again: %v", again)
	}
}

func cancelledContext(h *Harness, t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := h.New().Devices(ctx)
	if !errors.Is(err, driver.ErrNotReady) || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func lackingAbilities(h *Harness, t *testing.T) {
	for _, c := range []struct {
		name string
		lack simgpu.Lack
		gone driver.Caps
	}{
		{"pools", simgpu.LackPools, driver.CapStreamAlloc},
		{"managed", simgpu.LackManaged, driver.CapShared | driver.CapConcurrentShared | driver.CapPrefetch},
		{"concurrent", simgpu.LackConcurrentManaged, driver.CapConcurrentShared | driver.CapPrefetch},
	} {
		t.Run(c.name, func(t *testing.T) {
			h.set(t, simgpu.Without, uint64(c.lack), 0)
			h.reset(t, 1)
			d := h.open(t, 0)
			if caps := d.Info().Caps; caps&c.gone != 0 {
				t.Errorf("capabilities %q with no %s", caps, c.name)
			}
			dev := h.openHal(t, 0)
			s, err := dev.NewStream()
			ok(t, err)
			defer s.Close()
			if c.gone.Has(driver.CapStreamAlloc) {
				_, err := s.AllocAsync(100, 0)
				kind(t, err, driver.ErrUnsupported)
			}
			if c.gone.Has(driver.CapShared) {
				_, err := dev.Alloc(driver.KindShared, 100, 0)
				kind(t, err, driver.ErrUnsupported)
			}
			if c.gone.Has(driver.CapPrefetch) && !c.gone.Has(driver.CapShared) {
				m, err := dev.Alloc(driver.KindShared, 100, 0)
				ok(t, err)
				defer m.Close()
				kind(t, s.Prefetch(m.All(), true), driver.ErrUnsupported)
			}
		})
	}
}
