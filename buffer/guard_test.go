//go:build linux

package buffer_test

import (
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
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

// A driver that fails to say whether a copy has ended has not said that it has: the memory under the copy stays accessible, and later accesses
// wait for the copy.
func TestFailedQuestionsLeaveTheCopyItsMemory(t *testing.T) {
	for name, refused := range map[string]string{"events": "Query event", "no events": "Record"} {
		t.Run(name, func(t *testing.T) {
			var fails atomic.Bool
			hb := &hooked.Backend{Backend: host.New(host.Options{Name: "mute", Discrete: 1})}
			hb.Call = func(op string, _ int) error {
				if fails.Load() && (op == refused || op == "Query" || op == "Sync" || op == "Sync event") {
					return errors.New("the question failed")
				}
				return nil
			}
			d := fixture.Device(t, hb, 1)
			s := newStream(t, d)
			b, err := buffer.From([]uint32{1, 2, 3}, buffer.WithGuard())
			require.NoError(t, err)
			defer b.Close()
			in, err := d.CopyStream(false)
			require.NoError(t, err)
			gates := []*hal.Gate{fixture.Gate(t, in), fixture.Gate(t, s)}
			fails.Store(true)
			l, err := b.TryAcquire(s, coherence.Read) // its copy is held up
			require.NoError(t, err)
			require.NoError(t, b.View(ctx, func([]uint32) error { return nil })) // at its end the guard looks which work goes on
			fails.Store(false)
			short, cancel := context.WithCancel(ctx)
			cancel()
			require.NoError(t, l.Release())
			require.ErrorIs(t, b.Update(short, func([]uint32) error { return nil }), hal.ErrNotReady)
			for _, g := range gates {
				require.NoError(t, g.Signal())
			}
			require.NoError(t, s.Sync(ctx))
			require.NoError(t, b.Update(ctx, func(x []uint32) error { x[0]++; return nil }))
			require.Equal(t, []uint32{2, 2, 3}, contents(t, b))
		})
	}
}
