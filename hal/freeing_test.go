package hal_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
	"github.com/go-halyard/halyard/internal/testing/pintest"
)

// waits makes frees of memory that is allocated from now on call a function first, and say that they may wait.
func waits(b *hooked.Backend, free func()) {
	b.Alloc = func(d *hooked.Device, kind driver.Kind, size, align uint64) (*hooked.Memory, error) {
		m, err := d.PlainAlloc(kind, size, align)
		if err == nil {
			m.Data = free
		}
		return m, err
	}
	b.FreeMayBlock = func(m *hooked.Memory) bool { return m.Data != nil }
	b.Free = func(m *hooked.Memory) error {
		if m.Data != nil {
			free()
		}
		return m.PlainFree()
	}
}

// A driver's free that waits holds nothing else up that was closed with work under way, and is waited for by Reclaim.
func TestFreeThatWaits(t *testing.T) {
	ctx := context.Background()
	b := &hooked.Backend{Backend: host.New(host.Options{})}
	d, err := hal.OpenWith(ctx, b, 0)
	require.NoError(t, err)
	const large = 64 << 20
	other, err := d.Alloc(hal.KindDevice, large, 0)
	require.NoError(t, err)
	inside, leave := make(chan struct{}), make(chan struct{})
	waits(b, func() { inside <- struct{}{}; <-leave })
	m, err := d.Alloc(hal.KindDevice, 64, 0)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	g, err := s.Gate()
	require.NoError(t, err)
	require.NoError(t, s.Fill(m.All(), hal.Zero))
	require.NoError(t, m.Close())
	require.NoError(t, g.Signal())
	<-inside // the free waits from now on

	busy, err := d.NewStream()
	require.NoError(t, err)
	for range 4 {
		require.NoError(t, busy.Fill(other.All(), hal.Zero))
	}
	require.NoError(t, busy.Close())
	require.NoError(t, other.Close())
	require.Eventually(t, func() bool { u := d.Usage(); return u.Pending == 1 && u.Held == 64 }, 10*time.Second, time.Millisecond)
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, d.Reclaim(short), hal.ErrNotReady)
	close(leave)
	require.NoError(t, d.Reclaim(ctx))
	require.Zero(t, d.Usage().Held)
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
}

// Memory whose free may wait is not freed while the program holds a gate shut for which the driver might wait.
func TestFreeThatWaitsComesAfterGates(t *testing.T) {
	ctx := context.Background()
	freed := make(chan struct{}, 10)
	b := &hooked.Backend{Backend: host.New(host.Options{Discrete: 1})}
	waits(b, func() { freed <- struct{}{} })
	d, err := hal.OpenWith(ctx, b, 0)
	require.NoError(t, err)
	next, err := hal.OpenWith(ctx, b, 1)
	require.NoError(t, err)
	s, other := openStream(t, next), openStream(t, openNamed(t, "elsewhere", 0, 0))
	closeOne := func() {
		m, err := d.Alloc(hal.KindDevice, 64, 0)
		require.NoError(t, err)
		require.NoError(t, m.Close())
	}
	closeOne()
	require.Len(t, freed, 1, "at once without a gate")

	g, err := s.Gate()
	require.NoError(t, err)
	closeOne()
	require.Equal(t, 1, d.Usage().Pending)
	require.Len(t, freed, 1, "a gate of another device of the driver")
	require.ErrorIs(t, d.Close(), hal.ErrBusy)
	require.NoError(t, g.Signal())
	require.NoError(t, d.Reclaim(ctx))
	require.Len(t, freed, 2)

	g, err = other.Gate()
	require.NoError(t, err)
	closeOne()
	require.Len(t, freed, 3, "a gate that no stream of the driver waits for")
	m, err := layer.RecordShared(other)
	require.NoError(t, err)
	require.NoError(t, s.WaitEvent(m))
	m.Close()
	closeOne()
	require.Len(t, freed, 3, "a gate that a stream of the driver waits for")
	require.NoError(t, g.Signal())
	require.NoError(t, d.Reclaim(ctx))
	require.Len(t, freed, 4)
	require.NoError(t, s.Sync(ctx))
	require.NoError(t, s.Close())
	require.NoError(t, other.Close())
	require.NoError(t, next.Close())
	require.NoError(t, d.Close())
}

func openStream(t *testing.T, d *hal.Device) *hal.Stream {
	t.Helper()
	s, err := d.NewStream()
	require.NoError(t, err)
	return s
}

