package hal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

func openNamed(tb testing.TB, name string, discrete, ordinal int) *hal.Device {
	tb.Helper()
	return fixture.Device(tb, host.New(host.Options{Name: name, Discrete: discrete}), ordinal)
}

func TestOpenReportsWhatIsWrongWithTheName(t *testing.T) {
	for name, kind := range map[string]error{
		"":         hal.ErrInvalidArgument,
		"metal":    hal.ErrInvalidArgument,
		"host:x":   hal.ErrInvalidArgument,
		"host:-1":  hal.ErrInvalidArgument,
		"host:0:1": hal.ErrInvalidArgument,
		"host:99":  hal.ErrOutOfRange,
		"host:gpu": hal.ErrOutOfRange,
		"host:tpu": hal.ErrInvalidArgument,

		"host:cpu:9":   hal.ErrOutOfRange,
		"host:cpu:0:0": hal.ErrInvalidArgument,
		"host:cpu:":    hal.ErrInvalidArgument,
	} {
		_, err := hal.Open(ctx, name)
		require.ErrorIs(t, err, kind, "%q", name)
		var e *hal.Error
		require.ErrorAs(t, err, &e)
	}
	_, err := hal.Open(ctx, "metal:0")
	require.ErrorContains(t, err, "known backends are cuda, hip, host, opencl, vulkan")
}

func TestDevicesFollowTheSelection(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	names := func() (out []string) {
		infos, err := hal.Devices(ctx)
		require.NoError(t, err)
		for _, i := range infos {
			out = append(out, i.Name())
		}
		return out
	}
	t.Setenv(hal.EnvDevices, "")
	assert.Subset(t, names(), []string{"host:0", "host:1", "host:2"})
	t.Setenv(hal.EnvDevices, "host:2, host:0,host:2")
	assert.Equal(t, []string{"host:2", "host:0"}, names())
	t.Setenv(hal.EnvDevices, "host")
	assert.Equal(t, []string{"host:0", "host:1", "host:2"}, names())
	t.Setenv(hal.EnvDevices, "host:cpu:1,host:cpu")
	assert.Equal(t, []string{"host:1", "host:0", "host:2"}, names())
	for bad, kind := range map[string]error{"host:3": hal.ErrOutOfRange, "host:gpu": hal.ErrOutOfRange, "nope": hal.ErrInvalidArgument, "host:0,,": hal.ErrInvalidArgument} {
		t.Setenv(hal.EnvDevices, bad)
		_, err := hal.Devices(ctx)
		require.ErrorIs(t, err, kind, bad)
		require.ErrorContains(t, err, hal.EnvDevices)
		_, err = hal.OpenAll(ctx)
		require.ErrorIs(t, err, kind, bad)
	}
}

func TestErrorsNameTheCall(t *testing.T) {
	late, cancel := context.WithCancel(ctx)
	cancel()
	for name, call := range map[string]func() error{
		"default":  func() error { _, err := hal.Default(late); return err },
		"open all": func() error { _, err := hal.OpenAll(late); return err },
		"devices":  func() error { _, err := hal.Devices(late); return err },
	} {
		var e *hal.Error
		require.ErrorAs(t, call(), &e)
		require.Equal(t, name, e.Op)
	}
}

func TestNoDeviceHasTheReasonOfEachBackend(t *testing.T) {
	_, err := hal.DevicesOf([]hal.Report{
		{Backend: "a", Err: &hal.Error{Backend: "a", Device: -1, Kind: hal.ErrUnavailable, Detail: "no liba.so"}},
		{Backend: "b", Built: true},
		{Backend: "c", Err: &hal.Error{Backend: "c", Device: -1, Kind: hal.ErrNotBuilt, Detail: "build with -tags c"}},
	})
	require.ErrorIs(t, err, hal.ErrUnavailable)
	for _, want := range []string{"a: backend unavailable: no liba.so", "b: the driver works, but finds no device", "build with -tags c"} {
		require.ErrorContains(t, err, want)
	}
}

