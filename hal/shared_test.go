package hal_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// opens is a backend that counts how often its devices are opened and closed.
type opens struct {
	hooked.Backend
	opens, closes atomic.Int32
	lose          atomic.Bool // memory information says that the device is lost
	hold          func()      // called while a device is being opened, nil for nothing
}

func newOpens() *opens {
	b := &opens{Backend: hooked.Backend{Backend: host.New(host.Options{Discrete: 1})}}
	b.Opening = func(int) error {
		if b.hold != nil {
			b.hold()
		}
		return nil
	}
	b.Opened = func(*hooked.Device) { b.opens.Add(1) }
	b.CloseDevice = func(d *hooked.Device) error { b.closes.Add(1); return d.Device.Close() }
	b.Call = func(op string, _ int) error {
		if op == "MemInfo" && b.lose.Load() {
			return &hal.Error{Op: "memory information", Kind: hal.ErrDeviceLost}
		}
		return nil
	}
	return b
}

func openTwice(t *testing.T, b driver.Backend) (first, second *hal.Device) {
	t.Helper()
	first, err := hal.OpenWith(context.Background(), b, 1)
	require.NoError(t, err)
	second, err = hal.OpenWith(context.Background(), b, 1)
	require.NoError(t, err)
	return first, second
}

func TestHandlesShareTheDevice(t *testing.T) {
	ctx := context.Background()
	b := newOpens()
	first, second := openTwice(t, b)
	require.Equal(t, int32(1), b.opens.Load())
	require.NotSame(t, first, second)
	require.True(t, first.Same(second))
	require.True(t, first.Same(layer.Common(first)))
	require.Same(t, layer.Common(first), layer.Common(second))
	type key struct{}
	require.Equal(t, 1, layer.Value(first, key{}, func() any { return 1 }))
	require.Equal(t, 1, layer.Value(second, key{}, func() any { return 2 }))

	m, err := first.Alloc(hal.KindDevice, 8, 0)
	require.NoError(t, err)
	s := openStream(t, second)
	require.NoError(t, s.Fill(m.All(), hal.Pattern8(7)))
	require.NoError(t, s.Sync(ctx))
	require.Equal(t, uint64(8), second.Usage().Held)

	err = second.Close()
	require.ErrorIs(t, err, hal.ErrBusy)
	require.Contains(t, err.Error(), "still open: stream")
	require.NotContains(t, err.Error(), "memory", "which is the other handle's")
	require.NoError(t, s.Close())
	require.NoError(t, second.Close())
	require.NoError(t, second.Close(), "twice")
	for _, call := range []func() error{
		func() error { _, err := second.Alloc(hal.KindDevice, 8, 0); return err },
		func() error { _, err := second.NewStream(); return err },
		func() error { _, err := second.CopyStream(true); return err },
		func() error { return second.Reclaim(ctx) },
	} {
		require.ErrorIs(t, call(), hal.ErrClosed)
	}
	got := make([]byte, 8)
	require.NoError(t, first.Read(ctx, got, m.All()))
	require.Equal(t, []byte{7, 7, 7, 7, 7, 7, 7, 7}, got)
	require.NoError(t, m.Close())
	require.Zero(t, b.closes.Load())
	require.NoError(t, first.Close())
	require.Equal(t, int32(1), b.closes.Load())

	again, err := hal.OpenWith(ctx, b, 1)
	require.NoError(t, err)
	require.Equal(t, int32(2), b.opens.Load())
	require.False(t, again.Same(first))
	require.Equal(t, 3, layer.Value(again, key{}, func() any { return 3 }))
	require.NoError(t, again.Close())
}

// What belongs to the device itself keeps the last handle open, whichever that is.
func TestCommonKeepsTheLastHandleOpen(t *testing.T) {
	first, second := openTwice(t, newOpens())
	common := layer.Common(first)
	require.ErrorIs(t, common.Close(), hal.ErrInvalidArgument)
	m, err := common.Alloc(hal.KindDevice, 8, 0)
	require.NoError(t, err)
	copies, err := first.CopyStream(false)
	require.NoError(t, err)
	require.Same(t, common, copies.Device())
	require.NoError(t, first.Close())
	require.NoError(t, copies.Fill(m.All(), hal.Zero))
	err = second.Close()
	require.ErrorIs(t, err, hal.ErrBusy)
	require.Contains(t, err.Error(), "memory of 8 bytes")
	require.NoError(t, m.Close())
	require.NoError(t, second.Close())
	_, err = common.Alloc(hal.KindDevice, 8, 0)
	require.ErrorIs(t, err, hal.ErrClosed)
	_, err = common.CopyStream(false)
	require.ErrorIs(t, err, hal.ErrClosed)
}

// A handle that nobody holds is reported, and the device closed when nothing of it is open any more, be that of the
// device's own.
func TestLeakedHandlesCloseTheDevice(t *testing.T) {
	var leaks atomic.Int32
	previous := hal.SetLeakHandler(func(l hal.Leak) {
		if l.Object == "device" {
			leaks.Add(1)
		}
	})
	defer func() { hal.SetLeakHandler(previous) }()
	b := newOpens()
	var m *hal.Memory
	func() {
		first, _ := openTwice(t, b)
		var err error
		m, err = layer.Common(first).Alloc(hal.KindDevice, 8, 0)
		require.NoError(t, err)
	}()
	require.Eventually(t, func() bool { runtime.GC(); return leaks.Load() == 2 }, 10*time.Second, time.Millisecond)
	require.Zero(t, b.closes.Load())
	require.NoError(t, m.Close())
	require.Eventually(t, func() bool { return b.closes.Load() == 1 }, 10*time.Second, time.Millisecond)
}

