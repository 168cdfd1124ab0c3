package hal_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// Memory is looked out for also where what looks out has served others before, and memory that was closed is not.
func TestLeaksAmongClosedMemory(t *testing.T) {
	leaks := make(chan hal.Leak, 1000)
	previous := hal.SetLeakHandler(func(l hal.Leak) { leaks <- l })
	defer func() { hal.SetLeakHandler(previous) }()
	d := openHost(t, 1, 1)
	closed := make([]*hal.Memory, 600) // more than are kept
	for range 2 {
		for i := range closed {
			m, err := d.Alloc(hal.KindDevice, 64, 0)
			require.NoError(t, err)
			closed[i] = m
		}
		for i, m := range closed {
			require.NoError(t, m.Close())
			closed[i] = nil
		}
	}
	for range 300 {
		_, err := d.Alloc(hal.KindDevice, 4321, 0)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { runtime.GC(); return d.Usage().Held == 0 }, 10*time.Second, time.Millisecond)
	require.Len(t, leaks, 300)
	for range 300 {
		require.Equal(t, hal.Leak{Object: "device memory of 4321 bytes", Device: "host:1"}, <-leaks)
	}
}

func TestAllocationsOfAlloc(t *testing.T) {
	d, err := hal.OpenWith(context.Background(), freeBackend{host.New(host.Options{})}, 0)
	require.NoError(t, err)
	require.LessOrEqual(t, testing.AllocsPerRun(1000, func() {
		m, err := d.Alloc(hal.KindDevice, 64, 0)
		require.NoError(t, err)
		_ = m.Close()
	}), 2.)
	require.NoError(t, d.Close())
}

// Leaked events do not keep their handle open, however long it takes until the driver's events are given back.
func TestLeakedEventsLeaveTheirHandleAtOnce(t *testing.T) {
	leaks := make(chan hal.Leak, 1000)
	previous := hal.SetLeakHandler(func(l hal.Leak) { leaks <- l })
	defer func() { hal.SetLeakHandler(previous) }()
	entered, leave := make(chan struct{}), make(chan struct{})
	b := &hooked.Backend{Backend: host.New(host.Options{}), Free: func(m *hooked.Memory) error {
		entered <- struct{}{}
		<-leave
		return m.PlainFree()
	}}
	other, err := hal.OpenWith(t.Context(), b, 0)
	require.NoError(t, err)
	d, err := hal.OpenWith(t.Context(), b, 0)
	require.NoError(t, err)
	func() {
		_, err := other.Alloc(hal.KindDevice, 64, 0)
		require.NoError(t, err)
	}()
	collect := func(n int) {
		require.Eventually(t, func() bool { runtime.GC(); return len(leaks) >= n }, 10*time.Second, time.Millisecond)
	}
	collect(1)
	<-entered // what gives closed objects back is held up from here on
	s, err := d.NewStream()
	require.NoError(t, err)
	for range 100 {
		_, err := s.Record()
		require.NoError(t, err)
	}
	collect(101)
	require.NoError(t, s.Close())
	require.Eventually(t, func() bool { return d.Close() == nil }, 10*time.Second, time.Millisecond)
	close(leave)
	require.NoError(t, other.Close())
}
