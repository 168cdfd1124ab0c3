package hal_test

import (
	"context"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/hooked"
)

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
	b.Free = func() { inside <- struct{}{}; <-leave }
	m, err := d.Alloc(hal.KindDevice, 64, 0)
	require.NoError(t, err)
	s, err := d.NewStream(hal.StreamOptions{})
	require.NoError(t, err)
	g, err := s.Gate()
	require.NoError(t, err)
	require.NoError(t, s.Fill(m.All(), hal.Zero))
	require.NoError(t, m.Close())
	require.NoError(t, g.Open())
	<-inside // the free waits from now on

	busy, err := d.NewStream(hal.StreamOptions{})
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

// Memory whose free may wait is not freed while the program holds a gate shut, on whatever stream.
func TestFreeThatWaitsComesAfterGates(t *testing.T) {
	ctx := context.Background()
	freed := make(chan struct{}, 10)
	b := &hooked.Backend{Backend: host.New(host.Options{}), Free: func() { freed <- struct{}{} }}
	d, err := hal.OpenWith(ctx, b, 0)
	require.NoError(t, err)
	elsewhere := openNamed(t, "elsewhere", 0, 0)
	s, err := elsewhere.NewStream(hal.StreamOptions{})
	require.NoError(t, err)
	g, err := s.Gate()
	require.NoError(t, err)
	m, err := d.Alloc(hal.KindDevice, 64, 0)
	require.NoError(t, err)
	require.NoError(t, m.Close())
	require.Equal(t, 1, d.Usage().Pending)
	require.Empty(t, freed)
	require.NoError(t, g.Open())
	require.NoError(t, d.Reclaim(ctx))
	require.Len(t, freed, 1)
	m, err = d.Alloc(hal.KindDevice, 64, 0)
	require.NoError(t, err)
	require.NoError(t, m.Close())
	require.Len(t, freed, 2, "at once without a gate")
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
}

// Memory stays for the marks that it was kept for, of whatever device, and holds nobody else up.
func TestMemoryIsKeptForMarks(t *testing.T) {
	ctx := context.Background()
	d, err := hal.OpenWith(ctx, host.New(host.Options{Name: "here"}), 0)
	require.NoError(t, err)
	other, err := hal.OpenWith(ctx, host.New(host.Options{Name: "there"}), 0)
	require.NoError(t, err)
	s, err := other.NewStream(hal.StreamOptions{})
	require.NoError(t, err)
	m, err := d.Alloc(hal.KindDevice, 64, 0)
	require.NoError(t, err)
	require.ErrorIs(t, m.KeepFor(nil), hal.ErrInvalidArgument)

	before, err := s.Mark()
	require.NoError(t, err)
	require.NoError(t, s.Sync(ctx))
	require.NoError(t, m.KeepFor(before))
	before.Release()
	require.Zero(t, d.Usage().Pending, "for work that has finished")

	g, err := s.Gate()
	require.NoError(t, err)
	for range 3 {
		mark, err := s.Mark()
		require.NoError(t, err)
		require.NoError(t, m.KeepFor(mark))
		mark.Release()
	}
	require.NoError(t, m.Close())
	late, err := s.Mark()
	require.NoError(t, err)
	require.ErrorIs(t, m.KeepFor(late), hal.ErrClosed)
	late.Release()
	require.EqualValues(t, 64, d.Usage().Held)
	next, err := d.Alloc(hal.KindDevice, 32, 0)
	require.NoError(t, err)
	require.NoError(t, next.Close())
	require.EqualValues(t, 64, d.Usage().Held)
	require.NoError(t, g.Open())
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
	s, err := d.NewStream(hal.StreamOptions{})
	require.NoError(t, err)
	calls := make(chan string, 10)
	closing := func(m *hal.Memory, what string) { require.NoError(t, m.CloseThen(func() { calls <- what })) }
	idle, err := d.Register(make([]byte, 64))
	require.NoError(t, err)
	closing(idle, "idle")
	require.Equal(t, "idle", <-calls, "by CloseThen itself")
	closing(idle, "again")

	var gone []string
	bytes := make([]byte, 64)
	defer runtime.KeepAlive(bytes)
	busy, err := d.Adopt(hal.Foreign{Kind: hal.KindHost, Handle: uintptr(unsafe.Pointer(&bytes[0])), Size: 64,
		Release: func() { gone = append(gone, "released") }})
	require.NoError(t, err)
	g, err := s.Gate()
	require.NoError(t, err)
	require.NoError(t, s.Fill(busy.All(), hal.Zero))
	require.NoError(t, busy.CloseThen(func() { gone = append(gone, "given"); calls <- "busy" }))
	require.Empty(t, calls)
	require.NoError(t, g.Open())
	require.Equal(t, "busy", <-calls)
	require.Equal(t, []string{"released", "given"}, gone)
	require.Empty(t, calls, "what was closed before")
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
}
