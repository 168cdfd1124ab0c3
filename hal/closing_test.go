package hal_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

var errClose = errors.New("the driver did not close")

// closings is a backend whose devices fail to close, and import streams.
type closings struct {
	hooked.Backend
	inside, leave chan struct{} // of calls of MemInfo, nil for none
}

func newClosings(inside, leave chan struct{}) *closings {
	b := &closings{Backend: hooked.Backend{Backend: host.New(host.Options{})}, inside: inside, leave: leave}
	b.Info = func(i driver.Info) driver.Info { i.Caps |= hal.CapMemInfo | hal.CapImportStream; return i }
	b.MemInfo = func(*hooked.Device) (free, total uint64, err error) {
		if b.inside != nil {
			b.inside <- struct{}{}
			<-b.leave
		}
		return 1, 1, nil
	}
	b.ImportStream = func(d *hooked.Device, _ uintptr) (*hooked.Stream, error) {
		return d.PlainNewStream(driver.StreamOptions{})
	}
	b.CloseDevice = func(d *hooked.Device) error { return errors.Join(d.Device.Close(), errClose) }
	return b
}

// Close tells how the driver closed the device, be calls under way or not.
func TestCloseBehindACallTellsTheDriversError(t *testing.T) {
	b := newClosings(make(chan struct{}), make(chan struct{}))
	d, err := hal.OpenWith(context.Background(), b, 0)
	require.NoError(t, err)
	called := make(chan error)
	go func() { _, _, err := d.MemInfo(); called <- err }()
	<-b.inside
	closed := make(chan error)
	go func() { closed <- d.Close() }()
	require.Eventually(t, func() bool { _, err := d.CopyStream(true); return errors.Is(err, hal.ErrClosed) }, 10*time.Second, time.Millisecond)
	close(b.leave)
	require.NoError(t, <-called)
	require.ErrorIs(t, <-closed, errClose)
}

// The first Close waits for a function of the program. That may close the device too: it is told nil, and does not wait.
func TestSecondCloseDoesNotWaitForTheFirst(t *testing.T) {
	d, elsewhere := openNamed(t, "here", 0, 0), openNamed(t, "elsewhere", 0, 0)
	s, other := openStream(t, d), openStream(t, elsewhere)
	g, err := other.Gate()
	require.NoError(t, err)
	m, err := d.Alloc(hal.KindDevice, 8, 0)
	require.NoError(t, err)
	require.ErrorIs(t, d.Close(), hal.ErrBusy)
	require.ErrorIs(t, d.Close(), hal.ErrBusy, "a Close that failed does not count as the first")
	require.NoError(t, s.WaitStream(other))
	require.NoError(t, s.Fill(m.All(), hal.Zero))
	closing := make(chan struct{})
	second := make(chan error, 1)
	require.NoError(t, layer.CloseThen(m, func() {
		<-closing
		second <- d.Close()
	}))
	require.NoError(t, s.Close())
	first := make(chan error)
	go func() { first <- d.Close() }()
	require.Eventually(t, func() bool { _, err := d.CopyStream(true); return errors.Is(err, hal.ErrClosed) }, 10*time.Second, time.Millisecond)
	require.NoError(t, g.Signal())
	require.Empty(t, first, "the function that it waits for has not ended")
	close(closing)
	require.NoError(t, <-second)
	require.NoError(t, <-first)
	require.NoError(t, d.Close())
	require.NoError(t, other.Close())
	require.NoError(t, elsewhere.Close())
}

// A closed stream that waits for work of another backend is pending.
func TestReclaimWaitsForStreamsBehindGates(t *testing.T) {
	ctx := context.Background()
	d, elsewhere := openNamed(t, "here", 0, 0), openNamed(t, "elsewhere", 0, 0)
	s, other := openStream(t, d), openStream(t, elsewhere)
	g, err := other.Gate()
	require.NoError(t, err)
	defer func() { _ = g.Signal() }()
	require.NoError(t, s.WaitStream(other))
	require.NoError(t, s.Close())
	require.Equal(t, 1, d.Usage().Pending)
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, d.Reclaim(short), hal.ErrNotReady)
	require.NoError(t, g.Signal())
	require.NoError(t, d.Reclaim(ctx))
	require.Zero(t, d.Usage().Pending)
	require.NoError(t, other.Close())
	require.NoError(t, elsewhere.Close())
	require.NoError(t, d.Close())
}

// Reclaim trims the driver's caches when what was closed has come to them.
func TestReclaimTrimsLast(t *testing.T) {
	var mu sync.Mutex
	var calls []string
	note := func(what string) { mu.Lock(); calls = append(calls, what); mu.Unlock() }
	b := &hooked.Backend{Backend: host.New(host.Options{Name: "trimmed", Discrete: 1}),
		Free: func(m *hooked.Memory) error { note("free"); return m.Memory.Free() },
		Trim: func(*hooked.Device) { note("trim") }}
	d, err := hal.OpenWith(t.Context(), b, 0)
	require.NoError(t, err)
	s := openStream(t, d)
	m, err := d.Alloc(hal.KindDevice, 64, 0)
	require.NoError(t, err)
	g, err := s.Gate()
	require.NoError(t, err)
	require.NoError(t, s.Fill(m.All(), hal.Zero))
	require.NoError(t, m.Close())
	time.AfterFunc(10*time.Millisecond, func() { _ = g.Signal() })
	require.NoError(t, d.Reclaim(t.Context()))
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"free", "trim"}, calls)
	require.NoError(t, hal.CloseAll(d, s))
}

