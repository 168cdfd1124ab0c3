package buffer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

// pooled gives the device a pool, which is closed before the device and must then hold nothing.
func pooled(tb testing.TB, d *hal.Device, opts ...pool.Option) *pool.Pool {
	tb.Helper()
	p, err := pool.New(d, opts...)
	require.NoError(tb, err)
	buffer.SetAllocator(d, p)
	tb.Cleanup(func() {
		buffer.SetAllocator(d, nil)
		assert.NoError(tb, p.Close())
		assert.Eventually(tb, func() bool { return d.Usage().Held == 0 }, patience, tick)
	})
	return p
}

func read(t *testing.T, s *hal.Stream, b *buffer.Buffer[uint32]) (got []byte) {
	t.Helper()
	l, err := b.TryAcquire(s, coherence.Read)
	require.NoError(t, err)
	got = make([]byte, b.Size())
	require.NoError(t, s.CopyOut(got, l.Region()))
	require.NoError(t, l.Release())
	require.NoError(t, s.Sync(ctx))
	return got
}

func TestReplicasShareAPoolsMemory(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	pooled(t, d)
	s := newStream(t, d)
	var offsets []uint64
	var bs []*buffer.Buffer[uint32]
	for i := range uint32(3) {
		b := written(t, s, 100, i+1)
		bs = append(bs, b)
		l, err := b.TryAcquire(s, coherence.Read)
		require.NoError(t, err)
		r := l.Region()
		offsets = append(offsets, r.Off)
		require.Equal(t, r.Mem.Handle()+uintptr(r.Off), l.Pointer())
		require.NoError(t, l.Release())
		m, err := b.Memory(d)
		require.NoError(t, err)
		require.Equal(t, r, m)
		part, err := b.Slice(10, 20)
		require.NoError(t, err)
		l, err = part.TryAcquire(s, coherence.ReadWrite)
		require.NoError(t, err)
		require.Equal(t, hal.Region{Mem: r.Mem, Off: r.Off + 40, Len: 40}, l.Region())
		require.NoError(t, s.Fill(l.Region(), hal.Pattern32(i+10)))
		require.NoError(t, l.Release())
		require.NoError(t, b.MarkModified(s))
	}
	require.NotEqual(t, offsets[0], offsets[1])
	require.Equal(t, uint64(1), d.Usage().Allocations, "one chunk for all")
	require.Equal(t, uint64(1200), buffer.ResidencyOf(d).Used)
	for i, b := range bs {
		got := contents(t, b)
		require.Equal(t, uint32(i+1), got[9])
		require.Equal(t, uint32(i+10), got[10])
		require.Equal(t, uint32(i+1), got[20])
		c, err := b.Clone(ctx)
		require.NoError(t, err)
		require.NoError(t, b.Evict(ctx, d))
		require.Equal(t, uint32(i+10), contents(t, c)[10])
		require.NoError(t, c.Close())
	}
	require.Zero(t, buffer.ResidencyOf(d).Used)
	require.Equal(t, uint64(1), d.Usage().Allocations)
}

// wrapped is an allocator of the program's own around another.
type wrapped struct{ pool.Allocator }

func (w *wrapped) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (pool.Block, error) {
	b, err := w.Allocator.Alloc(stream, kind, size)
	return b.From(w), err
}

func TestOptionAllocator(t *testing.T) {
	devs := openMany(t, "one", 2, 1, 2)
	p, err := pool.New(devs[0])
	require.NoError(t, err)
	c := &wrapped{p}
	s, other := newStream(t, devs[0]), newStream(t, devs[1])
	b, err := buffer.New[uint32](10, buffer.WithAllocator(devs[0], c), buffer.WithAllocator(devs[1], c), buffer.WithPinnedHost(devs[0]))
	require.NoError(t, err)
	fill(t, s, b, 6)
	require.Equal(t, uint32(6), contents(t, b)[9])
	require.Equal(t, int64(80), int64(p.Stats().Asked), "on the device and on the host")
	_, err = b.TryAcquire(other, coherence.Read)
	require.ErrorIs(t, err, hal.ErrWrongDevice)
	require.Equal(t, uint32(6), contents(t, b)[9])
	require.NoError(t, b.Close())
	require.Zero(t, p.Stats().Asked)
	require.NoError(t, p.Close())

	// A device's allocator, and a buffer that does without.
	pooled(t, devs[0])
	b, err = buffer.New[uint32](10, buffer.WithAllocator(devs[0], nil))
	require.NoError(t, err)
	fill(t, s, b, 6)
	l, err := b.TryAcquire(s, coherence.Read)
	require.NoError(t, err)
	require.Equal(t, uint64(40), l.Region().Mem.Size())
	require.NoError(t, l.Release())
	require.NoError(t, b.Close())
}

