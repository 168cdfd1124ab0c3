package cudahiptest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip"
)

// Optional returns the names of the optional calls.
func Optional(symbols cudahip.Symbols) (names []string) {
	for _, s := range symbols {
		if s.Optional {
			names = append(names, s.Name)
			if s.Older != "" {
				names = append(names, s.Older)
			}
		}
	}
	return names
}

// Minimal runs on a library that lacks every optional call.
func Minimal(t *testing.T, h *Harness) {
	h.start(t)
	h.reset(t, 3)
	d := h.open(t, 0)
	const least = driver.CapAsyncCopy | driver.CapTiming | driver.CapMemInfo | driver.CapAddress | driver.CapPriority |
		driver.CapImport | driver.CapImportStream
	if caps := d.Info().Caps; caps != least {
		t.Errorf("capabilities %q, want %q", caps, least)
	}
	s := newStream(t, d)
	minimalRefuses(h, t)
	m := alloc(t, d, driver.KindDevice, 4000)
	if l := d.(driver.Peering).PeerAccess(h.open(t, 1)); l != driver.PeerWait {
		t.Errorf("link %b, want %b", l, driver.PeerWait)
	}

	want := random(1, 4000)
	ok(t, s.CopyIn(whole(m), at(want)))
	ok(t, s.Fill(region(m, 800, 80), driver.Pattern{Bits: 0x0102030405060708, Width: 8}))
	for i := range 80 {
		want[800+i] = byte(8 - i%8)
	}
	same(t, "without optional calls", read(t, s, whole(m)), want)
}

// minimalRefuses makes the calls for which the device lacks the capability.
func minimalRefuses(h *Harness, t *testing.T) {
	dev := h.openHal(t, 0)
	s, err := dev.NewStream()
	ok(t, err)
	defer s.Close()
	_, err = dev.Alloc(driver.KindShared, 100, 0)
	kind(t, err, driver.ErrUnsupported)
	_, err = dev.Register(make([]byte, 100))
	kind(t, err, driver.ErrUnsupported)
	_, err = s.AllocAsync(100, 0)
	kind(t, err, driver.ErrUnsupported)
	_, err = s.Gate()
	kind(t, err, driver.ErrUnsupported)
	kind(t, s.OnDone(func() {}), driver.ErrUnsupported)
	m, err := dev.Alloc(driver.KindDevice, 4000, 0)
	ok(t, err)
	defer m.Close()
	_, err = m.IPCHandle()
	kind(t, err, driver.ErrUnsupported)
	_, err = dev.OpenIPC(hal.IPCHandle{})
	kind(t, err, driver.ErrUnsupported)
	kind(t, s.Prefetch(m.All(), true), driver.ErrUnsupported)
}

// Incomplete loads a library that lacks a required call.
func Incomplete(t *testing.T, h *Harness, symbol string) {
	t.Setenv(h.Env, h.Library)
	_, err := h.New().Devices(context.Background())
	e := kind(t, err, driver.ErrUnavailable)
	if text := e.Error(); !strings.Contains(text, symbol) || !strings.Contains(text, h.Library) {
		t.Errorf("%q names neither %s nor its library", text, symbol)
	}
}

// loadCalls is the number of calls that every backend makes to load a library: they initialise it
// and query its version and its number of devices.
const loadCalls = 3

// loadFails lets each call that a backend makes to list devices fail, one at a time. If a call that loads the library
// fails, the backend is unavailable. If a call that every description of a device needs fails, that device is missing.
// If any other call fails, all devices are listed.
func loadFails(h *Harness, t *testing.T) {
	h.reset(t, 0)
	whole, err := h.New().Devices(context.Background())
	ok(t, err)
	missing, lastOfLoading := 0, ""
	for n := uint64(1); ; n++ {
		b := h.New()
		before := h.sim.CallCount()
		h.sim.FailCall(n, 999)
		infos, err := b.Devices(context.Background())
		h.sim.FailCall(0, 0)
		if h.sim.CallCount()-before < n {
			if err != nil || len(infos) != 2 || n < 10 {
				t.Errorf("%d devices, %v with no call failing; %d calls were made", len(infos), err, n)
			}
			break
		}
		again, errAgain := b.Devices(context.Background())
		if err != nil {
			// A library that failed to load stays unavailable. The number of devices may be queried
			// again.
			e, isError := err.(*driver.Error)
			if !isError || e.Vendor.Code != 999 || e.Vendor.API == "" {
				t.Fatalf("call %d: error %v", n, err)
			}
			// Loading ends with the query of the number of devices, and listing begins with the
			// same query.
			unavailable := e.Kind == driver.ErrUnavailable
			if unavailable {
				lastOfLoading = e.Vendor.API
			} else if e.Vendor.API != lastOfLoading {
				t.Errorf("call %d hides all devices: %v", n, err)
			}
			if n <= loadCalls && !unavailable || unavailable != (errAgain == err) {
				t.Errorf("call %d: error %v, then %v", n, err, errAgain)
			}
			continue
		}
		ok(t, errAgain)
		if len(infos) == 1 {
			missing++
		}
		if len(infos) == 0 || len(again) != 2 {
			t.Fatalf("call %d: %d devices, then %d", n, len(infos), len(again))
		}
		for i, info := range again {
			if info.Ordinal != i || !slices.ContainsFunc(whole, func(w driver.Info) bool { w.Ordinal = i; return w == info }) {
				t.Errorf("call %d: device %d is then %+v", n, i, info)
			}
		}
		if infos[0].Ordinal != 0 || infos[0].Model != again[0].Model || len(infos) == 1 && infos[0].Model == again[1].Model {
			t.Errorf("call %d: %+v, then %+v", n, infos, again)
		}
	}
	if missing != 6 {
		t.Errorf("%d calls without which a device is missing; there are 3 for each of 2 devices", missing)
	}
}
