package pool_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/layer"
)

func TestNewRefusesOptionsThatMakeNoSense(t *testing.T) {
	d := openHost(t, 1, 0)
	for name, row := range map[string]struct {
		opts []pool.Option
		kind error
	}{
		"small chunk": {[]pool.Option{pool.WithChunk(100)}, hal.ErrInvalidArgument},
		"large":       {[]pool.Option{pool.WithChunk(mib), pool.WithLarge(2 * mib)}, hal.ErrInvalidArgument},
		"nil":         {[]pool.Option{nil}, hal.ErrInvalidArgument},
	} {
		_, err := pool.New(d, row.opts...)
		require.ErrorIs(t, err, row.kind, name)
	}
	_, err := pool.New(nil)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
}

func TestAllocRefusesWhatMakesNoSense(t *testing.T) {
	d, other := openHost(t, 1, 64*mib), openHost(t, 2, 0)
	p, s, foreign := newPool(t, d), newStream(t, d), newStream(t, other)
	for name, row := range map[string]struct {
		stream *hal.Stream
		kind   hal.Kind
		size   uint64
		want   error
	}{
		"kind 0":          {s, 0, 1, hal.ErrInvalidArgument},
		"no bytes of it":  {s, 0, 0, hal.ErrInvalidArgument},
		"none, elsewhere": {foreign, hal.KindDevice, 0, hal.ErrWrongDevice},
		"kind 9":          {s, 9, 1, hal.ErrInvalidArgument},
		"another device":  {foreign, hal.KindDevice, 1, hal.ErrWrongDevice},
		"too large":       {s, hal.KindDevice, 65 * mib, hal.ErrOutOfMemory},
		"far too large":   {s, hal.KindDevice, math.MaxUint64, hal.ErrOutOfMemory},
		"many exabytes":   {s, hal.KindDevice, 1 << 62, hal.ErrOutOfMemory},
		"a little larger": {s, hal.KindDevice, 1<<41 + 1, hal.ErrOutOfMemory},
	} {
		_, err := p.Alloc(row.stream, row.kind, row.size)
		require.ErrorIs(t, err, row.want, name)
	}
	require.Zero(t, p.Stats().Blocks)
	require.Zero(t, p.Stats().Reserved)
	require.Zero(t, d.Usage().Held)

	// Freed on another device's stream, a block still is not given to that stream.
	x := alloc(t, p, s, 256)
	free(t, x, foreign)
	_, err := p.Alloc(foreign, hal.KindDevice, 256)
	require.ErrorIs(t, err, hal.ErrWrongDevice)

	none := masked(t, hal.CapShared)
	q := newPool(t, none)
	_, err = q.Alloc(nil, hal.KindShared, 1)
	require.ErrorIs(t, err, hal.ErrUnsupported)
	require.Zero(t, q.Stats().Reserved)
}

func TestStaleBlocksAreRefused(t *testing.T) {
	d := openHost(t, 1, 0)
	p, q, s := newPool(t, d), newPool(t, d), newStream(t, d)
	m, err := layer.RecordShared(s)
	require.NoError(t, err)
	defer m.Close()
	stale := func(b pool.Block) {
		t.Helper()
		before := p.Stats()
		require.ErrorIs(t, b.Free(s), hal.ErrClosed)
		require.ErrorIs(t, b.Free(nil), hal.ErrClosed)
		_, err := b.Region()
		require.ErrorIs(t, err, hal.ErrClosed)
		require.ErrorIs(t, b.KeepUntil(m), hal.ErrClosed)
		require.ErrorIs(t, b.RecordUse(s), hal.ErrClosed)
		require.False(t, b.Valid())
		require.Zero(t, b.Size())
		require.Zero(t, b.Capacity())
		require.Zero(t, b.Kind())
		require.Equal(t, before, p.Stats(), "a refused call had an effect")
	}
	stale(pool.Block{})
	require.ErrorIs(t, p.Free(pool.Block{}, s), hal.ErrClosed)
	for _, size := range sizes {
		x := alloc(t, p, s, size)
		copied := x
		require.True(t, copied.Valid())
		require.Equal(t, size, x.Size())
		require.Equal(t, hal.KindDevice, x.Kind())
		require.ErrorIs(t, q.Free(x, s), hal.ErrInvalidArgument, "another pool's")
		require.ErrorIs(t, pool.Direct(d).Free(x, s), hal.ErrInvalidArgument)
		require.ErrorIs(t, x.KeepUntil(nil), hal.ErrInvalidArgument)
		require.ErrorIs(t, x.RecordUse(nil), hal.ErrInvalidArgument)
		free(t, x, s)
		stale(x)
		stale(copied)
		// Somebody else has the same memory now.
		y := alloc(t, p, s, size)
		require.Equal(t, region(t, y).Off, region(t, y).Off)
		stale(x)
		require.True(t, y.Valid())
		free(t, y, s)
		p.Trim(0)
		stale(x)
		stale(y)
	}
}

