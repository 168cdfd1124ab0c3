package buffer_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// takeTurns makes memory one that the device takes turns with the host for: the host sees what the device had when it mapped the memory,
// and the device what the host had when it was unmapped.
func takeTurns(b *hooked.Backend) {
	described := b.Info
	b.Info = func(i driver.Info) driver.Info {
		if described != nil {
			i = described(i)
		}
		i.SharesHostMemory = true
		i.Caps |= driver.CapMustMap
		i.Caps &^= driver.CapAddress | driver.CapRegister | driver.CapShared | driver.CapConcurrentShared | driver.CapImport | driver.CapStreamAlloc
		return i
	}
	b.Alloc = func(d *hooked.Device, k driver.Kind, n, a uint64) (*hooked.Memory, error) {
		m, err := d.PlainAlloc(k, n, a)
		if err == nil {
			m.Data = &view{bytes: make([]byte, n)}
		}
		return m, err
	}
	b.NeedsMap = func(*hooked.Memory) bool { return true }
	b.HostPointer = func(m *hooked.Memory) unsafe.Pointer { return unsafe.Pointer(&m.Data.(*view).bytes[0]) }
	b.Map = func(s *hooked.Stream, m *hooked.Memory, write bool) error {
		m.Data.(*view).write = write
		return s.CopyOut(m.HostPointer(), driver.Region{Mem: m, Len: m.Bytes})
	}
	b.Unmap = func(s *hooked.Stream, m *hooked.Memory) error {
		if !m.Data.(*view).write {
			return nil
		}
		return s.CopyIn(driver.Region{Mem: m, Len: m.Bytes}, m.HostPointer())
	}
}

// view is what the host sees of memory that it takes turns for.
type view struct {
	bytes []byte
	write bool // as it was mapped
}

// newTurns is a unified device which takes turns with the host.
func newTurns() *hooked.Backend {
	b := &hooked.Backend{Backend: host.New(host.Options{Name: "turns", Discrete: 1})}
	b.PeerAccess = func(*hooked.Device, *hooked.Device) driver.PeerAccess { return 0 }
	takeTurns(b)
	return b
}

func inTurns(t *testing.T) (sa, sd *hal.Stream, b, low, high *buffer.Buffer[uint32]) {
	a := fixture.Device(t, newTurns(), 1)
	d := openMany(t, "two", 1, 1)[0]
	sa, sd = newStream(t, a), newStream(t, d)
	b, err := buffer.New[uint32](8)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	fill(t, sa, b, 1)
	low, err = b.Slice(0, 4)
	require.NoError(t, err)
	high, err = b.Slice(4, 8)
	require.NoError(t, err)
	return sa, sd, b, low, high
}

// As long as a device has a lease on memory that it takes turns with, nothing takes its turn away.
func TestEvictionUnderLeaseInPlace(t *testing.T) {
	sa, sd, b, low, high := inTurns(t)
	d := sd.Device()
	fill(t, sd, high, 2)
	l, err := low.TryAcquire(sa, coherence.ReadWrite)
	require.NoError(t, err)
	buffer.SetBudget(d, 32)
	other, err := buffer.New[uint32](8)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.Close()) })
	_, err = other.TryAcquire(sd, coherence.Overwrite) // needs the room, which a copy to the host would make
	require.ErrorIs(t, err, hal.ErrOutOfMemory)
	require.NoError(t, sa.Fill(l.Region(), hal.Pattern32(5)))
	require.NoError(t, l.Release())
	require.Equal(t, []uint32{5, 5, 5, 5, 2, 2, 2, 2}, contents(t, b))
	fill(t, sd, other, 3)
}

func TestCopyOutOfLeasedMemoryInPlace(t *testing.T) {
	sa, sd, b, low, high := inTurns(t)
	l, err := low.TryAcquire(sa, coherence.ReadWrite)
	require.NoError(t, err)
	_, err = high.TryAcquire(sd, coherence.Read)
	require.ErrorIs(t, err, coherence.ErrConflict)
	got := make(chan error)
	go func() {
		x, err := high.Acquire(ctx, sd, coherence.Read)
		if err == nil {
			err = x.Release()
		}
		got <- err
	}()
	require.NoError(t, sa.Fill(l.Region(), hal.Pattern32(5)))
	require.NoError(t, l.Release())
	require.NoError(t, <-got)
	require.Equal(t, []uint32{5, 5, 5, 5, 1, 1, 1, 1}, contents(t, b))
}

