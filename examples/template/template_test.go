package template

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// TestConformance is what a backend has to pass. Only Open is required of a harness; each line more lets more checks run.
func TestConformance(t *testing.T) {
	lib := newLibrary(2, 64<<20)
	b := &Backend{load: func() (*library, error) { return lib, nil }}
	f := &faults{lib: lib}
	lib.before = f.before
	open := func(ordinal int) func(context.Context) (*hal.Device, error) {
		return func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, b, ordinal) }
	}
	conformance.Run(t, conformance.Harness{
		Open:        open(0),
		Peer:        open(1),                                                 // copies between two devices
		Others:      []func(context.Context) (*hal.Device, error){another},   // copies between two backends
		Backend:     b,                                                       // listing and opening
		VendorCodes: vendorCodes,                                             // the table of errors.go
		Faults:      func() conformance.FaultControl { return f },            // every call fails once
		FailAsync:   f.broken.Store,                                          // work fails when its turn has come
		Contexts:    func() int { return int(lib.cards[0].contexts.Load()) }, // listing opens nothing, closing gives back
		Short:       testing.Short(),
		// What the device will never do, or does not do yet, goes here, with the reason:
		Exclusions: nil,
	})
}

// another opens a device of another backend.
func another(ctx context.Context) (*hal.Device, error) {
	return hal.OpenWith(ctx, host.New(host.Options{Name: "another", Discrete: 1, MemoryLimit: 64 << 20}), 1)
}

func vendorCodes() []driver.Error {
	var codes []driver.Error
	for _, s := range statuses {
		codes = append(codes, driver.Error{Kind: s.kind, Vendor: driver.Vendor{Code: int64(s.code), Name: s.name}})
	}
	return codes
}

// faults makes calls of the library fail. It implements conformance.FaultControl.
type faults struct {
	lib *library

	mu             sync.Mutex
	calls          uint64
	failAt, loseAt uint64

	broken atomic.Bool
}

// before is asked by every call. Calls that the stream makes when the work's turn has come are left alone: the suite
// counts those that come from the program.
func (f *faults) before(api string) status {
	if api == "memWrite" || api == "memRead" {
		if f.broken.Load() {
			return statusBroken
		}
		return statusOK
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	switch f.calls {
	case f.failAt:
		return statusBroken
	case f.loseAt:
		return statusGone
	}
	return statusOK
}

func (f *faults) CallCount() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

func (f *faults) FailCall(n uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failAt = f.calls + n
}

func (f *faults) LoseDevice(n uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.loseAt = f.calls + n
}

func (f *faults) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.failAt, f.loseAt = 0, 0, 0
}

// A capability is set if and only if the interface beside it is there.
func TestCapsAndInterfaces(t *testing.T) {
	d, err := New().Open(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	s, _ := d.NewStream(driver.StreamOptions{})
	e, _ := d.NewEvent(driver.EventOptions{})
	m, err := d.Alloc(driver.KindHost, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Free() }()
	is := func(c driver.Caps, implemented bool) {
		t.Helper()
		if d.Info().Caps.Has(c) != implemented {
			t.Errorf("%v: the bit says %t, the type %t", c, !implemented, implemented)
		}
	}
	_, ok := e.(driver.Timer)
	is(driver.CapTiming, ok)
	_, ok = s.(driver.Gater)
	is(driver.CapGate, ok)
	_, ok = s.(driver.Notifier)
	is(driver.CapHostCallback, ok)
	_, ok = s.(driver.StreamAllocator)
	is(driver.CapStreamAlloc, ok)
	_, ok = s.(driver.Prefetcher)
	is(driver.CapPrefetch, ok)
	_, ok = d.(driver.Registerer)
	is(driver.CapRegister, ok)
	_, ok = d.(driver.IPCSharer)
	is(driver.CapIPC, ok)
	_, ok = d.(driver.Importer)
	is(driver.CapImport, ok)
	_, ok = d.(driver.StreamImporter)
	is(driver.CapImportStream, ok)
	_, ok = d.(driver.PointerQuerier)
	is(driver.CapPointerInfo, ok)
	_, ok = s.(driver.Copier2D)
	is(driver.CapCopy2D, ok)
	_, ok = d.(driver.Peering)
	is(driver.CapPeerCopy, ok)
	_, ok = d.(driver.Loader)
	is(driver.CapKernels, ok)
	_, ok = s.(driver.Launcher)
	is(driver.CapKernels, ok)
	_, ok = d.(driver.Compiler)
	is(driver.CapCompile, ok)
}

// Work that fails when its turn has come is reported by Sync once and by its events each time; what follows works.
func TestWorkThatFails(t *testing.T) {
	lib := newLibrary(1, 1<<20)
	b := &Backend{load: func() (*library, error) { return lib, nil }}
	d, err := b.Open(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := d.Alloc(driver.KindDevice, 64, 0)
	s, _ := d.NewStream(driver.StreamOptions{})
	e, _ := d.NewEvent(driver.EventOptions{})
	broken := true // read and written by the stream's goroutine while it works, by this one while it does not
	lib.before = func(api string) status {
		if api == "memWrite" && broken {
			broken = false
			return statusBroken
		}
		return statusOK
	}
	fill := driver.Region{Mem: m, Len: 64}
	if err := errors.Join(s.Fill(fill, driver.Pattern{Bits: 1, Width: 1}), s.Record(e)); err != nil {
		t.Fatalf("enqueued: %v", err)
	}
	var got *driver.Error
	if err := s.Sync(); !errors.As(err, &got) || got.Vendor.Name != "STATUS_BROKEN" || got.Vendor.API != "memWrite" {
		t.Errorf("Sync: %v", err)
	}
	for range 2 {
		if done, err := e.Query(); !done || !errors.Is(err, driver.ErrDriver) {
			t.Errorf("Query of the event: %t, %v", done, err)
		}
		if err := e.Sync(); !errors.Is(err, driver.ErrDriver) {
			t.Errorf("Sync of the event: %v", err)
		}
	}
	if err := errors.Join(s.Fill(fill, driver.Pattern{Bits: 2, Width: 1}), s.Record(e), s.Sync(), e.Sync()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if err := errors.Join(m.Free(), s.Close(), e.Close(), d.Close()); err != nil {
		t.Error(err)
	}
}

func TestMissingLibrary(t *testing.T) {
	b := &Backend{load: func() (*library, error) { return nil, errors.New("libtemplate.so.1: no such file") }}
	_, listing := b.Devices(context.Background())
	_, opening := b.Open(context.Background(), 0)
	for _, err := range []error{listing, opening} {
		if !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), "libtemplate.so.1") {
			t.Errorf("%v: want unavailable, with what was tried", err)
		}
	}
}

func ExampleNew() {
	// The backend is used through package hal, like any other.
	dev, err := hal.Open(context.Background(), name+":0")
	if err != nil {
		panic(err)
	}
	m, err := dev.Alloc(hal.KindDevice, 4, 0)
	if err != nil {
		panic(err)
	}
	if err := dev.Write(context.Background(), m.All(), []byte("deck")); err != nil {
		panic(err)
	}
	b := make([]byte, 4)
	if err := dev.Read(context.Background(), b, m.All()); err != nil {
		panic(err)
	}
	fmt.Println(string(b))
	if err := errors.Join(m.Close(), dev.Close()); err != nil {
		panic(err)
	}
	// Output: deck
}
