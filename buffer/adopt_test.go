package buffer_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/pintest"
)

// fresh returns memory of the device that holds the given bytes.
func fresh(tb testing.TB, d *hal.Device, kind hal.Kind, data []byte) *hal.Memory {
	tb.Helper()
	m, err := d.Alloc(kind, uint64(len(data)), 0)
	require.NoError(tb, err)
	require.NoError(tb, d.Write(ctx, m.All(), data))
	return m
}

func TestAdoptedDeviceMemoryIsTheReplica(t *testing.T) {
	devs := openMany(t, "one", 2, 1, 2)
	d := devs[0]
	s := newStream(t, d)
	m := fresh(t, d, hal.KindDevice, []byte{1, 0, 2, 0, 3, 0, 4, 0})
	buffer.SetBudget(d, 1) // no room for anything else
	b, err := buffer.Adopt[uint16](m)
	require.NoError(t, err)
	require.Equal(t, "DEVICE_ONLY", b.State().Name)
	require.Zero(t, buffer.ResidencyOf(d).Used)
	l, err := b.TryAcquire(s, coherence.Read)
	require.NoError(t, err)
	require.Equal(t, hal.Region{Mem: m, Off: 0, Len: 8}, l.Region(), "the memory itself")
	require.NoError(t, l.Release())
	require.Zero(t, b.Stats().BytesCopied)
	require.Equal(t, []uint16{1, 2, 3, 4}, contents(t, b))
	require.Equal(t, uint64(8), b.Stats().BytesCopied)
	require.NoError(t, b.Update(ctx, func(x []uint16) error { x[0] = 9; return nil }))
	require.ErrorIs(t, b.Evict(ctx, d), hal.ErrUnsupported)
	require.NoError(t, b.SyncTo(ctx, d))
	require.NoError(t, b.Evict(ctx, nil), "the host's replica is the buffer's own")
	require.NoError(t, b.SyncTo(ctx, devs[1]))
	require.Equal(t, []uint16{9, 2, 3, 4}, contents(t, b))

	// It closes with the buffer, when the work has finished.
	g, err := s.Gate()
	require.NoError(t, err)
	l, err = b.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, s.Fill(l.Region(), hal.Pattern16(7)))
	require.NoError(t, l.Release())
	require.NoError(t, b.Close())
	require.Zero(t, m.Handle(), "closed")
	require.Equal(t, uint64(8), d.Usage().Held, "but in use")
	require.NoError(t, g.Signal())
	require.Eventually(t, func() bool { return d.Usage().Held == 0 }, patience, tick)
}

func TestAdoptedHostMemoryIsTheHostsReplica(t *testing.T) {
	devs := openMany(t, "one", 1, 0, 1)
	for _, d := range devs {
		s := newStream(t, d)
		m := fresh(t, d, hal.KindHost, []byte{1, 0, 0, 0, 2, 0, 0, 0})
		b, err := buffer.Adopt[int32](m)
		require.NoError(t, err)
		require.Equal(t, "HOST_ONLY", b.State().Name)
		require.NoError(t, b.View(ctx, func(x []int32) error {
			require.Equal(t, m.HostPointer(), unsafe.Pointer(&x[0]))
			require.Equal(t, []int32{1, 2}, x)
			return nil
		}))
		l, err := b.TryAcquire(s, coherence.ReadWrite)
		require.NoError(t, err)
		require.Equal(t, d.Info().SharesHostMemory, l.Region().Mem == m, "in place where it can be")
		require.NoError(t, s.Fill(l.Region(), hal.Pattern32(5)))
		require.NoError(t, l.Release())
		require.Equal(t, []int32{5, 5}, contents(t, b))
		require.ErrorIs(t, b.Evict(ctx, nil), hal.ErrUnsupported)
		require.NoError(t, b.Close())
		require.Zero(t, m.Handle())
	}
	// Device memory that the host shares is the host's replica, too.
	d := devs[0]
	m := fresh(t, d, hal.KindDevice, []byte{1, 2, 3})
	b, err := buffer.Adopt[uint8](m)
	require.NoError(t, err)
	require.Equal(t, []uint8{1, 2, 3}, contents(t, b))
	require.NoError(t, b.SyncTo(ctx, d))
	require.Zero(t, b.Stats().BytesCopied)
	require.NoError(t, b.Close())
}

func TestAdoptRefusesBadMemory(t *testing.T) {
	devs := openMany(t, "one", 1, 0, 1)
	d := devs[1]
	_, err := buffer.Adopt[int32](nil)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	m := fresh(t, d, hal.KindDevice, make([]byte, 10))
	_, err = buffer.Adopt[int32](m)
	require.ErrorIs(t, err, hal.ErrInvalidArgument, "10 bytes are no multiple of 4")
	h := fresh(t, d, hal.KindHost, make([]byte, 8))
	_, err = buffer.Adopt[int32](h, buffer.WithPinnedHost(d))
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	require.NotZero(t, m.Handle(), "still the program's")
	require.NotZero(t, h.Handle())
	require.NoError(t, m.Close())
	require.NoError(t, h.Close())
	_, err = buffer.Adopt[uint16](m)
	require.ErrorIs(t, err, hal.ErrClosed)

	called := func() { t.Error("released") }
	_, err = buffer.AdoptSlice([]int8{1}, called, buffer.WithPinnedHost(d))
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	raw := make([]byte, 64)
	odd := unsafe.Slice((*uint32)(unsafe.Pointer(&raw[1-uintptr(unsafe.Pointer(&raw[0]))&1])), 3)
	_, err = buffer.AdoptSlice(odd, called)
	require.ErrorIs(t, err, hal.ErrMisaligned)
	runtime.KeepAlive(raw)

	m, err = devs[0].Import(hal.ExternalMemory{Kind: hal.KindHost, Handle: pintest.Slice(t, odd), Size: 12})
	require.NoError(t, err)
	_, err = buffer.Adopt[uint32](m)
	require.ErrorIs(t, err, hal.ErrMisaligned)
	b, err := buffer.Adopt[uint8](m)
	require.NoError(t, err)
	_, err = buffer.Reinterpret[uint32](b)
	require.ErrorIs(t, err, hal.ErrMisaligned)
	require.NoError(t, b.Close())
	runtime.KeepAlive(raw)
}

