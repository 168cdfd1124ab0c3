package adapt_test

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/hal/pool/adapt"
)

// failing fails some of its allocations.
type failing struct {
	pool.Allocator
	calls int
	fails map[int]error
}

func (f *failing) Alloc(s *hal.Stream, k hal.Kind, n uint64) (pool.Block, error) {
	f.calls++
	if err := f.fails[f.calls]; err != nil {
		return pool.Block{}, err
	}
	return f.Allocator.Alloc(s, k, n)
}

// called is an allocator of functions that take blocks from another.
func called(next pool.Allocator) pool.Allocator {
	var mu sync.Mutex
	live := map[hal.Region]pool.Block{}
	return pool.Callbacks(func(s *hal.Stream, k hal.Kind, n uint64) (hal.Region, error) {
		b, err := next.Alloc(s, k, n)
		if err != nil {
			return hal.Region{}, err
		}
		r, err := b.Region()
		mu.Lock()
		defer mu.Unlock()
		live[r] = b
		return r, err
	}, func(r hal.Region, s *hal.Stream) error {
		mu.Lock()
		b := live[r]
		delete(live, r)
		mu.Unlock()
		return b.Free(s)
	})
}

// Allocators can stand on each other in every order. Blocks never overlap, keep what is written to them, and all memory goes back, also if
// the lowest allocator fails now and then.
func TestStacks(t *testing.T) {
	d := openHost(t, 1, 0)
	vendor, err := pool.StreamOrdered(d)
	require.NoError(t, err)
	streams := []*hal.Stream{newStream(t, d), newStream(t, d)}
	rapid.Check(t, func(t *rapid.T) {
		base := &failing{Allocator: pool.Direct(d), fails: map[int]error{}}
		if rapid.Bool().Draw(t, "stream-ordered") {
			base.Allocator = vendor
		}
		for _, n := range rapid.SliceOfN(rapid.IntRange(1, 20), 0, 6).Draw(t, "failures") {
			base.fails[n] = hal.Errorf("alloc", rapid.SampledFrom([]error{hal.ErrOutOfMemory, hal.ErrDriver}).Draw(t, "kind"), "on purpose")
		}
		lowest := count(base)
		var a pool.Allocator = lowest
		var pools []*pool.Pool
		for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"pool", "limit", "count", "track", "bins", "retry", "prefetch", "callbacks"}), 1, 5).Draw(t, "stack") {
			switch name {
			case "pool":
				chunk := rapid.SampledFrom([]uint64{64 * kib, mib}).Draw(t, "chunk")
				large := rapid.SampledFrom([]uint64{chunk / 8, chunk}).Draw(t, "large")
				p, err := pool.New(d, pool.WithSource(a), pool.WithChunk(chunk), pool.WithLarge(large))
				require.NoError(t, err)
				pools, a = append(pools, p), p
			case "limit":
				a = adapt.Limit(a, 2*mib)
			case "count":
				a = count(a)
			case "track":
				a = adapt.Track(a)
			case "bins":
				var err error
				a, err = adapt.Bins(a, adapt.Bin{Size: 4 * kib}, adapt.Bin{Size: 64 * kib, Allocator: count(a)})
				require.NoError(t, err)
			case "retry":
				tries := 0
				a = adapt.OnFailure(a, func(hal.Kind, uint64, error) bool { tries++; return tries < 3 })
			case "prefetch":
				a = adapt.Prefetch(a)
			case "callbacks":
				a = called(a)
			}
		}
		type live struct {
			b      pool.Block
			stream *hal.Stream
			value  byte
		}
		var blocks []live
		value := byte(0)
		release := func(i int) {
			x := blocks[i]
			r, err := x.b.Region()
			require.NoError(t, err)
			got := make([]byte, r.Len)
			require.NoError(t, x.stream.CopyOut(got, r))
			require.NoError(t, x.stream.Sync(t.Context()))
			require.Equal(t, len(got), bytes.Count(got, []byte{x.value}), "the block does not hold what was written to it")
			require.NoError(t, x.b.Free(x.stream))
			require.ErrorIs(t, x.b.Free(x.stream), hal.ErrClosed)
			blocks = append(blocks[:i], blocks[i+1:]...)
		}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			if len(blocks) > 0 && rapid.IntRange(0, 2).Draw(t, "free") == 0 {
				release(rapid.IntRange(0, len(blocks)-1).Draw(t, "which"))
				continue
			}
			s := rapid.SampledFrom(streams).Draw(t, "stream")
			b, err := a.Alloc(s, hal.KindDevice, rapid.SampledFrom([]uint64{0, 1, 300, 5000, 40_000, 300_000}).Draw(t, "size"))
			if err != nil {
				continue
			}
			r, err := b.Region()
			require.NoError(t, err)
			for _, other := range blocks {
				o, err := other.b.Region()
				require.NoError(t, err)
				require.False(t, overlap(r, o))
			}
			value++
			require.NoError(t, s.Fill(r, hal.Pattern8(value)))
			blocks = append(blocks, live{b, s, value})
		}
		for len(blocks) > 0 {
			release(0)
		}
		for i := len(pools) - 1; i >= 0; i-- {
			require.NoError(t, pools[i].Close())
			require.Zero(t, pools[i].Stats().Reserved)
		}
		left, size := lowest.live()
		require.Zero(t, left)
		require.Zero(t, size)
	})
	require.Eventually(t, func() bool { return d.Usage().Held == 0 }, 10*time.Second, time.Millisecond)
}

