//go:build linux

package buffer_test

import (
	"runtime/debug"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// faults reports whether a function touches memory that it must not.
func faults(fn func()) (faulted bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			_, faulted = r.(interface{ Addr() uintptr })
			if !faulted {
				panic(r)
			}
		}
	}()
	fn()
	return false
}

// A slice that was kept from an access faults, to read and to write, whatever became of the buffer. The next access finds the bytes.
func TestKeptSlicesFault(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	b, err := buffer.New[uint32](3000, buffer.WithGuard())
	require.NoError(t, err)
	var kept []uint32
	keep := func(x []uint32) error { kept = x; return nil }
	sum := uint32(0)
	look := func() { sum += kept[2999] }
	gone := func(what string) {
		t.Helper()
		require.True(t, faults(look), "%s: read", what)
		require.True(t, faults(func() { kept[0] = 1 }), "%s: written", what)
	}
	require.NoError(t, b.Overwrite(ctx, func(x []uint32) error {
		for i := range x {
			x[i] = 7
		}
		return keep(x)
	}))
	gone("after Overwrite")
	require.NoError(t, b.View(ctx, func(x []uint32) error {
		require.EqualValues(t, 7, x[2999])
		require.False(t, faults(look), "the slice of another access, while this one is open")
		require.True(t, faults(func() { x[0]++ }), "a write to what is read")
		return keep(x)
	}))
	gone("after View")

	// While a device is writing.
	l, err := b.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, s.Sync(ctx))
	require.Eventually(t, func() bool { return faults(look) }, patience, tick)
	g, err := s.Gate()
	require.NoError(t, err)
	require.NoError(t, l.Release())
	gone("beside a device's work")
	require.NoError(t, g.Signal())

	h, err := b.AcquireHost(ctx, coherence.Read)
	require.NoError(t, err)
	kept = unsafe.Slice((*uint32)(h.Pointer()), 3000)
	require.EqualValues(t, 7, kept[1])
	require.NoError(t, h.Release())
	gone("after a lease")
	require.NoError(t, b.SyncTo(ctx, d))
	require.NoError(t, b.Evict(ctx, nil))
	gone("after Evict")
	require.NoError(t, b.View(ctx, func(x []uint32) error { // copied back just now
		require.EqualValues(t, 7, x[5])
		require.True(t, faults(func() { x[5]++ }), "a write to what is read")
		return keep(x)
	}))
	require.NoError(t, b.Update(ctx, func(x []uint32) error { x[6]++; return nil }))
	gone("after Update")
	require.NoError(t, b.Close())
	gone("after Close")
	require.Zero(t, sum%7, "what the looks that were allowed saw")
	require.NotZero(t, sum)
}

// Copies under way keep the memory open, and find the right bytes.
func TestGuardWaitsForCopies(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	b, err := buffer.New[uint32](1000, buffer.WithGuard())
	require.NoError(t, err)
	var kept []uint32
	require.NoError(t, b.Overwrite(ctx, func(x []uint32) error {
		kept = x
		for i := range x {
			x[i] = uint32(i)
		}
		return nil
	}))
	sum, looks := uint32(0), 0
	look := func() { sum += kept[999]; looks++ }
	g, err := s.Gate()
	require.NoError(t, err)
	l, err := b.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, s.Fill(l.Region(), hal.Pattern32(9)))
	require.NoError(t, l.Release())
	for range 100 {
		require.False(t, faults(look), "the copy has yet to read it")
	}
	require.NoError(t, g.Signal())
	require.NoError(t, s.Sync(ctx))
	require.Eventually(t, func() bool { return faults(look) }, patience, tick)
	require.EqualValues(t, 999, sum/uint32(looks))
	got, err := onDevice(t, s, b)
	require.NoError(t, err)
	require.EqualValues(t, 9, got[999])
	c, err := b.Clone(ctx)
	require.NoError(t, err)
	require.NoError(t, b.Close())
	require.NoError(t, c.Close())
}
