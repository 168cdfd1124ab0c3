package hal_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/emulator"
	"github.com/go-halyard/halyard/internal/testing/pintest"
)

func imported(tb testing.TB, d *hal.Device, b []byte, release func()) *hal.Memory {
	tb.Helper()
	m, err := d.Import(hal.ExternalMemory{Kind: hal.KindDevice, Handle: pintest.Slice(tb, b), Size: uint64(len(b)), Release: release})
	require.NoError(tb, err)
	return m
}

// A panic in Release reaches whoever closes, and leaves the device in order.
func TestPanicOfReleaseInCloseIsTheCallers(t *testing.T) {
	d := openHost(t, 1, 1)
	m := imported(t, d, make([]byte, 64), func() { panic("the owner is confused") })
	require.PanicsWithValue(t, "the owner is confused", func() { _ = m.Close() })
	require.NoError(t, m.Close())
	require.Zero(t, d.Usage().Pending)
	require.NoError(t, d.Close())
}

// A panic in Release that nobody's call leads to ends the program.
func TestPanicOfReleaseLaterEndsTheProgram(t *testing.T) {
	const variable = "HALYARD_TEST_RELEASE_PANICS"
	if os.Getenv(variable) != "" {
		d := openHost(t, 1, 1)
		s := newStream(t, d)
		g, err := s.Gate()
		require.NoError(t, err)
		m := imported(t, d, make([]byte, 64), func() { panic("the owner is confused") })
		require.NoError(t, s.Fill(m.All(), hal.Zero))
		require.NoError(t, m.Close())
		require.NoError(t, g.Signal())
		_ = s.Sync(ctx)
		_ = d.Reclaim(ctx) // whose caller has nothing to do with it
		select {}          // until the panic ends it
	}
	soon, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := emulator.Command(soon, os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable+"=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "panic: the owner is confused")
}

// Release may use the device, also where nothing but the reaper's work leads to it.
func TestReleaseMayUseTheDevice(t *testing.T) {
	d := openHost(t, 1, 1)
	s := newStream(t, d)
	g, err := s.Gate()
	require.NoError(t, err)
	done := make(chan error, 1)
	m := imported(t, d, make([]byte, 64), func() {
		x, err := d.Alloc(hal.KindDevice, 1<<60, 0) // lets the reaper collect first
		if err == nil {
			_ = x.Close()
		}
		y, err := d.Alloc(hal.KindDevice, 64, 0)
		if err == nil {
			err = y.Close()
		}
		done <- err
	})
	require.NoError(t, s.Fill(m.All(), hal.Zero))
	require.NoError(t, m.Close())
	require.Equal(t, 1, d.Usage().Pending)
	require.NoError(t, g.Signal())
	require.NoError(t, <-done)
	require.NoError(t, d.Reclaim(ctx))
	require.Zero(t, d.Usage().Pending)
}

// Reclaim and Close of the device wait for a Release that is under way.
func TestDeviceWaitsForRelease(t *testing.T) {
	d := openHost(t, 1, 1)
	s := newStream(t, d)
	g, err := s.Gate()
	require.NoError(t, err)
	var left atomic.Bool
	let := make(chan struct{})
	m := imported(t, d, make([]byte, 64), func() { <-let; left.Store(true) })
	require.NoError(t, s.Fill(m.All(), hal.Zero))
	require.NoError(t, m.Close())
	require.NoError(t, g.Signal())
	require.NoError(t, s.Sync(ctx))
	require.NoError(t, s.Close())
	closed := make(chan error, 1)
	go func() { closed <- d.Close() }()
	select {
	case <-closed:
		t.Fatal("the device closed before Release returned")
	case <-time.After(5 * time.Millisecond):
	}
	close(let)
	require.NoError(t, <-closed)
	require.True(t, left.Load())
}

// Release of memory in use by calls of other goroutines comes after them, once.
func TestReleaseIsCalledOnceAmongManyGoroutines(t *testing.T) {
	d := openHost(t, 1, 1)
	for range 200 {
		b := make([]byte, 256)
		var releases atomic.Int32
		m := imported(t, d, b, func() { releases.Add(1) })
		var wg sync.WaitGroup
		for i := range uint64(4) {
			s := newStream(t, d)
			wg.Go(func() {
				for range 10 {
					_ = s.Fill(m.Region(64*i, 64), hal.Pattern8(7))
				}
				_ = s.Close()
			})
			wg.Go(func() { _ = m.Close() })
		}
		wg.Wait()
		require.NoError(t, d.Reclaim(ctx))
		require.EqualValues(t, 1, releases.Load())
	}
}

// Memory of the Go heap stays reachable while it is imported.
func TestAdoptedMemoryOfTheGoHeap(t *testing.T) {
	d := openHost(t, 0, 0)
	m := imported(t, d, bytes.Repeat([]byte{0x3C}, 1<<16), nil)
	for range 3 {
		runtime.GC()
		_ = bytes.Repeat([]byte{0xEE}, 1<<16)
	}
	v, err := m.Bytes()
	require.NoError(t, err)
	require.Equal(t, bytes.Repeat([]byte{0x3C}, 1<<16), v)
	require.NoError(t, m.Close())
}

func TestWhatTheHostCannotAdoptIsRefused(t *testing.T) {
	d := openHost(t, 0, 0)
	_, err := d.ImportStream(1<<20, nil)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	_, err = d.PointerInfo(1 << 12)
	require.ErrorIs(t, err, hal.ErrUnsupported)
}

// Memory that another library allocated is used like any other, and given back to it.
func ExampleDevice_Import() {
	d, err := hal.Open(ctx, "host:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	pixels := []byte("from elsewhere")
	var pin runtime.Pinner // for memory of Go; what C allocated stays where it is
	pin.Pin(&pixels[0])
	m, err := d.Import(hal.ExternalMemory{
		Kind: hal.KindHost, Handle: uintptr(unsafe.Pointer(&pixels[0])), Size: uint64(len(pixels)),
		Release: func() {
			fmt.Println("given back:", string(pixels))
			pin.Unpin()
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := d.Write(ctx, m.Region(5, 9), []byte("the  moon")); err != nil {
		fmt.Println(err)
	}
	fmt.Println(m.Close(), d.Close())
	// Output:
	// given back: from the  moon
	// <nil> <nil>
}