func TestHardwareIsListedOnce(t *testing.T) {
	device := func(backend string, ordinal int, id byte, bus uint32) hal.Info {
		i := hal.Info{Backend: backend, Ordinal: ordinal, Class: hal.ClassGPU, UUID: hal.UUID{id}}
		if bus > 0 {
			i.PCI = fmt.Sprintf("0000:%02x:00.0", bus)
		}
		return i
	}
	simulated := device("vulkan", 4, 1, 1)
	simulated.Simulated = true
	infos, err := hal.DevicesOf([]hal.Report{
		{Backend: "acme", Devices: []hal.Info{device("acme", 0, 1, 1), device("acme", 1, 9, 0)}},
		{Backend: "cuda", Devices: []hal.Info{device("cuda", 0, 1, 1), device("cuda", 1, 2, 2), device("cuda", 2, 2, 2)}}, // parts of one card
		{Backend: "opencl", Devices: []hal.Info{device("opencl", 0, 7, 2), device("opencl", 1, 9, 3), device("opencl", 2, 5, 5)}},
		{Backend: "vulkan", Devices: []hal.Info{device("vulkan", 0, 0, 0), device("vulkan", 1, 1, 0), device("vulkan", 2, 5, 0), device("vulkan", 3, 6, 6), simulated}},
	})
	require.NoError(t, err)
	var names []string
	for _, i := range infos {
		names = append(names, i.Name())
	}
	assert.Equal(t, []string{"acme:1", "cuda:0", "cuda:1", "cuda:2", "opencl:2", "vulkan:0", "vulkan:3", "vulkan:4"}, names)
}

func TestDefaultTakesTheBestDevice(t *testing.T) {
	gpu := func(backend string) hal.Info { return hal.Info{Backend: backend, Class: hal.ClassGPU} }
	cpu := func(backend string) hal.Info { return hal.Info{Backend: backend, Class: hal.ClassCPU} }
	few := func(i hal.Info) hal.Info { i.Compute.NoInt64 = true; return i }
	for _, c := range []struct {
		devices []hal.Info
		want    int
	}{
		{[]hal.Info{cpu("host")}, 0},
		{[]hal.Info{gpu("cuda"), cpu("host"), gpu("vulkan")}, 0},
		{[]hal.Info{cpu("host"), cpu("opencl"), gpu("opencl"), gpu("vulkan")}, 2},
		{[]hal.Info{cpu("host"), cpu("opencl"), cpu("vulkan")}, 1},
		{[]hal.Info{cpu("host"), cpu("opencl"), gpu("vulkan")}, 2},
		{[]hal.Info{cpu("host"), cpu("vulkan")}, 1},
		{[]hal.Info{cpu("host"), few(cpu("vulkan")), few(gpu("vulkan"))}, 0},
		{[]hal.Info{cpu("host"), cpu("opencl"), few(gpu("vulkan"))}, 1},
		{[]hal.Info{few(gpu("vulkan"))}, 0},
	} {
		assert.Equal(t, c.want, hal.Best(c.devices), "%v", c.devices)
	}
}

func TestCancelledContextOpensNothing(t *testing.T) {
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err := hal.Open(gone, "host:0")
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, hal.ErrNotReady)
	_, err = hal.Devices(gone)
	require.ErrorIs(t, err, context.Canceled)
}

// stuck is a backend whose driver never answers until it is let go. If it watches the context, it says what it waits for.
type stuck struct {
	let     chan struct{}
	watches bool
	called  func()
}

func (s stuck) Name() string { return "stuck" }
func (s stuck) Devices(context.Context) ([]driver.Info, error) {
	return nil, errors.New("listed to open")
}
func (s stuck) Open(ctx context.Context, _ int) (driver.Device, error) {
	s.called()
	if s.watches {
		<-ctx.Done()
		return nil, &driver.Error{Kind: driver.ErrNotReady, Detail: "platform 3 is slow", Err: context.Cause(ctx)}
	}
	<-s.let
	return nil, errors.New("let go")
}

func TestBackendThatHangsCostsADeadline(t *testing.T) {
	for watches, want := range map[bool]string{false: "no answer before the deadline", true: "platform 3 is slow"} {
		short, cancel := context.WithCancelCause(ctx)
		b := &stuck{make(chan struct{}), watches, func() { cancel(context.DeadlineExceeded) }}
		defer close(b.let)
		_, err := hal.OpenWith(short, b, 0)
		require.ErrorIs(t, err, hal.ErrNotReady)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, want)
	}
}

func TestCloseNamesChildren(t *testing.T) {
	d, err := hal.OpenWith(ctx, host.New(host.Options{}), 0)
	require.NoError(t, err)
	m, err := d.Alloc(hal.KindHost, 4096, 0)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	g, err := s.Gate()
	require.NoError(t, err)
	kept, err := layer.RecordShared(s)
	require.NoError(t, err)
	err = d.Close()
	require.ErrorIs(t, err, hal.ErrBusy)
	for _, want := range []string{"host memory of 4096 bytes", "stream", "gate"} {
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, g.Signal())
	require.NoError(t, g.Signal(), "opening twice")
	require.NoError(t, s.Close())
	require.NoError(t, m.Close())
	require.NoError(t, d.Close())
	require.NoError(t, d.Close())
	_, err = d.Alloc(hal.KindHost, 1, 0)
	require.ErrorIs(t, err, hal.ErrClosed)
	done, err := kept.Done()
	require.NoError(t, err, "a shared event keeps no device open")
	require.True(t, done)
	require.NoError(t, kept.Close())
}

