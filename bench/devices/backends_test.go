package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func init() {
	// One backend writes another pattern than it was asked for, one loses what is copied to the device.
	broken, lossy := altered(host.Options{Name: "broken"}), altered(host.Options{Name: "lossy", Discrete: 1})
	broken.Fill = func(s *hooked.Stream, dst driver.Region, p driver.Pattern) error {
		p.Bits++
		return s.Stream.Fill(dst, p)
	}
	lossy.CopyIn = func(s *hooked.Stream, dst driver.Region, _ unsafe.Pointer) error {
		return s.Stream.Fill(dst, driver.Pattern{Width: 1})
	}
	lossy.Copy = func(s *hooked.Stream, dst, src driver.Region, _ bool) error { // large copies go by way of page-locked memory
		if src.Mem.HostPointer() == nil {
			return s.Stream.Copy(dst, src)
		}
		return s.Stream.Fill(dst, driver.Pattern{Width: 1})
	}
	driver.Register(broken)
	driver.Register(lossy)
	driver.Register(shy{})
	odd := &driver.Error{Op: "devices", Backend: "odd", Device: -1, Kind: driver.ErrUnavailable,
		Detail: "tried libodd.so.2: not found; libodd.so.1: not found"}
	driver.Register(failing{name: "odd", err: odd})
}

// altered is a backend whose devices have little that is optional.
func altered(o host.Options) *hooked.Backend {
	return &hooked.Backend{
		Backend: host.New(o),
		Info: func(i driver.Info) driver.Info {
			i.Caps &= driver.CapAsyncCopy | driver.CapShared | driver.CapAddress | driver.CapConcurrentShared | driver.CapMemInfo
			i.Simulated = true
			return i
		},
		PeerAccess:  func(*hooked.Device, *hooked.Device) driver.PeerAccess { return 0 },
		Opened:      func(*hooked.Device) { alteredOpen.Add(1); whenOpened() },
		CloseDevice: func(d *hooked.Device) error { alteredOpen.Add(-1); return d.Device.Close() },
	}
}

// alteredOpen counts the open handles on altered devices.
var alteredOpen atomic.Int64

// whenOpened is called for each of them.
var whenOpened = func() {}

// shy is a backend whose one device is listed and does not open.
type shy struct{}

func (shy) Name() string { return "shy" }
func (shy) Devices(context.Context) ([]driver.Info, error) {
	return []driver.Info{{Backend: "shy", Model: "a shy device"}}, nil
}
func (shy) Open(context.Context, int) (driver.Device, error) {
	return nil, &driver.Error{Op: "open", Backend: "shy", Kind: driver.ErrUnsupported, Detail: "not in this light"}
}

// failing is a backend that lists no devices.
type failing struct {
	name string
	err  error
}

func (f failing) Name() string                                     { return f.name }
func (f failing) Devices(context.Context) ([]driver.Info, error)   { return nil, f.err }
func (f failing) Open(context.Context, int) (driver.Device, error) { return nil, f.err }

// program runs the program and returns what it printed and its exit status.
func program(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	return programIn(t, t.Context(), args...)
}

func programIn(t *testing.T, ctx context.Context, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, err bytes.Buffer
	status = run(ctx, args, &out, &err)
	return out.String(), err.String(), status
}

// lastLine is the last line that is not empty.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

func decode[T any](t *testing.T, s string) T {
	t.Helper()
	var v T
	d := json.NewDecoder(strings.NewReader(s))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&v), "%s", s)
	assert.False(t, d.More(), "something follows the JSON")
	return v
}
