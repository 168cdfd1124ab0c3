package pool_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/testing/faulty"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// keptUntil wants the device to have memory in use until open has let the work go on that uses it.
func keptUntil(t *testing.T, d *hal.Device, open func()) {
	t.Helper()
	held := d.Usage().Held
	open()
	require.NotZero(t, held)
	require.NoError(t, d.Reclaim(ctx))
	require.Zero(t, d.Usage().Held)
}

// A pool that is closed leaves memory to the work of another device's stream.
func TestCloseLeavesMemoryToOtherDevice(t *testing.T) {
	d := openHost(t, 1, 256*mib)
	o := openHost(t, 2, 256*mib)
	p, err := pool.New(d)
	require.NoError(t, err)
	s := newStream(t, o)
	b := alloc(t, p, nil, 4*kib)
	open := shut(t, s)
	free(t, b, s)
	require.NoError(t, p.Close())
	keptUntil(t, d, open)
}

// Trimming leaves memory to the work of a stream that was closed after the block was freed to it.
func TestTrimLeavesMemoryToClosedStream(t *testing.T) {
	for _, size := range []uint64{4 * kib, 8 * mib} {
		d := openHost(t, 1, 256*mib)
		p := newPool(t, d, pool.WithoutStreamAlloc())
		s, err := d.NewStream()
		require.NoError(t, err)
		b := alloc(t, p, nil, size)
		open := shut(t, s)
		free(t, b, s)
		require.NoError(t, s.Close())
		require.ErrorIs(t, p.ForgetStream(s), hal.ErrClosed)
		p.Trim(0)
		keptUntil(t, d, open)
	}
}

// So does closing the pool.
func TestCloseLeavesMemoryToClosedStream(t *testing.T) {
	d := openHost(t, 1, 256*mib)
	p, err := pool.New(d, pool.WithoutStreamAlloc())
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	b := alloc(t, p, nil, 4*kib)
	open := shut(t, s)
	free(t, b, s)
	require.NoError(t, s.Close())
	require.NoError(t, p.Close())
	keptUntil(t, d, open)
}

// A block that is freed to a closed stream waits for what the stream still has to do.
func TestDirectFreeToClosedStream(t *testing.T) {
	d := openHost(t, 1, 256*mib)
	p := pool.Direct(d)
	s, err := d.NewStream()
	require.NoError(t, err)
	b := alloc(t, p, nil, 4*kib)
	open := shut(t, s)
	require.NoError(t, s.Close())
	free(t, b, s)
	keptUntil(t, d, open)
}

// A pool that is closed while a block is on its way back is busy, and keeps the block's memory.
func TestCloseDuringFree(t *testing.T) {
	hb := &hooked.Backend{Backend: host.New(host.Options{Discrete: 2})}
	d := fixture.Device(t, hb, 1)
	p, err := pool.New(d, pool.WithoutStreamAlloc())
	require.NoError(t, err)
	s, other := newStream(t, d), newStream(t, d)
	b := alloc(t, p, nil, 4*kib)
	open := shut(t, other)
	m, err := layer.RecordShared(other)
	require.NoError(t, err)
	require.NoError(t, b.KeepUntil(m))
	m.Close()
	var cerr error
	hb.Record = func(s *hooked.Stream, e *hooked.Event) error {
		hb.Record = nil
		cerr = p.Close()
		return s.Stream.Record(e.Event)
	}
	require.NoError(t, b.Free(s))
	held := d.Usage().Held
	require.ErrorIs(t, cerr, hal.ErrBusy)
	open()
	require.NoError(t, p.Close())
	require.NotZero(t, held)
}

// Memory waits for the uses of a freed block though the device has no more streams to give.
func TestFreeWithoutAnotherStream(t *testing.T) {
	f := faulty.New(host.New(host.Options{Discrete: 1}))
	d := fixture.Device(t, f, 1)
	s := newStream(t, openHost(t, 2, 256*mib))
	b := alloc(t, pool.Direct(d), nil, 4*kib)
	open := shut(t, s)
	m, err := layer.RecordShared(s)
	require.NoError(t, err)
	require.NoError(t, b.KeepUntil(m))
	m.Close()
	f.Fail(1, driver.ErrOutOfMemory)
	free(t, b, nil)
	f.Fail(0, driver.ErrOutOfMemory)
	keptUntil(t, d, open)
}
