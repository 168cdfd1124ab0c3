package hal_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// The host memory of a copy stays reachable while the copy is under way, though somebody found the stream idle
// just before it was enqueued.
func TestHostMemoryIsHeldFromTheCopyOn(t *testing.T) {
	ctx := context.Background()
	for _, in := range []bool{true, false} {
		b := &hooked.Backend{Backend: host.New(host.Options{})}
		dev, err := hal.OpenWith(ctx, b, 0)
		require.NoError(t, err)
		s, err := dev.NewStream()
		require.NoError(t, err)
		m, err := dev.Alloc(hal.KindDevice, 1<<17, 0)
		require.NoError(t, err)
		var g *hal.Gate
		// The copy itself is left out: the host backend would hold the memory, as a vendor's does not.
		meanwhile := func() error {
			done, err := s.Done() // whoever learns this forgets what was held for copies before
			require.NoError(t, err)
			require.True(t, done)
			g, err = s.Gate()
			require.NoError(t, err)
			return nil
		}
		b.CopyIn = func(*hooked.Stream, driver.Region, unsafe.Pointer) error { return meanwhile() }
		b.CopyOut = func(*hooked.Stream, unsafe.Pointer, driver.Region) error { return meanwhile() }
		var gone atomic.Bool
		func() {
			bytes := make([]byte, 1<<17)
			runtime.AddCleanup(&bytes[0], func(struct{}) { gone.Store(true) }, struct{}{})
			if in {
				require.NoError(t, s.CopyIn(m.Region(0, 1<<17), bytes))
			} else {
				require.NoError(t, s.CopyOut(bytes, m.Region(0, 1<<17)))
			}
		}()
		// Others that nobody holds are found unreachable meanwhile.
		var others atomic.Int32
		for range 2 {
			before := others.Load()
			runtime.AddCleanup(&make([]byte, 1<<17)[0], func(struct{}) { others.Add(1) }, struct{}{})
			require.Eventually(t, func() bool { runtime.GC(); return others.Load() > before }, 10*time.Second, time.Millisecond)
		}
		require.False(t, gone.Load(), "the copy has yet to use it")
		require.NoError(t, g.Signal())
		require.NoError(t, s.Sync(ctx))
		require.Eventually(t, func() bool { runtime.GC(); return gone.Load() }, 10*time.Second, time.Millisecond)
		require.NoError(t, m.Close())
		require.NoError(t, s.Close())
		require.NoError(t, dev.Close())
	}
}

// Host memory of copies that have finished is forgotten on a stream that is never idle, too.
func TestHostMemoryIsForgottenOnABusyStream(t *testing.T) {
	ctx := context.Background()
	dev := openNamed(t, "busy", 0, 0)
	s := openStream(t, dev)
	m, err := dev.Alloc(hal.KindDevice, 1<<16, 0)
	require.NoError(t, err)
	for _, size := range []uint64{16, 1 << 16} {
		const copies = 500
		var gone atomic.Int32
		shut, err := s.Gate()
		require.NoError(t, err)
		for range copies {
			func() {
				b := make([]byte, size)
				runtime.AddCleanup(&b[0], func(struct{}) { gone.Add(1) }, struct{}{})
				require.NoError(t, s.CopyIn(m.Region(0, size), b))
			}()
			e, err := s.Record()
			require.NoError(t, err)
			next, err := s.Gate()
			require.NoError(t, err)
			require.NoError(t, shut.Signal())
			shut = next
			require.NoError(t, e.Sync(ctx))
			require.NoError(t, e.Close())
		}
		require.Eventually(t, func() bool { runtime.GC(); return gone.Load() > copies/2 }, 10*time.Second, time.Millisecond, "of %d bytes", size)
		require.NoError(t, shut.Signal())
		require.NoError(t, s.Sync(ctx))
	}
	require.NoError(t, m.Close())
	require.NoError(t, s.Close())
}
