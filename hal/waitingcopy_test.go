package hal_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// While CopyPeer waits in the driver for a copy of pageable memory, other calls on both streams and both devices go on.
func TestCopyPeerInTheDriverHoldsNobodyUp(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	b := &hooked.Backend{
		Backend: host.New(host.Options{Name: "waiting", Discrete: 1}),
		Info:    func(i driver.Info) driver.Info { i.Caps = hal.CapGate | hal.CapAddress; return i },
		Alloc: func(d *hooked.Device, k driver.Kind, size, align uint64) (*hooked.Memory, error) {
			if k == driver.KindHost {
				return nil, &driver.Error{Op: "alloc", Kind: driver.ErrOutOfMemory, Detail: "no page-locked memory"}
			}
			return d.PlainAlloc(k, size, align)
		},
		CopyOut: func(s *hooked.Stream, dst unsafe.Pointer, src driver.Region) error {
			entered <- struct{}{}
			<-leave
			return s.Stream.CopyOut(dst, src)
		},
	}
	from, err := hal.OpenWith(t.Context(), b, 1)
	require.NoError(t, err)
	to := openNamed(t, "elsewhere", 1, 1)
	src, dst := openStream(t, from), openStream(t, to)
	m, err := from.Alloc(hal.KindDevice, 64, 0)
	require.NoError(t, err)
	n, err := to.Alloc(hal.KindDevice, 64, 0)
	require.NoError(t, err)
	require.NoError(t, src.Fill(m.All(), hal.Pattern8(5)))
	copied := make(chan error, 1)
	go func() { copied <- hal.CopyPeer(dst, n.All(), src, m.All()) }()
	<-entered
	for _, s := range []*hal.Stream{src, dst} { // each of these would hang if the copy held a lock
		x, err := s.Device().Alloc(hal.KindDevice, 64, 0)
		require.NoError(t, err)
		require.NoError(t, s.Fill(x.All(), hal.Zero))
		_, err = s.Done()
		require.NoError(t, err)
		e, err := s.Record()
		require.NoError(t, err)
		require.NoError(t, s.WaitEvent(e))
		require.NoError(t, e.Sync(t.Context()))
		require.NoError(t, e.Close())
		require.NoError(t, s.Sync(t.Context()))
		require.NoError(t, x.Close())
		require.NoError(t, s.Device().Reclaim(t.Context()))
	}
	require.Empty(t, copied)
	close(leave)
	require.NoError(t, <-copied)
	got := make([]byte, 64)
	require.NoError(t, to.Read(t.Context(), got, n.All()))
	for _, v := range got {
		require.EqualValues(t, 5, v)
	}
	require.NoError(t, hal.CloseAll(from, to, src, dst, m, n))
}