// SyncTo takes the host's turn away once nobody looks at the memory any more, and waits for that as long as its context allows.
func TestSyncToWaitsForTheHostsTurn(t *testing.T) {
	sa, _, b, low, _ := inTurns(t)
	l, err := low.TryAcquire(sa, coherence.Read) // so that the host takes its turn for reading only
	require.NoError(t, err)
	looking, err := b.AcquireHost(ctx, coherence.Read)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	soon, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- b.SyncTo(soon, sa.Device()) }()
	require.Eventually(t, func() bool { return buffer.Waiting(b) == 1 }, patience, tick)
	cancel()
	err = <-done
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, coherence.ErrConflict, "it says who is in the way")

	go func() { done <- b.SyncTo(ctx, sa.Device()) }()
	require.Eventually(t, func() bool { return buffer.Waiting(b) == 1 }, patience, tick)
	require.NoError(t, b.View(ctx, nothing)) // nor does it keep others from looking
	require.Empty(t, done)
	require.NoError(t, looking.Release())
	require.NoError(t, <-done)
	require.Equal(t, []uint32{1, 1, 1, 1, 1, 1, 1, 1}, contents(t, b))
}

// A group has its turn from when its memory is ready, though it still waits for others.
func TestGroupKeepsItsTurn(t *testing.T) {
	sa, sd, b, low, high := inTurns(t)
	z, err := buffer.New[uint32](8)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, z.Close()) })
	fill(t, sa, z, 3)
	looking, err := z.AcquireHost(ctx, coherence.Read)
	require.NoError(t, err)
	got := make(chan error)
	var g buffer.Leases
	go func() {
		var err error
		g, err = buffer.AcquireAll(ctx, sa, low.Want(coherence.ReadWrite), z.Want(coherence.Read))
		got <- err
	}()
	require.Eventually(t, func() bool { return buffer.Waiting(z) == 1 }, patience, tick)
	soon, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	l, err := high.Acquire(soon, sd, coherence.Read)
	if err == nil {
		require.NoError(t, l.Release())
	}
	require.NoError(t, looking.Release())
	require.NoError(t, <-got)
	require.NoError(t, sa.Fill(g.At(0).Region(), hal.Pattern32(5)))
	require.NoError(t, g.Release())
	require.Equal(t, []uint32{5, 5, 5, 5, 1, 1, 1, 1}, contents(t, b))
}

// A hand-over that fails is told of once, and then tried anew.
func TestFailedHandOver(t *testing.T) {
	f := newFaulty(host.Options{Name: "failing turns", Discrete: 1})
	takeTurns(&f.Backend)
	d := fixture.Device(t, f, 1)
	s := newStream(t, d)
	b, err := buffer.New[uint32](4)
	require.NoError(t, err)
	fill(t, s, b, 1)
	require.NoError(t, s.Sync(ctx))
	f.fail("CopyOut", 1)
	got := make(chan error, 1)
	go func() { got <- b.View(ctx, nothing) }()
	select {
	case err := <-got:
		require.ErrorIs(t, err, errLate)
	case <-time.After(3 * time.Second):
		t.Fatal("View hangs")
	}
	require.ErrorIs(t, b.View(ctx, nothing), hal.ErrDeviceLost)
	require.NoError(t, b.Fill(ctx, 2))
	require.Equal(t, []uint32{2, 2, 2, 2}, contents(t, b))
	now, err := onDevice(t, s, b)
	require.NoError(t, err)
	require.Equal(t, []uint32{2, 2, 2, 2}, now)
	require.NoError(t, b.Close())
}