func TestClosedPool(t *testing.T) {
	d := openHost(t, 1, 0)
	s := newStream(t, d)
	p, err := pool.New(d)
	require.NoError(t, err)
	x, y := alloc(t, p, s, 256), alloc(t, p, nil, 256)
	free(t, x, s)
	free(t, y, nil)
	require.NoError(t, p.Close())
	require.NoError(t, p.Close(), "twice")
	for _, stream := range []*hal.Stream{s, nil} {
		_, err = p.Alloc(stream, hal.KindDevice, 256)
		require.ErrorIs(t, err, hal.ErrClosed)
		require.ErrorIs(t, x.Free(stream), hal.ErrClosed)
		require.ErrorIs(t, y.Free(stream), hal.ErrClosed)
	}
	require.Zero(t, p.Trim(0))
	require.Zero(t, d.Usage().Held)
}

func TestCloseSaysWhatIsLive(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *hal.Device) {
		s := newStream(t, d)
		p, err := pool.New(d)
		require.NoError(t, err)
		x, y := alloc(t, p, s, 3*kib), alloc(t, p, s, 9*mib)
		z, err := p.Alloc(nil, hal.KindHost, 512)
		require.NoError(t, err)
		free(t, alloc(t, p, s, 3*kib), s)
		before := p.Stats()
		for range 2 {
			err = p.Close()
			require.ErrorIs(t, err, hal.ErrBusy)
			require.ErrorContains(t, err, "3 blocks are live, of 9.00 MiB together")
			require.Equal(t, before, p.Stats())
		}
		// It goes on as before, with streams and kinds that are new to it as well.
		free(t, alloc(t, p, newStream(t, d), 256), s)
		free(t, x, s)
		free(t, y, nil)
		free(t, z, nil)
		require.NoError(t, p.Close())
		require.Zero(t, d.Usage().Held)
	})
}

// Close does not wait, and the memory stays until the work is done, also where nobody but the pool has been
// told of it.
func TestCloseLeavesWorkItsMemory(t *testing.T) {
	for name, size := range sizes {
		for how, tell := range map[string]func(x pool.Block, busy *hal.Stream) (on *hal.Stream, err error){
			"freed on": func(x pool.Block, busy *hal.Stream) (*hal.Stream, error) { return busy, nil },
			"mark": func(x pool.Block, busy *hal.Stream) (*hal.Stream, error) {
				m, err := layer.RecordShared(busy)
				require.NoError(t, err)
				defer m.Close()
				return nil, x.KeepUntil(m)
			},
			"fence": func(x pool.Block, busy *hal.Stream) (*hal.Stream, error) {
				m, err := layer.RecordShared(busy)
				require.NoError(t, err)
				defer m.Close()
				return nil, x.KeepUntil(m)
			},
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				d := openHost(t, 1, 0)
				s, busy := newStream(t, d), newStream(t, d)
				p, err := pool.New(d, pool.WithLimit(8*mib), pool.WithChunk(8*mib), pool.WithLarge(8*mib), pool.WithoutWaits())
				require.NoError(t, err)
				shut(t, busy)
				x := alloc(t, p, nil, size)
				on, err := tell(x, busy)
				require.NoError(t, err)
				free(t, x, on)
				if how == "fence" {
					// Failing, the pool looks at all that it has.
					_, err := p.Alloc(s, hal.KindDevice, 7*mib)
					require.ErrorIs(t, err, hal.ErrOutOfMemory)
				}
				held := d.Usage().Held
				require.GreaterOrEqual(t, held, size)
				require.NoError(t, p.Close())
				require.Equal(t, held, d.Usage().Held, "memory was taken from under the work")
			})
		}
	}
}