func TestAdoptedSliceIsUsedInPlaceAndReleasedAfterItsLastUse(t *testing.T) {
	devs := openMany(t, "one", 1, 0, 1)
	for _, n := range []int{100, 1 << 16} { // without and with page-locking
		var released atomic.Int32
		data := make([]int64, n)
		data[0] = 1
		b, err := buffer.AdoptSlice(data, func() { released.Add(1) })
		require.NoError(t, err)
		require.Equal(t, "HOST_ONLY", b.State().Name)
		require.NoError(t, b.Update(ctx, func(x []int64) error {
			require.Same(t, &data[0], &x[0])
			x[0]++
			return nil
		}))
		require.ErrorIs(t, b.Evict(ctx, nil), hal.ErrUnsupported)
		require.NoError(t, b.SyncTo(ctx, devs[0]), "a unified device")
		s := newStream(t, devs[1])
		l, err := b.TryAcquire(s, coherence.ReadWrite)
		require.NoError(t, err)
		require.NoError(t, s.Fill(l.Region(), hal.Pattern64(7)))
		require.NoError(t, l.Release())
		require.Equal(t, int64(7), contents(t, b)[n-1])
		require.Equal(t, int64(7), data[n-1])
		// A copy out of the slice is under way when the buffer is closed.
		require.NoError(t, b.Update(ctx, func(x []int64) error { x[1] = 8; return nil }))
		g, err := s.Gate()
		require.NoError(t, err)
		require.NoError(t, b.Prefetch(s))
		require.NoError(t, b.Close())
		require.Zero(t, released.Load())
		require.NoError(t, g.Signal())
		require.Eventually(t, func() bool { return released.Load() == 1 }, patience, tick)
		require.NoError(t, b.Close())
		require.Equal(t, int32(1), released.Load())
	}
	var released bool
	b, err := buffer.AdoptSlice([]int8{1}, func() { released = true })
	require.NoError(t, err)
	require.NoError(t, b.Close())
	require.True(t, released, "by Close, when nothing is under way")
}

// The release of a slice does not wait for what else a device has to give back.
func TestAdoptedSliceIsReleasedBesideOtherWork(t *testing.T) {
	d := openMany(t, "one", 1, 0)[0]
	s, busy := newStream(t, d), newStream(t, d)
	var released atomic.Bool
	b, err := buffer.AdoptSlice(make([]int64, 1<<14), func() { released.Store(true) })
	require.NoError(t, err)
	l, err := b.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	require.True(t, d.Info().SharesHostMemory)
	require.NoError(t, l.Release())
	require.NoError(t, s.Sync(ctx))
	other, err := d.Alloc(hal.KindDevice, 64, 0)
	require.NoError(t, err)
	g, err := busy.Gate()
	require.NoError(t, err)
	require.NoError(t, busy.Fill(other.All(), hal.Zero))
	require.NoError(t, other.Close())
	require.NoError(t, b.Close())
	require.Eventually(t, released.Load, patience, tick)
	require.Equal(t, 1, d.Usage().Pending)
	require.NoError(t, g.Signal())
}

func TestAdoptedForeignMemoryIsReleasedAfterItsLastUse(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	if !d.Caps().Has(hal.CapImport) {
		t.Fatal("the host device adopts nothing")
	}
	data := make([]byte, 4096)
	data[5] = 6
	var released atomic.Bool
	m, err := d.Import(hal.ExternalMemory{Kind: hal.KindHost, Handle: pintest.Slice(t, data), Size: 4096,
		Release: func() { released.Store(true) }})
	require.NoError(t, err)
	b, err := buffer.Adopt[uint8](m)
	require.NoError(t, err)
	s := newStream(t, d)
	g, err := s.Gate()
	require.NoError(t, err)
	require.NoError(t, b.Prefetch(s))
	require.NoError(t, b.Close())
	require.False(t, released.Load())
	require.NoError(t, g.Signal())
	require.Eventually(t, released.Load, patience, tick)
}

func TestCloneOfAdoptedMemoryIsTheBuffersOwn(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	b, err := buffer.Adopt[uint8](fresh(t, d, hal.KindDevice, []byte{1, 2}))
	require.NoError(t, err)
	c, err := b.Clone(context.Background())
	require.NoError(t, err)
	require.NoError(t, b.Close())
	require.NoError(t, c.Evict(ctx, d))
	require.Equal(t, []uint8{1, 2}, contents(t, c))
	require.NoError(t, c.Close())
}
