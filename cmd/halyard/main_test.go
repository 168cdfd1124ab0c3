package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
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

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" && (len(os.Args) < 2 || !strings.HasPrefix(os.Args[1], "-test.")) {
		main()
	}
	_ = os.Setenv(asCommand, "1") // halyard comm starts itself
	goleak.VerifyTestMain(m)
}

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
	driver.Register(failing{name: "faulty", err: &driver.Error{Op: "devices", Backend: "faulty", Device: -1,
		Kind: driver.ErrDriver, Detail: "enumeration fell over"}})
	driver.Register(failing{name: "idle"})
	driver.Register(shy{})
	odd := &driver.Error{Op: "devices", Backend: "odd", Device: -1, Kind: driver.ErrUnavailable,
		Detail: "tried libodd.so.2: not found; libodd.so.1: not found"}
	driver.Register(failing{name: "odd", err: odd, problems: []string{"the platform Slow did not answer", odd.Error()}})
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
	name     string
	err      error
	problems []string
}

func (f failing) Name() string                                     { return f.name }
func (f failing) Devices(context.Context) ([]driver.Info, error)   { return nil, f.err }
func (f failing) Open(context.Context, int) (driver.Device, error) { return nil, f.err }
func (f failing) Problems(context.Context) []string                { return f.problems }

// halyard runs the command and returns what it printed and its exit status.
func halyard(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	return halyardIn(t, t.Context(), args...)
}

func halyardIn(t *testing.T, ctx context.Context, args ...string) (stdout, stderr string, status int) {
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

func TestWrongUsageIsOneLineAndStatus2(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"devises"}, `unknown command "devises"; did you mean devices?`},
		{[]string{"frobnicate"}, `unknown command "frobnicate"`},
		{[]string{"--frobnicate"}, "unknown flag: --frobnicate"},
		{[]string{"help", "frobnicate"}, `no help for "frobnicate"`},
		{[]string{"devices", "host:0"}, `takes no arguments, only flags: "host:0"`},
		{[]string{"devices", "--timeout", "-1s"}, "--timeout must be positive"},
		{[]string{"devices", "--timeout", "soon"}, "invalid argument"},
		{[]string{"version", "1"}, "takes no arguments"},
		{[]string{"check", "--seed", "x"}, "invalid argument"},
		{[]string{"check", "--run", "("}, "--run: error parsing regexp"},
		{[]string{"check", "--run", "^Nothing/Matches$"}, "no check matches"},
		{[]string{"check", "--timeout", "-1s"}, "--timeout must not be negative"},
		{[]string{"check", "--exclude", "Copy/HostToDevice"}, "write Group/Name=reason"},
		{[]string{"check", "--exclude", "Copy/HostToDevice="}, "write Group/Name=reason"},
		{[]string{"check", "--exclude", "No/Such=because"}, "no check has that name"},
		{[]string{"check", "--device", "metal:0"}, `--device "metal:0": no such backend; known are broken, cuda,`},
		{[]string{"check", "--device", "host:x"}, "not a device number"},
		{[]string{"check", "--device", "host:"}, "not a device number"},
		{[]string{"check", "--device", "host:-1"}, "not a device number"},
		{[]string{"check", "--backend", "host:0"}, "that is a device"},
		{[]string{"check", "--backend", "metal"}, "no such backend"},
		{[]string{"check", "--backend", "host", "--require", "metal"}, "no such backend"},
		{[]string{"check", "--file", ""}, "--file needs the path"},
		{[]string{"check", "--file", "main.go", "--list"}, "cannot be used together"},
		{[]string{"check", "--file", "main.go", "--run", "x"}, "cannot be used together"},
		{[]string{"check", "--list", "--short"}, "cannot be used together"},
		{[]string{"check", "--file", "no such file"}, "--file: "},
		{[]string{"check", "--file", "."}, "this is a directory"},
	} {
		stdout, stderr, status := halyard(t, c.args...)
		assert.Equal(t, exitUsage, status, "halyard %q: %s", c.args, stderr)
		assert.Contains(t, stderr, c.says, "halyard %q", c.args)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), "halyard %q says more than a line: %s", c.args, stderr)
		assert.Empty(t, stdout, "halyard %q", c.args)
	}
}

func TestHelpExplainsEachCommand(t *testing.T) {
	stdout, stderr, status := halyard(t)
	assert.Equal(t, exitPassed, status)
	assert.Empty(t, stderr)
	for _, name := range []string{"devices", "check", "version"} {
		assert.Contains(t, stdout, "\n  "+name)
		help, _, status := halyard(t, "help", name)
		assert.Equal(t, exitPassed, status)
		flag, _, _ := halyard(t, name, "--help")
		assert.Equal(t, flag, help)
		assert.Contains(t, help, "Usage:\n  halyard "+name)
	}
}

func TestVersionNamesTheBackends(t *testing.T) {
	stdout, stderr, status := halyard(t, "version")
	assert.Equal(t, exitPassed, status)
	assert.Empty(t, stderr)
	assert.Regexp(t, `^halyard \S+, go\S+ \w+/\w+, cgo (on|off)\nbackends: broken, (cuda, )?faulty, (hip, )?host, idle, lossy, odd, (opencl, )?shy(, vulkan)?\n$`, stdout)
}

func TestInterruptEndsTheCommand(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("signal"))
	for _, args := range [][]string{{"check", "--backend", "host"}, {"check", "--file", "main.go", "--device", "host:0"}, {"devices"}} {
		_, stderr, status := halyardIn(t, ctx, args...)
		assert.Equal(t, exitFailed, status, "halyard %q", args)
		assert.Equal(t, "halyard: interrupted\n", stderr, "halyard %q", args)
	}
}

func TestInterruptedCheckSaysThatItIsNotComplete(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	left := 5
	whenOpened = func() {
		if left--; left == 0 {
			cancel()
		}
	}
	defer func() { whenOpened = func() {} }()
	stdout, stderr, status := halyardIn(t, ctx, "check", "--device", "lossy:0", "--short", "--run", "^Fill/")
	assert.Equal(t, exitFailed, status)
	assert.Equal(t, "halyard: interrupted\n", stderr)
	assert.Contains(t, stdout, "the run was interrupted")
	passed, failed, skipped := sums(t, stdout)
	assert.Less(t, passed+failed+skipped, len(namesIn("Fill")))
}