// What was never written reads as zeros, whoever had the memory before.
func TestPoolsLeftoversAreNotSeen(t *testing.T) {
	for _, opts := range [][]pool.Option{nil, {pool.WithLarge(64)}} {
		d := openMany(t, "one", 1, 1)[0]
		s := newStream(t, d)
		p := pooled(t, d, opts...)
		for _, kind := range []hal.Kind{hal.KindDevice, hal.KindHost} {
			poison, err := p.Alloc(s, kind, 400)
			require.NoError(t, err)
			r, err := poison.Region()
			require.NoError(t, err)
			require.NoError(t, s.Fill(r, hal.Pattern8(0xff)))
			require.NoError(t, poison.Free(s))
			if kind == hal.KindHost {
				require.NoError(t, s.Sync(ctx))
			}
		}
		b, err := buffer.New[uint32](100, buffer.WithPinnedHost(d))
		require.NoError(t, err)
		part, err := b.Slice(3, 5)
		require.NoError(t, err)
		fill(t, s, part, 1)
		got := read(t, s, b)
		require.Equal(t, make([]byte, 12), got[:12])
		require.Equal(t, make([]byte, 380), got[20:])
		require.NoError(t, b.Close())
		b, err = buffer.New[uint32](100, buffer.WithPinnedHost(d))
		require.NoError(t, err)
		require.Equal(t, make([]uint32, 100), contents(t, b))
		require.NoError(t, b.Close())
	}
}

// A replica's memory is another's at once, on the stream that used it last, while that still works.
func TestPooledMemoryIsUsedAgainInStreamOrder(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	pooled(t, d)
	s, other := newStream(t, d), newStream(t, d)
	g, err := s.Gate()
	require.NoError(t, err)
	var at hal.Region
	for i := range uint32(100) {
		b, err := buffer.New[uint32](64)
		require.NoError(t, err)
		fill(t, s, b, i)
		m, err := b.Memory(d)
		require.NoError(t, err)
		if i == 0 {
			at = m
		}
		require.Equal(t, at, m, "the same memory, without waiting")
		if i < 99 {
			require.NoError(t, b.Close())
			continue
		}
		// Elsewhere it may be used only behind all of that, even where nothing was written.
		require.NoError(t, b.Close())
		b, err = buffer.New[uint32](64)
		require.NoError(t, err)
		left, err := b.Slice(0, 32)
		require.NoError(t, err)
		right, err := b.Slice(32, 64)
		require.NoError(t, err)
		fill(t, s, left, 5)
		m, err = b.Memory(d)
		require.NoError(t, err)
		require.Equal(t, at, m)
		fill(t, other, right, 6)
		done, err := other.Done()
		require.NoError(t, err)
		require.False(t, done)
		require.NoError(t, g.Signal())
		got := contents(t, b)
		require.Equal(t, uint32(5), got[31])
		require.Equal(t, uint32(6), got[32])
		require.NoError(t, b.Close())
	}
}

func TestPooledMemoryWaitsForEveryStreamThatUsedIt(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	pooled(t, d)
	slow, s := newStream(t, d), newStream(t, d)
	b, err := buffer.New[uint32](64)
	require.NoError(t, err)
	fill(t, s, b, 7)
	g, err := slow.Gate()
	require.NoError(t, err)
	got := make([]byte, 256)
	l, err := b.TryAcquire(slow, coherence.Read)
	require.NoError(t, err)
	require.NoError(t, slow.CopyOut(got, l.Region()))
	require.NoError(t, l.Release())
	l, err = b.TryAcquire(s, coherence.Read)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	require.NoError(t, b.Close())
	for range 4 { // whoever gets memory now must not write to what the slow stream reads
		c := written(t, s, 64, 8)
		require.NoError(t, c.SyncTo(ctx, d))
	}
	require.NoError(t, s.Sync(ctx))
	require.NoError(t, g.Signal())
	require.NoError(t, slow.Sync(ctx))
	require.Equal(t, byte(7), got[252])
}

