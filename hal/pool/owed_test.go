package pool_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/pool"
)

// what the program enqueues itself is behind the gate

func TestCloseForeign(t *testing.T) {
	d := openHost(t, 1, 256*mib)
	o := openHost(t, 2, 256*mib)
	p, err := pool.New(d, pool.Options{})
	require.NoError(t, err)
	s := newStream(t, o)
	b := alloc(t, p, nil, 4*kib)
	open := shut(t, s)
	free(t, b, s)
	require.NoError(t, p.Close())
	held := d.Usage().Held
	open()
	require.NotZero(t, held)
	require.NoError(t, d.Reclaim(ctx))
	require.Zero(t, d.Usage().Held)
}

func TestLostWhileRunning(t *testing.T) {
	for _, size := range []uint64{4 * kib, 8 * mib} {
		d := openHost(t, 1, 256*mib)
		p := newPool(t, d, pool.Options{NoStreamAlloc: true})
		s, err := d.NewStream(hal.StreamOptions{})
		require.NoError(t, err)
		b := alloc(t, p, nil, size)
		open := shut(t, s)
		free(t, b, s)
		require.NoError(t, s.Close())
		require.ErrorIs(t, p.Retire(s), hal.ErrClosed)
		p.Trim(0)
		held := d.Usage().Held
		open()
		require.NotZero(t, held, "%d", size)
		require.NoError(t, d.Reclaim(ctx))
		require.Zero(t, d.Usage().Held)
	}
}

func TestPoolCloseClosedStream(t *testing.T) {
	d := openHost(t, 1, 256*mib)
	p, err := pool.New(d, pool.Options{NoStreamAlloc: true})
	require.NoError(t, err)
	s, err := d.NewStream(hal.StreamOptions{})
	require.NoError(t, err)
	b := alloc(t, p, nil, 4*kib)
	open := shut(t, s)
	free(t, b, s)
	require.NoError(t, s.Close())
	require.NoError(t, p.Close())
	held := d.Usage().Held
	open()
	require.NotZero(t, held)
	require.NoError(t, d.Reclaim(ctx))
	require.Zero(t, d.Usage().Held)
}

func TestDirectClosedStream(t *testing.T) {
	d := openHost(t, 1, 256*mib)
	p := pool.Direct(d)
	s, err := d.NewStream(hal.StreamOptions{})
	require.NoError(t, err)
	b := alloc(t, p, nil, 4*kib)
	open := shut(t, s)
	require.NoError(t, s.Close())
	free(t, b, s)
	held := d.Usage().Held
	open()
	require.NotZero(t, held)
	require.NoError(t, d.Reclaim(ctx))
	require.Zero(t, d.Usage().Held)
}

func TestLog(t *testing.T) {
	d := openHost(t, 1, 256*mib)
	var w bytes.Buffer
	l := pool.Log(pool.Direct(d), &w)
	_, err := l.Alloc(nil, hal.Kind(9), 10)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	require.NoError(t, l.Flush())
	_, err = pool.ReadLog(&w)
	require.NoError(t, err)
}

type hookBackend struct {
	*host.Backend
	hook func()
}

func (b *hookBackend) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	d, err := b.Backend.Open(ctx, ordinal)
	return &hookDevice{d, b}, err
}

type hookDevice struct {
	driver.Device
	b *hookBackend
}

func (d *hookDevice) NewStream(o driver.StreamOptions) (driver.Stream, error) {
	s, err := d.Device.NewStream(o)
	return &hookStream{s, s.(driver.Gater), d.b}, err
}

type hookStream struct {
	driver.Stream
	driver.Gater
	b *hookBackend
}

func (s *hookStream) Record(e driver.Event) error {
	if h := s.b.hook; h != nil {
		s.b.hook = nil
		h()
	}
	return s.Stream.Record(e)
}

func TestParkRace(t *testing.T) {
	hb := &hookBackend{Backend: host.New(host.Options{Discrete: 2})}
	d, err := hal.OpenWith(ctx, hb, 1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	p, err := pool.New(d, pool.Options{NoStreamAlloc: true})
	require.NoError(t, err)
	s, other := newStream(t, d), newStream(t, d)
	b := alloc(t, p, nil, 4*kib)
	open := shut(t, other)
	m, err := other.Mark()
	require.NoError(t, err)
	require.NoError(t, b.Use(m))
	m.Release()
	var cerr error
	hb.hook = func() { cerr = p.Close() }
	require.NoError(t, b.Free(s))
	held := d.Usage().Held
	require.ErrorIs(t, cerr, hal.ErrBusy)
	open()
	require.NoError(t, p.Close())
	require.NotZero(t, held)
}