// Memory that a source gives out in a stream's order is for that stream until the work before has finished.
func TestSourceInStreamOrder(t *testing.T) {
	d := openHost(t, 1, 0)
	a, b := newStream(t, d), newStream(t, d)
	up := newPool(t, d)
	down := newPool(t, d, pool.WithSource(up), pool.WithChunk(256*kib), pool.WithLarge(64*kib))
	before := alloc(t, up, a, 4*kib)
	first := alloc(t, up, a, 256*kib)
	memory := region(t, first)
	g, err := a.Gate()
	require.NoError(t, err)
	fill(t, a, first, 1)
	free(t, first, a)
	x := alloc(t, down, a, 4*kib)
	require.True(t, overlap(memory, region(t, x)))
	require.True(t, x.Ordered())
	y := alloc(t, down, b, 4*kib)
	require.False(t, overlap(memory, region(t, y)), "work behind the gate still uses it")
	free(t, x, a)
	down.Trim(0)
	z := alloc(t, up, b, 256*kib)
	require.False(t, overlap(memory, region(t, z)))
	require.NoError(t, g.Signal())
	free(t, y, b)
	free(t, z, b)
	free(t, before, a)
}

// Functions that a source calls while it allocates may use the pool: free its blocks, trim it, and close it.
func TestSourceThatUsesThePool(t *testing.T) {
	d := openHost(t, 1, 0)
	source := count(pool.Direct(d))
	var down *pool.Pool
	var held pool.Block
	down = newPool(t, d, pool.WithLarge(64*kib), pool.WithSource(adapt.OnFailure(adapt.Limit(source, 300*kib), func(hal.Kind, uint64, error) bool {
		if !held.Valid() {
			return false
		}
		free(t, held, nil)
		return down.Trim(0) > 0
	})))
	held = alloc(t, down, nil, 200*kib)
	free(t, alloc(t, down, nil, 250*kib), nil)
	require.False(t, held.Valid())
	_, err := down.Alloc(nil, hal.KindDevice, 400*kib)
	require.ErrorIs(t, err, hal.ErrOutOfMemory)
	require.NoError(t, down.Close())
	blocks, _ := source.live()
	require.Zero(t, blocks)

	for _, size := range []uint64{1, 200 * kib} {
		down = newPool(t, d, pool.WithLarge(64*kib), pool.WithSource(pool.Callbacks(func(s *hal.Stream, k hal.Kind, n uint64) (hal.Region, error) {
			require.NoError(t, down.Close())
			m, err := d.Alloc(k, n, 0)
			return m.All(), err
		}, func(r hal.Region, _ *hal.Stream) error { return r.Mem.Close() })))
		_, err = down.Alloc(nil, hal.KindDevice, size)
		require.ErrorIs(t, err, hal.ErrClosed)
		require.Zero(t, d.Usage().Held)
	}
	_, err = pool.New(d, pool.WithSource(source), pool.WithAlignment(4*kib))
	require.ErrorIs(t, err, hal.ErrUnsupported)
	other := newPool(t, d, pool.WithSource(pool.Direct(openHost(t, 2, 0))))
	_, err = other.Alloc(nil, hal.KindDevice, 1)
	require.ErrorIs(t, err, hal.ErrWrongDevice)
}

// A source that panics leaves the pool as it was, with the whole of its limit.
func TestSourceThatPanics(t *testing.T) {
	d := openHost(t, 1, 0)
	bad := true
	for _, size := range []uint64{1, 200 * kib} {
		p := newPool(t, d, pool.WithLimit(300*kib), pool.WithLarge(64*kib), pool.WithChunk(64*kib),
			pool.WithSource(pool.Callbacks(func(_ *hal.Stream, k hal.Kind, n uint64) (hal.Region, error) {
				if bad {
					panic("the source's own fault")
				}
				m, err := d.Alloc(k, n, 0)
				return m.All(), err
			}, func(r hal.Region, _ *hal.Stream) error { return r.Mem.Close() })))
		bad = true
		require.Panics(t, func() { _, _ = p.Alloc(nil, hal.KindDevice, size) })
		require.Zero(t, p.Stats().Reserved)
		bad = false
		free(t, alloc(t, p, nil, size), nil)
	}
}