// A goroutine that is about to shut a gate holds nothing up that the frees under way wait for.
func TestGateDuringFreeThatWaits(t *testing.T) {
	ctx := context.Background()
	started, first := make(chan struct{}), make(chan struct{}, 1)
	first <- struct{}{}
	b := &hooked.Backend{Backend: host.New(host.Options{})}
	d, err := hal.OpenWith(ctx, b, 0)
	require.NoError(t, err)
	var large [2]*hal.Memory
	for i := range large {
		large[i], err = d.Alloc(hal.KindDevice, 64<<20, 0)
		require.NoError(t, err)
	}
	s, slow, u, v := openStream(t, d), openStream(t, d), openStream(t, d), openStream(t, d)
	waits(b, func() {
		select {
		case <-first:
			started <- struct{}{}
			_ = s.Sync(ctx)
		default:
		}
	})
	var mems [2]*hal.Memory
	for i := range mems {
		mems[i], err = d.Alloc(hal.KindDevice, 64, 0)
		require.NoError(t, err)
	}
	for range 20 {
		require.NoError(t, slow.Fill(large[0].All(), hal.Zero))
	}
	require.NoError(t, u.Fill(large[1].All(), hal.Zero))
	require.NoError(t, u.Fill(mems[1].All(), hal.Zero))
	require.NoError(t, slow.Close())
	require.NoError(t, s.WaitStream(slow)) // by a gate that the library opens when slow is done
	freed := make(chan error, 1)
	go func() { freed <- mems[0].Close() }()
	<-started
	require.NoError(t, mems[1].Close())
	gate := make(chan error, 1)
	go func() {
		g, err := v.Gate()
		if err == nil {
			err = g.Signal()
		}
		gate <- err
	}()
	require.NoError(t, within(t, freed))
	require.NoError(t, within(t, gate))
	for _, m := range large {
		require.NoError(t, m.Close())
	}
	for _, s := range []*hal.Stream{s, u, v} {
		require.NoError(t, s.Close())
	}
	require.NoError(t, d.Close())
}

// Memory stays for the marks that it was kept for, of whatever device, and holds nobody else up.
func TestMemoryIsKeptForMarks(t *testing.T) {
	ctx := context.Background()
	d, err := hal.OpenWith(ctx, host.New(host.Options{Name: "here"}), 0)
	require.NoError(t, err)
	other, err := hal.OpenWith(ctx, host.New(host.Options{Name: "there"}), 0)
	require.NoError(t, err)
	s, err := other.NewStream()
	require.NoError(t, err)
	m, err := d.Alloc(hal.KindDevice, 64, 0)
	require.NoError(t, err)
	require.ErrorIs(t, layer.KeepUntil(m, nil), hal.ErrInvalidArgument)

	before, err := layer.RecordShared(s)
	require.NoError(t, err)
	require.NoError(t, s.Sync(ctx))
	require.NoError(t, layer.KeepUntil(m, before))
	before.Close()
	require.Zero(t, d.Usage().Pending, "for work that has finished")

	g, err := s.Gate()
	require.NoError(t, err)
	for range 3 {
		mark, err := layer.RecordShared(s)
		require.NoError(t, err)
		require.NoError(t, layer.KeepUntil(m, mark))
		mark.Close()
	}
	require.NoError(t, m.Close())
	late, err := layer.RecordShared(s)
	require.NoError(t, err)
	require.ErrorIs(t, layer.KeepUntil(m, late), hal.ErrClosed)
	late.Close()
	require.EqualValues(t, 64, d.Usage().Held)
	next, err := d.Alloc(hal.KindDevice, 32, 0)
	require.NoError(t, err)
	require.NoError(t, next.Close())
	require.EqualValues(t, 64, d.Usage().Held)
	require.NoError(t, g.Signal())
	require.NoError(t, d.Reclaim(ctx))
	require.Zero(t, d.Usage().Held)
	require.NoError(t, s.Close())
	require.NoError(t, other.Close())
	require.NoError(t, d.Close())
}