func TestMemoryClosedInFlightIsFreedAfterItsLastUse(t *testing.T) {
	d := openHost(t, 1, 1)
	s := newStream(t, d)
	m, err := d.Alloc(hal.KindDevice, 1<<20, 0)
	require.NoError(t, err)
	g, err := s.Gate()
	require.NoError(t, err)
	require.NoError(t, s.Fill(m.All(), hal.Pattern8(7)))
	out := make([]byte, 16)
	require.NoError(t, s.CopyOut(out, m.Region(1<<20-16, 16)))
	require.NoError(t, m.Close())
	require.NoError(t, m.Close())
	require.ErrorIs(t, s.Fill(m.All(), hal.Zero), hal.ErrClosed)
	require.Equal(t, uint64(1<<20), d.Usage().Held)
	require.Equal(t, 1, d.Usage().Pending)
	require.NoError(t, g.Signal())
	require.NoError(t, s.Sync(ctx))
	require.Equal(t, bytes.Repeat([]byte{7}, 16), out)
	require.Eventually(t, func() bool { return d.Usage() == hal.Usage{Peak: 1 << 20, Allocations: 1} }, 5*time.Second, time.Millisecond)
}

func TestWaitAcrossBackendsIsBridgedByAGate(t *testing.T) {
	a, b := openNamed(t, "one", 1, 1), openNamed(t, "two", 1, 1)
	require.False(t, a.CanAccessPeer(b))
	sa, sb := newStream(t, a), newStream(t, b)
	m := newMemory(t, b, 64)
	first, err := sa.Gate()
	require.NoError(t, err)
	e, err := sa.Record()
	require.NoError(t, err)
	require.NoError(t, sb.WaitEvent(e))
	require.NoError(t, e.Close())
	require.NoError(t, sb.Fill(m.All(), hal.Pattern8(1)))
	// Another event must not change what sb waits for.
	second, err := sa.Gate()
	require.NoError(t, err)
	e, err = sa.Record()
	require.NoError(t, err)
	defer e.Close()
	done, err := sb.Done()
	require.NoError(t, err)
	require.False(t, done, "the stream went ahead of the event")
	require.NoError(t, first.Signal())
	require.NoError(t, sb.Sync(ctx))
	done, err = e.Done()
	require.NoError(t, err)
	require.False(t, done, "the second record is still behind its gate")
	require.NoError(t, second.Signal())
	require.NoError(t, e.Sync(ctx))
}

func TestCopyAcrossBackendsInPieces(t *testing.T) {
	for _, n := range []uint64{1, 4 << 20, 11<<20 + 3} {
		a, b := openNamed(t, "one", 1, 1), openNamed(t, "two", 1, 1)
		sa, sb := newStream(t, a), newStream(t, b)
		ma, mb := newMemory(t, a, n), newMemory(t, b, n)
		want := make([]byte, n)
		for i := range want {
			want[i] = byte(i * 7 >> 3)
		}
		g, err := sa.Gate()
		require.NoError(t, err)
		require.NoError(t, sa.CopyIn(ma.All(), want))
		require.NoError(t, hal.CopyPeer(sb, mb.All(), sa, ma.All()))
		got := make([]byte, n)
		require.NoError(t, sb.CopyOut(got, mb.All()))
		require.NoError(t, g.Signal())
		require.NoError(t, sb.Sync(ctx))
		require.True(t, bytes.Equal(want, got))
		require.ErrorIs(t, sb.Copy(mb.All(), ma.All()), hal.ErrWrongDevice)
		require.ErrorIs(t, hal.CopyPeer(sb, mb.All(), sa, ma.Region(0, n-1)), hal.ErrInvalidArgument)
		require.ErrorIs(t, hal.CopyPeer(sb, mb.Region(1, n), sa, ma.All()), hal.ErrOutOfRange)
		require.ErrorIs(t, hal.CopyPeer(sa, mb.All(), sb, ma.All()), hal.ErrWrongDevice)
	}
}