// A handle that was leaked while a gate kept its device from closing closes once that is open.
func TestLeakedHandleClosesAfterGates(t *testing.T) {
	ctx := context.Background()
	b := newOpens()
	waits(&b.Backend, func() {})
	next, err := hal.OpenWith(ctx, b, 0)
	require.NoError(t, err)
	s := openStream(t, next)
	var leaked atomic.Bool
	previous := hal.SetLeakHandler(func(l hal.Leak) { leaked.Store(leaked.Load() || l.Object == "device" && l.Device == "host:1") })
	defer func() { hal.SetLeakHandler(previous) }()
	g, err := s.Gate()
	require.NoError(t, err)
	func() {
		d, err := hal.OpenWith(ctx, b, 1)
		require.NoError(t, err)
		m, err := d.Alloc(hal.KindDevice, 8, 0) // from which on the device is known to wait
		require.NoError(t, err)
		require.NoError(t, m.Close())
	}()
	require.Eventually(t, func() bool { runtime.GC(); return leaked.Load() }, 10*time.Second, time.Millisecond)
	require.Zero(t, b.closes.Load())
	require.NoError(t, g.Signal())
	require.Eventually(t, func() bool { return b.closes.Load() == 1 }, 3*time.Second, time.Millisecond)
	require.NoError(t, s.Close())
	require.NoError(t, next.Close())
}

func TestReportLeak(t *testing.T) {
	var got []hal.Leak
	previous := hal.SetLeakHandler(func(l hal.Leak) { got = append(got, l) })
	defer func() { hal.SetLeakHandler(previous) }()
	l := hal.Leak{Object: "buffer of 4 bytes", Device: "host:0"}
	layer.ReportLeak(l)
	require.Equal(t, []hal.Leak{l}, got)
}

// A device that was lost is opened anew; its handles close for themselves.
func TestLostDeviceIsOpenedAnew(t *testing.T) {
	b := newOpens()
	first, second := openTwice(t, b)
	b.lose.Store(true)
	_, _, err := first.MemInfo()
	require.ErrorIs(t, err, hal.ErrDeviceLost)
	_, err = second.Alloc(hal.KindDevice, 8, 0)
	require.ErrorIs(t, err, hal.ErrDeviceLost)
	b.lose.Store(false)
	anew, also := openTwice(t, b)
	require.Equal(t, int32(2), b.opens.Load())
	require.False(t, anew.Same(first))
	require.True(t, anew.Same(also))
	m, err := anew.Alloc(hal.KindDevice, 8, 0)
	require.NoError(t, err)
	require.NoError(t, first.Close())
	require.NoError(t, second.Close())
	third, err := hal.OpenWith(context.Background(), b, 1)
	require.NoError(t, err)
	require.True(t, third.Same(anew), "the lost one's end is not the new one's")
	require.NoError(t, m.Close())
	for _, d := range []*hal.Device{anew, also, third} {
		require.NoError(t, d.Close())
	}
	require.Equal(t, int32(2), b.closes.Load())
}

// Who opens a device that is being opened waits, no longer than the context, and opens it if the other failed.
func TestOpenWaitsForWhoOpens(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	b := newOpens()
	in, out := make(chan struct{}, 1), make(chan struct{})
	b.hold = func() { in <- struct{}{}; <-out }
	failed := make(chan error)
	go func() { _, err := hal.OpenWith(ctx, b, 1); failed <- err }()
	<-in
	short, end := context.WithCancel(context.Background())
	waits := make(chan error)
	go func() { _, err := hal.OpenWith(short, b, 1); waits <- err }()
	end()
	require.ErrorIs(t, <-waits, context.Canceled)
	opened := make(chan *hal.Device)
	go func() {
		d, err := hal.OpenWith(context.Background(), b, 1)
		require.NoError(t, err)
		opened <- d
	}()
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	<-in
	close(out)
	require.NoError(t, (<-opened).Close())
	require.Equal(t, int32(1), b.closes.Load())
}

// Handles that come and go on several goroutines open and close the device one after the other.
func TestHandlesComeAndGo(t *testing.T) {
	b := newOpens()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				d, err := hal.OpenWith(context.Background(), b, 1)
				if err == nil {
					var m *hal.Memory
					if m, err = d.Alloc(hal.KindDevice, 8, 0); err == nil {
						_ = m.Close()
					}
					_ = d.Close()
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, b.opens.Load(), b.closes.Load())
}

// bare is a backend that cannot be compared, so that nobody knows which of its devices are the same.
type bare struct {
	driver.Backend
	_ []int
}

func TestBackendsThatCannotBeCompared(t *testing.T) {
	first, second := openTwice(t, bare{Backend: host.New(host.Options{Discrete: 1})})
	require.False(t, first.Same(second))
	require.NoError(t, first.Close())
	require.NoError(t, second.Close())
}