func TestPoolGivesMemoryBackBeforeReplicasAreEvicted(t *testing.T) {
	d := fixture.Device(t, host.New(host.Options{Name: "small", Discrete: 1, MemoryLimit: 1 << 20}), 1)
	p := pooled(t, d, pool.WithChunk(64<<10), pool.WithLarge(32<<10))
	s := newStream(t, d)
	kept := written(t, s, 75<<10, 1) // 300 KiB
	gone := written(t, s, 75<<10, 2)
	require.NoError(t, gone.Close())
	require.NoError(t, s.Sync(ctx)) // what is in use stays
	require.Equal(t, uint64(600<<10), p.Stats().Reserved)
	// A buffer that does without the pool needs what the pool keeps.
	x, err := buffer.New[uint32](150<<10, buffer.WithAllocator(d, nil))
	require.NoError(t, err)
	fill(t, s, x, 3)
	require.Equal(t, "DEVICE_ONLY", kept.State().Name, "not evicted")
	require.Zero(t, buffer.ResidencyOf(d).Evictions)
	// And now somebody has to go.
	y := written(t, s, 100<<10, 4)
	require.NotZero(t, buffer.ResidencyOf(d).Evictions)
	for i, b := range []*buffer.Buffer[uint32]{1: kept, 3: x, 4: y} {
		if b != nil {
			require.Equal(t, uint32(i), contents(t, b)[70<<10])
		}
	}
	require.NoError(t, x.Close())
}

func TestPoolsLimitEvicts(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	pooled(t, d, pool.WithLimit(1<<20))
	s := newStream(t, d)
	var bs []*buffer.Buffer[uint32]
	for i := range uint32(16) {
		bs = append(bs, written(t, s, 64<<10, i)) // 256 KiB
	}
	for i, b := range bs {
		require.Equal(t, uint32(i), contents(t, b)[12345])
		require.NoError(t, b.SyncTo(ctx, d))
	}
	require.LessOrEqual(t, buffer.ResidencyOf(d).Used, uint64(1<<20))
	huge := newBuffer(t, make([]uint32, 1<<20))
	require.ErrorIs(t, huge.SyncTo(ctx, d), hal.ErrOutOfMemory)
	require.Equal(t, uint32(15), contents(t, bs[15])[0])
}

// A replica whose memory goes back to another allocator is evicted too, also if it was clean when it came and has the only copy now.
func TestReplicasOfAnotherAllocatorMakeRoom(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	p := pooled(t, d)
	buffer.SetBudget(d, 600)
	direct := newBuffer(t, make([]uint32, 100))
	use(t, direct, s, coherence.Read)
	fill(t, s, direct, 7)
	b, err := buffer.New[uint32](100, buffer.WithAllocator(d, p))
	require.NoError(t, err)
	use(t, b, s, coherence.Read)
	require.EqualValues(t, 1, buffer.ResidencyOf(d).Evictions)
	require.EqualValues(t, 7, contents(t, direct)[99])
	require.NoError(t, b.Close())
}

// A budget counts all replicas alike: the least recently used one goes, whichever allocator its memory is from.
func TestABudgetPrefersNoAllocator(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	first, err := buffer.New[uint32](100, buffer.WithAllocator(d, fixture.Pool(t, d)))
	require.NoError(t, err)
	second, third := newBuffer(t, make([]uint32, 100)), newBuffer(t, make([]uint32, 100))
	buffer.SetBudget(d, 1000)
	for i, b := range []*buffer.Buffer[uint32]{first, second, third} {
		fill(t, s, b, uint32(i))
	}
	require.EqualValues(t, 1, buffer.ResidencyOf(d).Evictions)
	require.Equal(t, []string{"host"}, validAt(first))
	require.Equal(t, []string{d.Name()}, validAt(second))
	require.NoError(t, first.Close())
}
