package hal_test

import (
	"context"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// waitingCopies is a backend without page-locked memory, whose copies to host memory wait in the driver until the test lets them go on.
type waitingCopies struct {
	driver.Backend
	entered, leave chan struct{}
}

type waitingDevice struct {
	driver.Device
	b *waitingCopies
}

type waitingStream struct {
	driver.Stream
	driver.Gater
	b *waitingCopies
}

func (b *waitingCopies) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	d, err := b.Backend.Open(ctx, ordinal)
	return waitingDevice{d, b}, err
}

func (d waitingDevice) Info() driver.Info {
	info := d.Device.Info()
	info.Caps = hal.CapGate | hal.CapAddress
	return info
}

func (d waitingDevice) Alloc(k driver.Kind, size, align uint64) (driver.Memory, error) {
	if k == driver.KindHost {
		return nil, &driver.Error{Op: "alloc", Kind: driver.ErrOutOfMemory, Detail: "no page-locked memory"}
	}
	return d.Device.Alloc(k, size, align)
}

func (d waitingDevice) NewStream(o driver.StreamOptions) (driver.Stream, error) {
	s, err := d.Device.NewStream(o)
	return waitingStream{s, s.(driver.Gater), d.b}, err
}

func (s waitingStream) CopyOut(dst unsafe.Pointer, src driver.Region) error {
	s.b.entered <- struct{}{}
	<-s.b.leave
	return s.Stream.CopyOut(dst, src)
}

// While CopyPeer waits in the driver for a copy of pageable memory, other calls on both streams and both devices go on.
func TestCopyPeerInTheDriverHoldsNobodyUp(t *testing.T) {
	b := &waitingCopies{host.New(host.Options{Name: "waiting", Discrete: 1}), make(chan struct{}), make(chan struct{})}
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
	<-b.entered
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
	close(b.leave)
	require.NoError(t, <-copied)
	got := make([]byte, 64)
	require.NoError(t, to.Read(t.Context(), got, n.All()))
	for _, v := range got {
		require.EqualValues(t, 5, v)
	}
	require.NoError(t, hal.CloseAll(from, to, src, dst, m, n))
}