// If what the host wrote does not get to the device, nobody is shown what was there before.
func TestFailedHandBack(t *testing.T) {
	f := newFaulty(host.Options{Name: "failing turns", Discrete: 1})
	takeTurns(&f.Backend)
	d := fixture.Device(t, f, 1)
	s := newStream(t, d)
	b, err := buffer.New[uint32](4)
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	fill(t, s, b, 1)
	require.NoError(t, b.Fill(ctx, 2))
	f.fail("CopyIn", 1)
	require.ErrorIs(t, b.SyncTo(ctx, d), errLate)
	_, err = onDevice(t, s, b)
	require.ErrorIs(t, err, hal.ErrDeviceLost)
	require.ErrorIs(t, b.View(ctx, nothing), hal.ErrDeviceLost)
	require.NoError(t, b.Fill(ctx, 3))
	now, err := onDevice(t, s, b)
	require.NoError(t, err)
	require.Equal(t, []uint32{3, 3, 3, 3}, now)
}

// If the host could not map the memory, what was copied from there is bad, and so is what the device gets back, also if no access of the host
// has waited for the mapping.
func TestFailedMappingInTurnsThatNoHostAccessSees(t *testing.T) {
	for name, mapped := range map[string]func(b *buffer.Buffer[uint32], home, other *hal.Stream){
		"a copy": func(b *buffer.Buffer[uint32], _, other *hal.Stream) { require.NoError(t, b.Prefetch(other)) },
		"a View that gives up": func(b *buffer.Buffer[uint32], home, _ *hal.Stream) {
			late := hold(t, home)
			soon, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, b.View(soon, nothing), context.DeadlineExceeded)
			require.NoError(t, late.Signal())
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFaulty(host.Options{Name: "failing turns", Discrete: 1})
			takeTurns(&f.Backend)
			d := fixture.Device(t, f, 1)
			home, err := d.CopyStream(false)
			require.NoError(t, err)
			streams := []*hal.Stream{newStream(t, d), newStream(t, openMany(t, "two", 1, 1)[0])}
			b, err := buffer.New[uint32](4)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, b.Close()) })
			fill(t, streams[0], b, 1)
			require.NoError(t, streams[0].Sync(ctx))
			f.fail("CopyOut", 1)
			mapped(b, home, streams[1])
			for _, s := range streams {
				_, _ = onDevice(t, s, b) // afterwards the failure is known
				if got, err := onDevice(t, s, b); err != nil {
					require.ErrorIs(t, err, errLate)
				} else {
					require.Equal(t, []uint32{1, 1, 1, 1}, got)
				}
			}
			require.ErrorIs(t, b.View(ctx, nothing), errLate)
			require.NoError(t, b.Fill(ctx, 2))
			require.Equal(t, []uint32{2, 2, 2, 2}, contents(t, b))
		})
	}
}

// A copy to the host for a device's access has failed by the time when the device gets the memory: the access does not work with what was there.
func TestCopyThatFailsBeforeTheHandBack(t *testing.T) {
	f := newFaulty(host.Options{Name: "faulty", Discrete: 1})
	sa := newStream(t, fixture.Device(t, newTurns(), 1))
	sd := newStream(t, fixture.Device(t, f, 1))
	in, out := newTurnsBuffer(t, sa), newTurnsBuffer(t, sa)
	fill(t, sd, in, 7)
	f.fail("CopyOut", 1)
	g, err := buffer.AcquireAll(ctx, sa, in.Want(coherence.Read), out.Want(coherence.Overwrite))
	if err == nil {
		r := g.Regions(nil)
		require.NoError(t, sa.Copy(r[1], r[0]))
		require.NoError(t, g.Release())
		err = out.View(ctx, nothing)
		require.ErrorIs(t, out.View(ctx, nothing), hal.ErrDeviceLost)
	}
	require.ErrorIs(t, err, errLate)
	_ = in.View(ctx, nothing)
	require.Equal(t, []uint32{7, 7, 7, 7}, contents(t, in))
}

