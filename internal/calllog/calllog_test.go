package calllog_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/calllog"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// logged is a backend whose devices have the layer.
type logged struct {
	driver.Backend
	log *calllog.Log
}

func (b *logged) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	return b.log.Open(ctx, b.Backend, ordinal)
}

// With the layer a backend keeps all rules that it keeps without.
func TestTheSuitePassesThroughTheLayer(t *testing.T) {
	b := &logged{host.New(host.Options{Discrete: 2, MemoryLimit: 128 << 20}), calllog.New(io.Discard)}
	open := func(ordinal int) func(context.Context) (*hal.Device, error) {
		return func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, b, ordinal) }
	}
	conformance.Run(t, conformance.Harness{Open: open(1), Peer: open(2), Backend: b, Short: true})
}

// Each line says what was called, on what, with how many bytes, and how it ended.
func TestLinesSayWhatWasCalled(t *testing.T) {
	var out bytes.Buffer
	b := &hooked.Backend{Backend: host.New(host.Options{Discrete: 1})}
	b.Fill = func(*hooked.Stream, driver.Region, driver.Pattern) error {
		return errors.New("no\nfill " + strings.Repeat("x", 10_000))
	}
	d, err := calllog.New(&out).Open(t.Context(), b, 1)
	require.NoError(t, err)
	m, err := d.Alloc(driver.KindDevice, 4096, 0)
	require.NoError(t, err)
	s, err := d.NewStream(driver.StreamOptions{})
	require.NoError(t, err)
	e, err := d.NewEvent(driver.EventOptions{})
	require.NoError(t, err)
	var from [64]byte
	to := driver.Region{Mem: m, Off: 8, Len: 64}
	require.NoError(t, s.CopyIn(to, unsafe.Pointer(&from)))
	require.Error(t, s.Fill(to, driver.Pattern{Width: 1}))
	require.NoError(t, s.Record(e))
	require.NoError(t, s.Wait(e))
	require.NoError(t, e.Sync())
	require.NoError(t, s.Sync())
	for _, closing := range []func() error{e.Close, s.Close, m.Free, d.Close} {
		require.NoError(t, closing())
	}
	want := []string{
		"Open: ok", "Alloc device 4096 bytes: ok", "NewStream: ok", "NewEvent: ok",
		"stream 1: CopyIn 64 bytes: ok", "stream 1: Fill 64 bytes: no fill x+", "stream 1: Record event 1: ok", "stream 1: Wait event 1: ok",
		"event 1: Sync: ok", "stream 1: Sync: ok", "event 1: Close: ok", "stream 1: Close: ok", "Free 4096 bytes: ok", "Close: ok",
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Len(t, lines, len(want), out.String())
	for i, w := range want {
		assert.Regexp(t, regexp.MustCompile(`^halyard: host:1:? `+w+`, [0-9.]+(ns|µs|ms|s)$`), lines[i])
		assert.Less(t, len(lines[i]), 500)
	}
}

// Advice is logged with the place that it names, and reaches the backend with the devices and memory below the layer.
func TestLinesSayWhatWasAdvised(t *testing.T) {
	var out bytes.Buffer
	var places []int
	b := &hooked.Backend{Backend: host.New(host.Options{Discrete: 2})}
	b.Advise = func(_ *hooked.Device, r driver.Region, _ driver.Advice, at *hooked.Device) error {
		if at != nil {
			places = append(places, at.Ordinal)
		}
		return nil
	}
	log := calllog.New(&out)
	one, err := log.Open(t.Context(), b, 1)
	require.NoError(t, err)
	two, err := log.Open(t.Context(), b, 2)
	require.NoError(t, err)
	m, err := one.Alloc(driver.KindShared, 4096, 0)
	require.NoError(t, err)
	out.Reset()
	r := driver.Region{Mem: m, Off: 8, Len: 64}
	for _, err := range []error{
		one.(driver.Adviser).Advise(r, driver.AdviceReadMostly, nil),
		one.(driver.Adviser).Advise(r, driver.AdvicePreferredAt, nil),
		one.(driver.Adviser).Advise(r, driver.AdviceNotAccessedBy, two),
	} {
		require.NoError(t, err)
	}
	require.Equal(t, []int{2}, places)
	assert.Regexp(t, `^halyard: host:1: Advise read-mostly 64 bytes: ok, \S+
halyard: host:1: Advise preferred at host 64 bytes: ok, \S+
halyard: host:1: Advise not accessed by host:2 64 bytes: ok, \S+
$`, out.String())
	require.NoError(t, m.Free())
	require.NoError(t, one.Close())
	require.NoError(t, two.Close())
}

// A call that the backend does not have is refused, and not logged as if it had been made.
func TestWhatIsMissingIsUnsupported(t *testing.T) {
	var out bytes.Buffer
	d, err := calllog.New(&out).Open(t.Context(), host.New(host.Options{}), 0)
	require.NoError(t, err)
	defer d.Close()
	before := out.Len()
	_, err = d.(driver.IPCSharer).OpenIPC(driver.IPCShare{})
	require.ErrorIs(t, err, driver.ErrUnsupported)
	require.Equal(t, before, out.Len())
}

// The layer has every optional interface, so that none is hidden from package hal.
func TestEveryOptionalInterfaceIsThere(t *testing.T) {
	d, err := calllog.New(io.Discard).Open(t.Context(), host.New(host.Options{}), 0)
	require.NoError(t, err)
	defer d.Close()
	s, err := d.NewStream(driver.StreamOptions{})
	require.NoError(t, err)
	defer s.Close()
	_ = d.(interface {
		driver.Peering
		driver.Registerer
		driver.Importer
		driver.StreamImporter
		driver.PointerQuerier
		driver.IPCSharer
		driver.Adviser
		driver.FreeBlocker
		driver.Trimmer
		driver.Native
		driver.Loader
		driver.Compiler
	})
	_ = s.(interface {
		driver.Gater
		driver.Notifier
		driver.StreamAllocator
		driver.Copier2D
		driver.Prefetcher
		driver.Mapper
		driver.Launcher
	})
}