// A call that is given up while another closes the device leaves the waiting to that.
func TestCallsThatAreGivenUpDoNotWaitForTheDeviceToClose(t *testing.T) {
	d, elsewhere := openNamed(t, "here", 0, 0), openNamed(t, "elsewhere", 0, 0)
	s, other := openStream(t, d), openStream(t, elsewhere)
	g, err := other.Gate()
	require.NoError(t, err)
	m, err := layer.RecordShared(other)
	require.NoError(t, err)
	require.NoError(t, s.WaitEvent(m))
	m.Close()
	mem, err := d.Alloc(hal.KindDevice, 8, 0)
	require.NoError(t, err)
	require.NoError(t, s.Fill(mem.All(), hal.Zero))
	require.NoError(t, mem.Close())
	require.NoError(t, s.Close())
	ctx, cancel := context.WithCancel(context.Background())
	reclaimed, closed := make(chan error, 1), make(chan error, 1)
	go func() { reclaimed <- d.Reclaim(ctx) }()
	for range 10_000 {
		runtime.Gosched() // so that it comes to wait
	}
	go func() { closed <- d.Close() }()
	require.Eventually(t, func() bool { _, err := d.CopyStream(true); return errors.Is(err, hal.ErrClosed) }, 10*time.Second, time.Millisecond)
	cancel()
	select {
	case err := <-reclaimed:
		require.True(t, errors.Is(err, context.Canceled) || errors.Is(err, hal.ErrClosed), "%v", err)
	case <-time.After(2 * time.Second):
		t.Error("Reclaim outlives its context")
	}
	require.Empty(t, closed)
	require.NoError(t, g.Signal())
	require.NoError(t, <-closed)
	require.NoError(t, other.Close())
	require.NoError(t, elsewhere.Close())
}

// Close names an imported stream as what it is, also while another goroutine imports it.
func TestCloseNamesAdoptedStreams(t *testing.T) {
	b := newClosings(nil, nil)
	d, err := hal.OpenWith(context.Background(), b, 0)
	require.NoError(t, err)
	imported := make(chan *hal.Stream)
	go func() {
		s, err := d.ImportStream(1, nil)
		if err != nil {
			t.Error(err)
		}
		for range 100 {
			runtime.Gosched()
		}
		imported <- s
	}()
	keep := openStream(t, d)
	for end := time.Now().Add(10 * time.Second); ; {
		err := d.Close()
		require.ErrorIs(t, err, hal.ErrBusy)
		if len(err.Error()) > len("close host:0: busy: still open: stream, str") || time.Now().After(end) {
			break
		}
	}
	require.NoError(t, keep.Close())
	require.NoError(t, (<-imported).Close())
	require.ErrorIs(t, d.Close(), errClose)
}

// gateHook is a host backend whose frees may block on gates, and which calls passed at the end of a gate's Open.
type gateHook struct {
	driver.Backend
	passed func()
}

type gateHookDevice struct {
	driver.Device
	b *gateHook
}

type gateHookStream struct {
	driver.Stream
	b *gateHook
}

type gateHookGate struct {
	driver.Gate
	b *gateHook
}

func (b *gateHook) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	d, err := b.Backend.Open(ctx, ordinal)
	return &gateHookDevice{d, b}, err
}

func (d *gateHookDevice) FreeMayBlock() bool { return true }

func (d *gateHookDevice) NewStream(o driver.StreamOptions) (driver.Stream, error) {
	s, err := d.Device.NewStream(o)
	return &gateHookStream{s, d.b}, err
}

func (s *gateHookStream) Gate() (driver.Gate, error) {
	g, err := s.Stream.(driver.Gater).Gate()
	return &gateHookGate{g, s.b}, err
}

func (g *gateHookGate) Open() error {
	err := g.Gate.Open()
	g.b.passed()
	return err
}

// Whoever sees that a gate has been opened can close the device, also while Signal has not returned yet.
func TestCloseWhileAGateIsSignalled(t *testing.T) {
	b := &gateHook{Backend: host.New(host.Options{Name: "signalled"})}
	d, err := hal.OpenWith(ctx, b, 0)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	closed := make(chan error, 1)
	b.passed = func() {
		assert.NoError(t, s.Sync(ctx))
		assert.NoError(t, s.Close())
		go func() { closed <- d.Close() }()
		for len(closed) == 0 {
			if _, _, err := d.MemInfo(); errors.Is(err, hal.ErrClosed) {
				return // it waits for Signal
			}
			runtime.Gosched()
		}
	}
	g, err := s.Gate()
	require.NoError(t, err)
	require.NoError(t, g.Signal())
	require.NoError(t, within(t, closed))
}

// A gate that is made while the stream and the device are being closed is open again when Gate returns, so that Close ends.
func TestGateDuringClose(t *testing.T) {
	b := &hooked.Backend{Backend: host.New(host.Options{Name: "gated"})}
	d, err := hal.OpenWith(ctx, b, 0)
	require.NoError(t, err)
	s := openStream(t, d)
	inside, leave, left, closed := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan error, 1)
	b.MemInfo = func(*hooked.Device) (free, total uint64, err error) {
		close(inside)
		<-leave
		return 1, 1, nil
	}
	b.Gate = func(hs *hooked.Stream) (driver.Gate, error) {
		assert.NoError(t, s.Close())
		go func() {
			_, _, _ = d.MemInfo()
			close(left)
		}()
		<-inside
		go func() { closed <- d.Close() }()
		for err := error(nil); !errors.Is(err, hal.ErrClosed); runtime.Gosched() {
			_, err = d.CopyStream(true)
		}
		close(leave) // Close has waited for this call
		<-left
		return hs.PlainGate()
	}
	g, err := s.Gate()
	if err == nil {
		_ = g.Signal()
	}
	require.ErrorIs(t, err, hal.ErrClosed)
	require.NoError(t, within(t, closed))
}