func TestLargeBlocksHaveExactSizes(t *testing.T) {
	for async, opts := range map[bool][]pool.Option{true: nil, false: {pool.WithoutStreamAlloc()}} {
		d := openHost(t, 1, 0)
		p, s := newPool(t, d, opts...), newStream(t, d)
		var sum uint64
		for _, kind := range []hal.Kind{hal.KindDevice, hal.KindHost, hal.KindShared} {
			for _, size := range []uint64{4*mib + 1, 5*mib + 3, 7777777} {
				b, err := p.Alloc(s, kind, size)
				require.NoError(t, err)
				sum += size
				require.Equal(t, size, b.Capacity())
				require.Equal(t, hal.Region{Mem: region(t, b).Mem, Len: size}, region(t, b))
				require.Equal(t, sum, d.Usage().Held)
				require.Equal(t, async && kind == hal.KindDevice, b.Ordered(), "allocated in the stream's order")
				defer free(t, b, s)
			}
		}
		// A free one serves what is less than an eighth smaller.
		b, err := p.Alloc(s, hal.KindHost, 16*mib)
		require.NoError(t, err)
		free(t, b, s)
		sum += 16 * mib
		for _, size := range []uint64{16 * mib, 15*mib + 1} {
			b, err = p.Alloc(s, hal.KindHost, size)
			require.NoError(t, err)
			require.Equal(t, sum, d.Usage().Held)
			free(t, b, s)
		}
		b, err = p.Alloc(s, hal.KindHost, 14*mib)
		require.NoError(t, err)
		require.Equal(t, sum+14*mib, d.Usage().Held)
		free(t, b, s)
	}
}

func TestBlocksAreAligned(t *testing.T) {
	d := openHost(t, 1, 0)
	p, align := newPool(t, d), d.Info().Alignment
	for _, size := range []uint64{1, 257, 5000, 100 * kib, 5 * mib} {
		for range 3 {
			b := alloc(t, p, nil, size)
			r := region(t, b)
			require.Zero(t, (uint64(r.Mem.Handle())+r.Off)%align, "size %d", size)
			defer free(t, b, nil)
		}
	}
}

func TestNeighboursMerge(t *testing.T) {
	d := openHost(t, 1, 0)
	p, s := newPool(t, d, pool.WithChunk(256*kib), pool.WithLarge(256*kib), pool.WithLimit(256*kib)), newStream(t, d)
	var all []pool.Block
	for range 8 {
		all = append(all, alloc(t, p, s, 32*kib))
	}
	_, err := p.Alloc(s, hal.KindDevice, 1)
	require.ErrorIs(t, err, hal.ErrOutOfMemory)
	for _, i := range []int{3, 0, 2, 7, 1, 5, 6, 4} {
		free(t, all[i], s)
	}
	finish(t, s)
	x, y := alloc(t, p, s, 128*kib), alloc(t, p, s, 128*kib)
	assert.EqualValues(t, 1, p.Stats().DeviceAllocs)
	free(t, x, s)
	free(t, y, s)
}

