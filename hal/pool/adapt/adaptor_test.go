package adapt_test

import (
	"bytes"
	"runtime/pprof"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/hal/pool/adapt"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// Every allocator keeps the rules of the interface, whatever it wraps.
func TestAllocatorsKeepTheRules(t *testing.T) {
	d := openHost(t, 1, 64*mib)
	s, busy := newStream(t, d), newStream(t, d)
	p := newPool(t, d)
	vendor, err := pool.StreamOrdered(d)
	require.NoError(t, err)
	bins, err := adapt.Bins(p, adapt.Bin{Size: 4 * kib}, adapt.Bin{Size: 64 * kib, Allocator: pool.Direct(d)}, adapt.Bin{Size: 256, Allocator: count(p)})
	require.NoError(t, err)
	fixed, err := adapt.FixedSize(p, mib)
	require.NoError(t, err)
	var above []*pool.Pool
	over := func(a pool.Allocator) *pool.Pool {
		q := newPool(t, d, pool.WithSource(a))
		above = append(above, q)
		return q
	}
	all := map[string]pool.Allocator{
		"pool over pool": over(over(p)), "pool over direct": over(pool.Direct(d)), "pool over vendor": over(vendor), "pool over bins": over(bins),
		"pool over many": over(adapt.Limit(count(adapt.Track(p)), 64*mib)),
		"pool":           p, "direct": pool.Direct(d), "vendor": vendor, "bins": bins, "fixed": fixed,
		"limit": adapt.Limit(p, 64*mib), "count": count(p), "track": adapt.Track(p, adapt.WithStacks()),
		"prefetch":   adapt.Prefetch(p),
		"on failure": adapt.OnFailure(p, func(hal.Kind, uint64, error) bool { return false }),
		"callbacks": pool.Callbacks(func(_ *hal.Stream, kind hal.Kind, size uint64) (hal.Region, error) {
			m, err := d.Alloc(kind, size, 0)
			if err != nil {
				return hal.Region{}, err
			}
			return m.All(), nil
		}, func(r hal.Region, _ *hal.Stream) error { return r.Mem.Close() }),
		"many": adapt.Limit(count(adapt.Track(p)), 64*mib),
	}
	for name, a := range all {
		t.Run(name, func(t *testing.T) {
			before, held := p.Stats().Blocks, d.Usage().Held
			empty := [2]pool.Block{alloc(t, a, s, 0), alloc(t, a, s, 0)}
			require.NotEqual(t, empty[0].From(nil), empty[1].From(nil))
			for _, b := range empty {
				require.True(t, b.Valid())
				require.Zero(t, b.Size())
				fill(t, s, b, 3)
				require.NoError(t, b.RecordUse(busy))
				require.NoError(t, a.Free(b, s))
				require.ErrorIs(t, a.Free(b, s), hal.ErrClosed)
			}
			x, y := alloc(t, a, s, 300), alloc(t, a, s, 5000)
			require.False(t, overlap(region(t, x), region(t, y)))
			require.GreaterOrEqual(t, x.Size(), uint64(300))
			require.GreaterOrEqual(t, x.Capacity(), x.Size())
			other := newPool(t, d)
			foreign := alloc(t, other, s, 1)
			require.ErrorIs(t, a.Free(foreign, s), hal.ErrInvalidArgument)
			free(t, foreign, s)
			require.NoError(t, other.Close())
			fill(t, s, x, 1)
			fill(t, s, y, 2)
			m, err := layer.RecordShared(busy)
			require.NoError(t, err)
			require.NoError(t, x.KeepUntil(m))
			m.Close()
			require.ErrorIs(t, a.Free(pool.Block{}, s), hal.ErrClosed)
			if name != "direct" {
				require.ErrorIs(t, pool.Direct(d).Free(x, s), hal.ErrInvalidArgument)
			}
			require.NoError(t, a.Free(x, s))
			free(t, y, s)
			require.ErrorIs(t, a.Free(x, s), hal.ErrClosed)
			require.ErrorIs(t, y.Free(nil), hal.ErrClosed)
			_, err = x.Region()
			require.ErrorIs(t, err, hal.ErrClosed)
			_, err = a.Alloc(s, hal.KindDevice, 1<<40)
			if name == "fixed" {
				require.ErrorIs(t, err, hal.ErrOutOfRange)
			} else {
				require.ErrorIs(t, err, hal.ErrOutOfMemory)
			}
			require.Equal(t, before, p.Stats().Blocks)
			finish(t, s)
			for _, q := range slices.Backward(above) { // a pool above another was made after it
				q.Trim(0)
			}
			p.Trim(0)
			require.Eventually(t, func() bool { return d.Usage().Held <= held }, 10*time.Second, time.Millisecond, "memory was lost")
		})
	}
}

// requireUsed checks how much of a limit is in use, by what is left of it.
func requireUsed(t *testing.T, limited pool.Allocator, limit, used uint64) {
	t.Helper()
	_, err := limited.Alloc(nil, hal.KindDevice, limit-used+1)
	require.ErrorIs(t, err, hal.ErrOutOfMemory)
	if used < limit {
		free(t, alloc(t, limited, nil, limit-used), nil)
	}
}

func TestLimit(t *testing.T) {
	d := openHost(t, 1, 0)
	p, s := newPool(t, d), newStream(t, d)
	l := adapt.Limit(p, 1000)
	x := alloc(t, l, s, 600)
	_, err := l.Alloc(s, hal.KindDevice, 401)
	require.ErrorIs(t, err, hal.ErrOutOfMemory)
	_, err = l.Alloc(nil, hal.KindDevice, 1<<63)
	require.ErrorIs(t, err, hal.ErrOutOfMemory)
	y := alloc(t, l, s, 400)
	requireUsed(t, l, 1000, 1000)
	require.ErrorIs(t, l.Free(pool.Block{}, s), hal.ErrClosed)
	free(t, x, s)
	require.ErrorIs(t, l.Free(x, s), hal.ErrClosed)
	requireUsed(t, l, 1000, 400)
	free(t, y, s)
	_, err = l.Alloc(s, 9, 100)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	requireUsed(t, l, 1000, 0)
	// What rounds up counts in full.
	fixed, err := adapt.FixedSize(p, 512)
	require.NoError(t, err)
	l = adapt.Limit(fixed, 1000)
	x = alloc(t, l, s, 1)
	requireUsed(t, l, 1000, 512)
	free(t, x, s)
	free(t, alloc(t, l, s, 512), s)
}

func TestLimitsDoNotAllocate(t *testing.T) {
	d := openHost(t, 0, 0)
	p, s := newPool(t, d), newStream(t, d)
	for name, a := range map[string]pool.Allocator{
		"limit": adapt.Limit(p, mib*100), "limit over limit": adapt.Limit(adapt.Limit(p, mib*100), mib*90),
	} {
		for _, size := range []uint64{1, 4 * kib, 8 * mib} {
			run := func() {
				b, err := a.Alloc(s, hal.KindDevice, size)
				if err != nil || b.Free(s) != nil {
					t.Error("failed")
				}
			}
			run()
			require.Zero(t, testing.AllocsPerRun(100, run), "%s, %d bytes", name, size)
		}
	}
}

func TestOnFailureAdaptor(t *testing.T) {
	d := openHost(t, 1, 0)
	l := adapt.Limit(newPool(t, d), 1000)
	held := []pool.Block{alloc(t, l, nil, 500), alloc(t, l, nil, 500)}
	a := adapt.OnFailure(l, func(kind hal.Kind, size uint64, err error) bool {
		require.ErrorIs(t, err, hal.ErrOutOfMemory)
		require.Equal(t, hal.KindShared, kind)
		if len(held) == 0 {
			return false
		}
		free(t, held[0], nil)
		held = held[1:]
		return true
	})
	b, err := a.Alloc(nil, hal.KindShared, 900)
	require.NoError(t, err)
	require.Empty(t, held)
	_, err = a.Alloc(nil, hal.KindShared, 200)
	require.ErrorIs(t, err, hal.ErrOutOfMemory)
	_, err = a.Alloc(nil, 0, 1)
	require.ErrorIs(t, err, hal.ErrInvalidArgument, "that is not for the function")
	free(t, b, nil)
}

func TestTrackerKnowsWhoAllocated(t *testing.T) {
	d := openHost(t, 1, 0)
	p := newPool(t, d)
	tr := adapt.Track(p, adapt.WithProfile())
	x := allocateWeights(t, tr)
	y, err := tr.Alloc(nil, hal.KindHost, 77)
	require.NoError(t, err)
	live := tr.Live()
	require.Len(t, live, 2)
	require.EqualValues(t, 5000, live[0].Bytes)
	require.Contains(t, live[0].Stack()[0].Function, "allocateWeights")
	require.Contains(t, live[0].String(), "5000 bytes of device memory\n")
	require.Contains(t, live[0].String(), "adaptor_test.go:")
	require.Equal(t, hal.KindHost, live[1].Kind)
	require.False(t, live[1].Since.Before(live[0].Since))

	registered := pprof.Lookup("halyard.memory")
	require.Equal(t, 2, registered.Count())
	var text bytes.Buffer
	require.NoError(t, registered.WriteTo(&text, 1))
	require.Contains(t, text.String(), "allocateWeights")

	free(t, x, nil)
	require.ErrorIs(t, x.Free(nil), hal.ErrClosed)
	require.Len(t, tr.Live(), 1)
	free(t, y, nil)
	require.Empty(t, tr.Live())
	require.Zero(t, registered.Count())

	stacks := adapt.Track(p, adapt.WithStacks())
	x = allocateWeights(t, stacks)
	require.Contains(t, stacks.Live()[0].String(), "allocateWeights")
	require.Zero(t, registered.Count(), "only WithProfile adds to the profile")
	free(t, x, nil)

	plain := adapt.Track(p, nil)
	x = alloc(t, plain, nil, 10)
	require.Nil(t, plain.Live()[0].Stack())
	require.Equal(t, "10 bytes of device memory", plain.Live()[0].String())
	free(t, x, nil)
}

// A block whose memory the driver could not free has ended all the same, and counts no more.
func TestFailedFreesEndBlocks(t *testing.T) {
	failed := &driver.Error{Op: "free", Kind: driver.ErrDriver}
	b := &hooked.Backend{Backend: host.New(host.Options{Name: "failing"})}
	d := fixture.Device(t, b, 0)
	s := newStream(t, d)
	counted := count(pool.Direct(d))
	tracked := adapt.Track(counted)
	limited := adapt.Limit(tracked, 1000)
	x := alloc(t, limited, s, 600)
	b.Free = func(m *hooked.Memory) error {
		_ = m.Memory.Free()
		return failed
	}
	require.ErrorIs(t, x.Free(s), failed)
	require.ErrorIs(t, x.Free(s), hal.ErrClosed)
	b.Free = nil
	blocks, size := counted.live()
	require.Zero(t, blocks)
	require.Zero(t, size)
	require.Empty(t, tracked.Live())
	requireUsed(t, limited, 1000, 0)
}

//go:noinline
func allocateWeights(t *testing.T, a pool.Allocator) pool.Block {
	b, err := a.Alloc(nil, hal.KindDevice, 5000)
	require.NoError(t, err)
	return b
}

func TestBins(t *testing.T) {
	d := openHost(t, 1, 0)
	p := newPool(t, d)
	for _, list := range [][]adapt.Bin{nil, {{}, {Size: 5}}} {
		_, err := adapt.Bins(p, list...)
		require.ErrorIs(t, err, hal.ErrInvalidArgument)
	}
	_, err := adapt.FixedSize(p, 0)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	large := count(p)
	a, err := adapt.Bins(p, adapt.Bin{Size: 64 * kib, Allocator: large}, adapt.Bin{Size: 4 * kib})
	require.NoError(t, err)
	for size, want := range map[uint64]uint64{1: 4 * kib, 4 * kib: 4 * kib, 4*kib + 1: 64 * kib, 64 * kib: 64 * kib, 64*kib + 1: 64*kib + 1} {
		b := alloc(t, a, nil, size)
		require.Equal(t, want, b.Size())
		blocks, _ := large.live()
		require.Equal(t, map[bool]int{true: 1}[want == 64*kib], blocks)
		require.NoError(t, a.Free(b, nil))
		require.ErrorIs(t, a.Free(b, nil), hal.ErrClosed)
		blocks, _ = large.live()
		require.Zero(t, blocks)
	}
	coarse, err := adapt.FixedSize(p, 8*kib)
	require.NoError(t, err)
	a, err = adapt.Bins(p, adapt.Bin{Size: 4 * kib, Allocator: coarse})
	require.NoError(t, err)
	_, err = a.Alloc(nil, hal.KindDevice, 1)
	require.ErrorIs(t, err, hal.ErrOutOfRange, "the bin would not find its block again")
	require.Zero(t, p.Stats().Blocks)
	a, err = adapt.FixedSize(p, 4*kib)
	require.NoError(t, err)
	_, err = a.Alloc(nil, hal.KindDevice, 4*kib+1)
	require.ErrorIs(t, err, hal.ErrOutOfRange)
}

// Prefetch asks for it where memory moves, and nowhere else.
func TestPrefetch(t *testing.T) {
	d, asked := prefetching(t)
	s, p := newStream(t, d), newPool(t, d)
	a := adapt.Prefetch(p)
	for _, row := range []struct {
		kind   hal.Kind
		stream *hal.Stream
		asks   bool
	}{{hal.KindDevice, s, false}, {hal.KindShared, nil, false}, {hal.KindShared, s, true}} {
		*asked = nil
		b, err := a.Alloc(row.stream, row.kind, 300)
		require.NoError(t, err)
		if row.asks {
			require.Equal(t, []uint64{300}, *asked)
		} else {
			require.Empty(t, *asked)
		}
		free(t, b, row.stream)
	}
}