func TestRegionsAreCheckedInOrder(t *testing.T) {
	d := openHost(t, 2, 1)
	s := newStream(t, d)
	m, closed := newMemory(t, d, 64), newMemory(t, d, 64)
	require.NoError(t, closed.Close())
	far := newMemory(t, openNamed(t, "far", 1, 1), 64)
	for name, c := range map[string]struct {
		err  error
		kind error
	}{
		"closed before device":     {s.Copy(closed.Region(0, 99), far.All()), hal.ErrClosed},
		"device before range":      {s.Copy(m.Region(0, 99), far.Region(0, 99)), hal.ErrWrongDevice},
		"alignment before range":   {s.Fill(m.Region(2, 128), hal.Pattern32(1)), hal.ErrMisaligned},
		"range before overlap":     {s.Copy(m.Region(0, 65), m.Region(1, 65)), hal.ErrOutOfRange},
		"overlap":                  {s.Copy(m.Region(0, 8), m.Region(7, 8)), hal.ErrOverlap},
		"overflow":                 {s.Fill(m.Region(8, math.MaxUint64-4), hal.Zero), hal.ErrOutOfRange},
		"empty past the end":       {s.Fill(m.Region(65, 0), hal.Zero), hal.ErrOutOfRange},
		"empty at the end":         {s.Fill(m.Region(64, 0), hal.Zero), nil},
		"empty on closed":          {s.Fill(closed.Region(0, 0), hal.Zero), hal.ErrClosed},
		"different lengths":        {s.Copy(m.Region(0, 8), m.Region(16, 9)), hal.ErrInvalidArgument},
		"nil memory":               {s.Fill(hal.Region{Len: 1}, hal.Zero), hal.ErrInvalidArgument},
		"pattern width":            {s.Fill(m.All(), hal.Pattern{Width: 3}), hal.ErrInvalidArgument},
		"nil slice for some bytes": {s.CopyIn(m.Region(0, 4), nil), hal.ErrInvalidArgument},
		"nil slice for none":       {s.CopyIn(m.Region(0, 0), nil), nil},
		"nil event":                {s.WaitEvent(nil), hal.ErrInvalidArgument},
	} {
		if c.kind == nil {
			require.NoError(t, c.err, name)
		} else {
			require.ErrorIs(t, c.err, c.kind, name)
		}
	}
}

func TestLeaksAreReportedAndGivenBack(t *testing.T) {
	leaks := make(chan hal.Leak, 16)
	previous := hal.SetLeakHandler(func(l hal.Leak) { leaks <- l })
	defer func() { hal.SetLeakHandler(previous) }()
	d := openHost(t, 1, 1)
	func() {
		m, err := d.Alloc(hal.KindDevice, 12345, 0)
		require.NoError(t, err)
		s, err := d.NewStream()
		require.NoError(t, err)
		require.NoError(t, s.Fill(m.All(), hal.Zero))
		_, err = s.Record()
		require.NoError(t, err)
	}()
	seen := map[string]bool{}
	deadline := time.Now().Add(10 * time.Second)
	for len(seen) < 3 && time.Now().Before(deadline) {
		runtime.GC()
		select {
		case l := <-leaks:
			require.Equal(t, d.Name(), l.Device)
			seen[l.Object] = true
		case <-time.After(time.Millisecond):
		}
	}
	require.Equal(t, map[string]bool{"device memory of 12345 bytes": true, "stream": true, "event": true}, seen)
	require.Eventually(t, func() bool { return d.Usage().Held == 0 }, 5*time.Second, time.Millisecond)
}

func TestSharedEvents(t *testing.T) {
	d := openHost(t, 1, 1)
	s, other := newStream(t, d), newStream(t, d)
	g, err := s.Gate()
	require.NoError(t, err)
	m, err := layer.RecordShared(s)
	require.NoError(t, err)
	require.True(t, layer.RecordedOn(m, s))
	done, err := m.Done()
	require.NoError(t, err)
	require.False(t, done)
	require.NoError(t, other.WaitEvent(m))
	done, err = other.Done()
	require.NoError(t, err)
	require.False(t, done)
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	require.ErrorIs(t, m.Sync(short), context.DeadlineExceeded)
	require.NoError(t, g.Signal())
	require.NoError(t, m.Sync(ctx))
	require.NoError(t, m.Close())
	require.NoError(t, other.Sync(ctx))
}

func TestErrorTextHasEverythingKnown(t *testing.T) {
	err := &hal.Error{Op: "alloc", Backend: "cuda", Device: 1, Kind: hal.ErrOutOfMemory, Detail: "d",
		Vendor:   driver.Vendor{API: "cuMemAlloc_v2", Name: "CUDA_ERROR_OUT_OF_MEMORY", Code: 2},
		Shortage: &driver.Shortage{Request: 10, Kind: hal.KindDevice, Held: 5, Free: 3, Total: 8, FreeKnown: true},
		Err:      errors.New("cause")}
	require.Equal(t, "cuda:1: alloc: out of memory: d (asked for 10 bytes of device memory, holding 5, 3 of 8 free) "+
		"[cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2)]: cause", err.Error())
	for _, kind := range driver.Kinds() {
		require.Equal(t, kind == hal.ErrOutOfMemory, errors.Is(err, kind), "%v", kind)
	}
}