func TestLimitReportsWhatIsHeld(t *testing.T) {
	d := openHost(t, 1, 0)
	p, s := newPool(t, d, pool.WithLimit(20*mib)), newStream(t, d)
	x := alloc(t, p, s, 10*mib)
	y := alloc(t, p, s, 5*mib)
	z, err := p.Alloc(s, hal.KindHost, 4*mib)
	require.NoError(t, err)
	_, err = p.Alloc(s, hal.KindDevice, 6*mib)
	require.ErrorIs(t, err, hal.ErrOutOfMemory)
	var e *hal.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, d.Name(), hal.Info{Backend: e.Backend, Ordinal: e.Device}.Name())
	require.Equal(t, 6*mib, e.Shortage.Request)
	require.Equal(t, hal.KindDevice, e.Shortage.Kind)
	var who *pool.ExhaustedError
	require.ErrorAs(t, err, &who)
	require.Equal(t, 20*mib, who.Limit)
	require.Equal(t, p.Stats(), who.Stats)
	require.ErrorContains(t, err, "limit of 20971520")
	require.ErrorContains(t, err, "the pool has taken 19 MiB of at most 20 MiB, of which 3 blocks hold 19 MiB")
	require.Equal(t, 1, strings.Count(err.Error(), "out of memory"), "%v", err)
	require.EqualValues(t, 1, p.Stats().Failures)

	// What is cached goes to make room, whatever its kind.
	free(t, x, s)
	free(t, z, s)
	finish(t, s)
	x = alloc(t, p, s, 15*mib)
	require.Equal(t, 20*mib, p.Stats().Reserved)
	free(t, x, s)
	free(t, y, s)
}

// When the device has no more, the pool first gives back what it keeps, of every kind of device memory.
func TestDeviceShortageEmptiesTheCache(t *testing.T) {
	d := openHost(t, 1, 32*mib)
	p, s := newPool(t, d), newStream(t, d)
	for _, kind := range []hal.Kind{hal.KindDevice, hal.KindShared, hal.KindHost} {
		for _, size := range []uint64{300, 5 * mib} {
			b, err := p.Alloc(s, kind, size)
			require.NoError(t, err)
			free(t, b, s)
		}
	}
	b := alloc(t, p, s, 32*mib)
	require.NotZero(t, p.Stats().Unused(), "page-locked memory is none of the device's")
	_, err := p.Alloc(s, hal.KindShared, 1)
	require.ErrorIs(t, err, hal.ErrOutOfMemory)
	var who *pool.ExhaustedError
	require.ErrorAs(t, err, &who)
	free(t, b, s)
	b = alloc(t, p, s, 300)
	free(t, b, s)
}

func TestChunksGrowAndShrinkToWhatThereIs(t *testing.T) {
	d := openHost(t, 1, 3*mib)
	p := newPool(t, d)
	var all []pool.Block
	for {
		b, err := p.Alloc(nil, hal.KindDevice, 64*kib)
		if err != nil {
			require.ErrorIs(t, err, hal.ErrOutOfMemory)
			break
		}
		all = append(all, b)
	}
	require.Len(t, all, 48, "all of the device's memory can be had")
	for _, b := range all {
		free(t, b, nil)
	}
	require.Equal(t, 3*mib, p.Trim(0))
}

func TestTrim(t *testing.T) {
	d := openHost(t, 1, 0)
	p, s, busy := newPool(t, d), newStream(t, d), newStream(t, d)
	live := alloc(t, p, s, 6*mib)
	var all []pool.Block
	for range 4 {
		all = append(all, alloc(t, p, s, 5*mib))
	}
	small := alloc(t, p, s, 100)
	for _, b := range append(all, small) {
		free(t, b, s)
	}
	used := alloc(t, p, busy, 9*mib)
	open := shut(t, busy)
	fill(t, busy, used, 1)
	free(t, used, busy)
	require.Equal(t, 37*mib, d.Usage().Held)
	require.Equal(t, 31*mib, p.Stats().Unused())
	require.Zero(t, p.Trim(31*mib))
	require.Equal(t, 10*mib, p.Trim(21*mib+1))
	require.Equal(t, 12*mib, p.Trim(0), "what work still uses stays")
	require.Equal(t, 15*mib, d.Usage().Held)
	open()
	finish(t, busy)
	require.Equal(t, 9*mib, p.Trim(0))
	require.Equal(t, 6*mib, d.Usage().Held)
	free(t, live, s)
	require.Equal(t, 6*mib, p.Trim(0))
	require.Zero(t, p.Stats().Reserved)
	require.Equal(t, 37*mib, p.Stats().Peak)
}