// newTurnsBuffer returns a buffer whose host replica is memory that host and device use in turn; it is the host's turn.
func newTurnsBuffer(t *testing.T, s *hal.Stream) *buffer.Buffer[uint32] {
	b, err := buffer.New[uint32](4)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	fill(t, s, b, 1)
	require.NoError(t, b.Fill(ctx, 2))
	return b
}

func newGatelessTurns() *hooked.Backend {
	backend := newTurns()
	described := backend.Info
	backend.Info = func(i driver.Info) driver.Info {
		if described != nil {
			i = described(i)
		}
		i.Caps &^= driver.CapGate
		return i
	}
	return backend
}

// Memory that the host has mapped is unmapped when other devices no longer use it. Close does not wait for that, and Evict not longer than its context.
func TestInTurnsMemoryIsUnmappedLater(t *testing.T) {
	backend := newGatelessTurns()
	var mapped atomic.Int32
	doMap, unmap := backend.Map, backend.Unmap
	backend.Map = func(s *hooked.Stream, m *hooked.Memory, write bool) error {
		mapped.Add(1)
		return doMap(s, m, write)
	}
	backend.Unmap = func(s *hooked.Stream, m *hooked.Memory) error {
		mapped.Add(-1)
		return unmap(s, m)
	}
	du := fixture.Device(t, backend, 1)
	devs := append(openMany(t, "two", 1, 1), openMany(t, "three", 1, 1)...)
	su, sd := newStream(t, du), newStream(t, devs[0])
	b, err := buffer.New[uint32](4)
	require.NoError(t, err)
	fill(t, su, b, 1)
	require.NoError(t, b.Fill(ctx, 2))
	g := hold(t, sd)
	t.Cleanup(func() { _ = g.Signal() })
	require.NoError(t, b.Prefetch(sd)) // reads the mapped memory, later
	require.NoError(t, b.SyncTo(ctx, devs[1]))
	soon, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	within := func(name string, call func() error) (err error) {
		done := make(chan error, 1)
		go func() { done <- call() }()
		select {
		case err = <-done:
		case <-time.After(patience):
			require.FailNow(t, "it waits for a device", name)
		}
		return err
	}
	require.ErrorIs(t, within("Evict", func() error { return b.Evict(soon, nil) }), hal.ErrNotReady)
	require.NoError(t, within("Close", b.Close))
	require.EqualValues(t, 1, mapped.Load(), "a copy still reads the memory")
	require.NoError(t, g.Signal())
	require.Eventually(t, func() bool { return mapped.Load() == 0 && du.Usage().Held == 0 }, patience, tick)
}

// A device that takes turns with the host, and cannot hold its streams shut, gets its turn when the work of others has ended. Who waits for that waits without
// the buffer's lock, until its context ends.
func TestInTurnsWithoutGates(t *testing.T) {
	backend := newGatelessTurns()
	su, sd := newStream(t, fixture.Device(t, backend, 1)), newStream(t, openMany(t, "two", 1, 1)[0])
	b := newTurnsBuffer(t, su)
	g := hold(t, sd)
	require.NoError(t, b.Prefetch(sd))
	for name, access := range map[string]func(context.Context) error{
		"TryAcquire":   func(context.Context) error { return taken(b.TryAcquire(su, coherence.ReadWrite)) },
		"Acquire":      func(c context.Context) error { return taken(b.Acquire(c, su, coherence.ReadWrite)) },
		"SyncTo":       func(c context.Context) error { return b.SyncTo(c, su.Device()) },
		"MarkModified": func(context.Context) error { return b.MarkModified(su) },
	} {
		soon, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		done := make(chan error, 1)
		go func() { done <- access(soon) }()
		select {
		case err := <-done:
			require.ErrorIs(t, err, hal.ErrNotReady, name)
		case <-time.After(patience):
			require.FailNow(t, "it waits for a device", name)
		}
		cancel()
		_ = b.State() // takes the lock
	}
	later := make(chan error, 1)
	go func() { later <- taken(b.Acquire(ctx, su, coherence.ReadWrite)) }()
	require.NoError(t, g.Signal())
	require.NoError(t, <-later)
	require.Equal(t, []uint32{2, 2, 2, 2}, contents(t, b))
}