func TestCloseThen(t *testing.T) {
	ctx := context.Background()
	d, err := hal.OpenWith(ctx, host.New(host.Options{}), 0)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	calls := make(chan string, 10)
	closing := func(m *hal.Memory, what string) { require.NoError(t, layer.CloseThen(m, func() { calls <- what })) }
	idle, err := d.Register(make([]byte, 64))
	require.NoError(t, err)
	closing(idle, "idle")
	require.Equal(t, "idle", <-calls, "by CloseThen itself")
	closing(idle, "again")

	var gone []string
	bytes := make([]byte, 64)
	busy, err := d.Import(hal.ExternalMemory{Kind: hal.KindHost, Handle: pintest.Slice(t, bytes), Size: 64,
		Release: func() { gone = append(gone, "released") }})
	require.NoError(t, err)
	g, err := s.Gate()
	require.NoError(t, err)
	require.NoError(t, s.Fill(busy.All(), hal.Zero))
	require.NoError(t, layer.CloseThen(busy, func() { gone = append(gone, "given"); calls <- "busy" }))
	require.Empty(t, calls)
	require.NoError(t, g.Signal())
	require.Equal(t, "busy", <-calls)
	require.Equal(t, []string{"released", "given"}, gone)
	require.Empty(t, calls, "what was closed before")
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
}

// No bridge is made, behind a gate of the program, while a free is under way: the free would wait for the gate.
func TestNoBridgeToAGateDuringAFree(t *testing.T) {
	for name, wait := range map[string]func(s, u *hal.Stream) error{
		"WaitStream": func(s, u *hal.Stream) error { return s.WaitStream(u) },
		"WaitEvent": func(s, u *hal.Stream) error {
			e, err := layer.RecordShared(u)
			if err != nil {
				return err
			}
			defer e.Close()
			return s.WaitEvent(e)
		},
		"closed stream": func(s, u *hal.Stream) error { return errors.Join(u.Close(), s.WaitStream(u)) },
	} {
		t.Run(name, func(t *testing.T) {
			b := &hooked.Backend{Backend: host.New(host.Options{Name: "frees"})}
			d := fixture.Device(t, b, 0)
			s, u := fixture.Stream(t, d), openStream(t, openNamed(t, "elsewhere", 0, 0))
			inside, leave := make(chan struct{}), make(chan struct{})
			end := sync.OnceFunc(func() { close(leave) })
			defer end()
			waits(b, func() { close(inside); <-leave })
			m, err := d.Alloc(hal.KindDevice, 64, 0)
			require.NoError(t, err)
			var bridged atomic.Bool
			b.Gate = func(s *hooked.Stream) (driver.Gate, error) {
				bridged.Store(true)
				return s.PlainGate()
			}
			g := fixture.Gate(t, u)
			freed, waited := make(chan error, 1), make(chan error, 1)
			go func() { freed <- m.Close() }()
			<-inside
			go func() { waited <- wait(s, u) }()
			require.Eventually(t, func() bool { return bridged.Load() || hal.WaitsForFrees() }, 10*time.Second, time.Millisecond)
			require.False(t, bridged.Load())
			end()
			require.NoError(t, within(t, freed))
			require.NoError(t, within(t, waited))
			require.True(t, bridged.Load())
			require.NoError(t, g.Signal())
			require.NoError(t, s.Sync(t.Context()))
			require.NoError(t, hal.CloseAll(u.Device(), u))
		})
	}
}

// Closing a device is a free too: it waits for gates that were made after Close had begun.
func TestCloseWaitsForGatesMadeMeanwhile(t *testing.T) {
	b := &hooked.Backend{Backend: host.New(host.Options{Name: "frees", Discrete: 2})}
	d, err := hal.OpenWith(t.Context(), b, 1)
	require.NoError(t, err)
	s := fixture.Stream(t, fixture.Device(t, b, 2))
	waits(b, func() {})
	m, err := d.Alloc(hal.KindDevice, 64, 0) // so that closing may wait
	require.NoError(t, err)
	_, err = d.CopyStream(true)
	require.NoError(t, err)
	gates := make(chan *hal.Gate, 1)
	b.CloseStream = func(hs *hooked.Stream) error { // a step of Close
		if hs.Device.Ordinal == 1 {
			g, err := s.Gate()
			assert.NoError(t, err)
			gates <- g
		}
		return hs.Stream.Close()
	}
	var isClosed atomic.Bool
	b.CloseDevice = func(hd *hooked.Device) error {
		isClosed.Store(true)
		return hd.Device.Close()
	}
	require.NoError(t, m.Close())
	closed := make(chan error, 1)
	go func() { closed <- d.Close() }()
	g := <-gates
	require.Eventually(t, func() bool { return isClosed.Load() || d.Usage().Pending > 0 }, 10*time.Second, time.Millisecond)
	require.False(t, isClosed.Load())
	require.NoError(t, g.Signal())
	require.NoError(t, within(t, closed))
	b.CloseDevice, b.CloseStream = nil, nil
}