func TestMaxCachedIsKept(t *testing.T) {
	d := openHost(t, 1, 0)
	p, s := newPool(t, d, pool.WithMaxCached(20*mib)), newStream(t, d)
	var all []pool.Block
	for range 8 {
		all = append(all, alloc(t, p, s, 5*mib))
	}
	for _, b := range all {
		free(t, b, s)
		require.LessOrEqual(t, p.Stats().Unused(), 20*mib)
	}
	require.NotZero(t, p.Stats().Unused())
}

func TestStats(t *testing.T) {
	d := openHost(t, 1, 0)
	p, s := newPool(t, d), newStream(t, d)
	x, y := alloc(t, p, s, 300), alloc(t, p, s, 5*mib)
	require.Equal(t, pool.Stats{Blocks: 2, Asked: 300 + 5*mib, Live: 512 + 5*mib, Reserved: 7 * mib, Peak: 7 * mib,
		Allocs: 2, Misses: 2, DeviceAllocs: 2}.OfStreams(1), p.Stats())
	free(t, x, s)
	free(t, y, s)
	free(t, alloc(t, p, s, 300), s)
	require.Equal(t, pool.Stats{Reserved: 7 * mib, Peak: 7 * mib, Allocs: 3, Misses: 2, DeviceAllocs: 2}.OfStreams(1), p.Stats())
	require.Equal(t, "pool of host:1", p.String())
}

// Memory without addresses is not shared.
func TestBlocksDoNotShareWhatCannotBeShared(t *testing.T) {
	p := newPool(t, masked(t, hal.CapAddress))
	seen := map[*hal.Memory]bool{}
	var all []pool.Block
	for range 3 {
		b, err := p.Alloc(nil, hal.KindHost, 300)
		require.NoError(t, err)
		r := region(t, b)
		require.Zero(t, r.Off)
		require.Equal(t, uint64(512), r.Mem.Size())
		require.False(t, seen[r.Mem])
		seen[r.Mem] = true
		all = append(all, b)
	}
	for _, b := range all {
		free(t, b, nil)
	}
	b, err := p.Alloc(nil, hal.KindHost, 400)
	require.NoError(t, err)
	require.True(t, seen[region(t, b).Mem], "not used again")
	free(t, b, nil)
	require.EqualValues(t, 3*512, p.Trim(0))
}

func TestAllocAndFreeDoNotAllocate(t *testing.T) {
	d := openHost(t, 0, 0)
	p, s := newPool(t, d), newStream(t, d)
	for _, size := range []uint64{1, 4 * kib, 8 * mib} {
		run := func() {
			b, err := p.Alloc(s, hal.KindDevice, size)
			if err != nil || b.Free(s) != nil {
				t.Error("failed")
			}
		}
		run()
		require.Zero(t, testing.AllocsPerRun(100, run), "%d bytes", size)
	}
}

// A block from no allocator is a key that tells it from all others, before and after it is freed.
func TestBlockFromNobodyIsAKey(t *testing.T) {
	d := openHost(t, 0, 0)
	s := newStream(t, d)
	for name, a := range map[string]pool.Allocator{"pool": newPool(t, d), "direct": pool.Direct(d)} {
		seen := map[pool.Block]bool{}
		for range 3 { // of which a pool gives the same memory
			x, y := alloc(t, a, s, 300), alloc(t, a, s, 300)
			for _, b := range []pool.Block{x, y} {
				require.False(t, seen[b.From(nil)], name)
				seen[b.From(nil)] = true
			}
			again := x.From(pool.Direct(d))
			free(t, x, s)
			free(t, y, s)
			require.True(t, seen[again.From(nil)], name)
		}
		require.Len(t, seen, 6, name)
	}
}

// A zero stream is refused and changes nothing.
func TestZeroStreamIsRefused(t *testing.T) {
	d := openHost(t, 1, 0)
	p := newPool(t, d)
	_, err := p.Alloc(&hal.Stream{}, hal.KindDevice, 100)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	b := alloc(t, p, nil, 100)
	require.ErrorIs(t, b.Free(&hal.Stream{}), hal.ErrInvalidArgument)
	require.True(t, b.Valid())
	require.Zero(t, p.Stats().Streams())
	free(t, b, nil)
}
