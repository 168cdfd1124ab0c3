package host_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"unsafe"

	"go.uber.org/goleak"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantKind fails unless err is of the kind and names op.
func wantKind(t testing.TB, err, kind error) *driver.Error {
	t.Helper()
	var e *driver.Error
	if !errors.Is(err, kind) || !errors.As(err, &e) {
		t.Fatalf("got %v, want an error of kind %v", err, kind)
	}
	if e.Op == "" || e.Backend == "" {
		t.Fatalf("%+v names no operation or no backend", e)
	}
	return e
}

func want[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// open opens a device of a backend of its own.
func open(t testing.TB, opts host.Options, ordinal int) driver.Device {
	t.Helper()
	d, err := host.New(opts).Open(context.Background(), ordinal)
	check(t, err)
	t.Cleanup(func() { check(t, d.Close()) })
	return d
}

func alloc(t testing.TB, d driver.Device, kind driver.Kind, size uint64) driver.Memory {
	t.Helper()
	m, err := d.Alloc(kind, size, 0)
	check(t, err)
	t.Cleanup(func() { check(t, m.Free()) })
	return m
}

func newStream(t testing.TB, d driver.Device) driver.Stream {
	t.Helper()
	s, err := d.NewStream(driver.StreamOptions{})
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	return s
}

func newEvent(t testing.TB, d driver.Device, timing bool) driver.Event {
	t.Helper()
	e, err := d.NewEvent(driver.EventOptions{Timing: timing})
	check(t, err)
	t.Cleanup(func() { check(t, e.Close()) })
	return e
}

// shut holds s up and returns what lets it go.
func shut(t testing.TB, s driver.Stream) (openGate func()) {
	t.Helper()
	g, err := s.(driver.Gater).Gate()
	check(t, err)
	return func() {
		if err := g.Open(); err != nil {
			t.Error(err)
		}
	}
}

func streamDone(t testing.TB, s driver.Stream) bool {
	t.Helper()
	done, err := s.Query()
	check(t, err)
	return done
}

func eventDone(t testing.TB, e driver.Event) bool {
	t.Helper()
	done, err := e.Query()
	check(t, err)
	return done
}

func all(m driver.Memory) driver.Region { return driver.Region{Mem: m, Len: m.Size()} }

func at(m driver.Memory, off, n uint64) driver.Region { return driver.Region{Mem: m, Off: off, Len: n} }

func pointer(b []byte) unsafe.Pointer { return unsafe.Pointer(&b[0]) }

// contents copies memory out on a stream of its own.
func contents(t testing.TB, d driver.Device, m driver.Memory) []byte {
	t.Helper()
	s := newStream(t, d)
	b := make([]byte, m.Size())
	check(t, s.CopyOut(pointer(b), all(m)))
	check(t, s.Sync())
	return b
}

// put sets memory to bytes that start with first and count up.
func put(t testing.TB, d driver.Device, m driver.Memory, first byte) []byte {
	t.Helper()
	s := newStream(t, d)
	b := counting(m.Size(), first)
	check(t, s.CopyIn(all(m), pointer(b)))
	check(t, s.Sync())
	return b
}

// counting returns n bytes with a period of 251, so that a shift by a power of two shows.
func counting(n uint64, first byte) []byte {
	b := make([]byte, n)
	laid := min(len(b), 251)
	for i := range laid {
		b[i] = first + byte(i)
	}
	for laid < len(b) {
		laid += copy(b[laid:], b[:laid])
	}
	return b
}

func wantBytes(t testing.TB, what string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("%s: byte %d of %d is %#x, want %#x", what, i, len(want), got[i], want[i])
		}
	}
	t.Fatalf("%s: %d bytes, want %d", what, len(got), len(want))
}
