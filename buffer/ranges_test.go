package buffer_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

func TestRangesAreCheckedBeforeAnythingHappens(t *testing.T) {
	s := newStream(t, openMany(t, "one", 1, 1)[0])
	b := newBuffer(t, []uint32{1, 2, 3, 4})
	before := b.State()
	for _, c := range []struct {
		ranges []buffer.Range
		kind   error
	}{
		{[]buffer.Range{{5, 5}}, hal.ErrOutOfRange},
		{[]buffer.Range{{2, 1}}, hal.ErrOutOfRange},
		{[]buffer.Range{{0, 3}, {2, 2}}, hal.ErrInvalidArgument},
		{[]buffer.Range{{-1, 1}}, hal.ErrOutOfRange},
		{[]buffer.Range{{0, 1}, {3, 5}}, hal.ErrOutOfRange},
		{[]buffer.Range{{2, 3}, {0, 1}}, hal.ErrInvalidArgument},
		{[]buffer.Range{{0, 2}, {1, 3}}, hal.ErrOverlap},
	} {
		require.ErrorIs(t, b.AccessRanges(ctx, coherence.ReadWrite, c.ranges, func([]uint32) error { panic("ran") }), c.kind, "%v", c.ranges)
		_, err := b.AcquireRanges(ctx, s, coherence.ReadWrite, c.ranges)
		require.ErrorIs(t, err, c.kind, "%v", c.ranges)
	}
	ok := []buffer.Range{{0, 1}}
	require.ErrorIs(t, b.AccessRanges(ctx, coherence.Mode(3), ok, nothing), hal.ErrInvalidArgument)
	require.ErrorIs(t, b.AccessRanges(ctx, coherence.Read, ok, nil), hal.ErrInvalidArgument)
	_, err := b.AcquireRanges(ctx, nil, coherence.Read, ok)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	require.Equal(t, before, b.State())
}

func TestRangesMoveAndExcludeNothingElse(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s, other := newStream(t, d), newStream(t, d)
	b := newBuffer(t, make([]uint32, 100))
	ranges := []buffer.Range{{10, 20}, {20, 22}, {50, 60}, {99, 100}}
	version := b.State().Version
	l, err := b.AcquireRanges(ctx, s, coherence.ReadWrite, ranges)
	require.NoError(t, err)
	require.Equal(t, buffer.Stats{Copies: 3, BytesCopied: 4 * 23}, b.Stats())
	require.Equal(t, version+1, b.State().Version, "one write")
	r := l.Region()
	require.Equal(t, [2]uint64{40, 360}, [2]uint64{r.Off, r.Len})
	gap, err := b.Slice(22, 50)
	require.NoError(t, err)
	fill(t, other, gap, 3)
	require.NoError(t, gap.View(ctx, nothing))
	for _, x := range [][2]int{{0, 11}, {21, 22}, {59, 70}, {99, 100}} {
		part, err := b.Slice(x[0], x[1])
		require.NoError(t, err)
		_, err = part.TryAcquire(other, coherence.Read)
		require.ErrorIs(t, err, hal.ErrBusy, "%v", x)
	}
	g, err := s.Gate()
	require.NoError(t, err)
	for _, x := range ranges {
		part, err := r.Sub(4*uint64(x.Lo-10), 4*uint64(x.Hi-x.Lo))
		require.NoError(t, err)
		require.NoError(t, s.Fill(part, hal.Pattern32(7)))
	}
	require.NoError(t, l.Release())
	// What is between the ranges does not wait for the work on them, and what is in them does.
	fill(t, other, gap, 4)
	require.NoError(t, other.Sync(ctx))
	in, err := b.Slice(58, 62)
	require.NoError(t, err)
	l, err = in.TryAcquire(other, coherence.Read)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	done, err := other.Done()
	require.NoError(t, err)
	require.False(t, done)
	require.NoError(t, g.Signal())
	want := make([]uint32, 100)
	for i := range want {
		switch {
		case 22 <= i && i < 50:
			want[i] = 4
		case 10 <= i && i < 22, 50 <= i && i < 60, i == 99:
			want[i] = 7
		}
	}
	require.Equal(t, want, contents(t, b))
	require.NoError(t, b.AccessRanges(ctx, coherence.Overwrite, []buffer.Range{{1, 2}, {4, 5}}, func(x []uint32) error {
		require.Len(t, x, 4)
		x[0], x[3] = 8, 9
		return nil
	}))
	require.Equal(t, []uint32{0, 8, 0, 0, 9, 0}, contents(t, b)[:6])
}

// Failed work on ranges spoils them and nothing between.
func TestFailedWorkOnRanges(t *testing.T) {
	f, devs := openFaulty(t, 1)
	s := newStream(t, devs[0])
	b := written(t, s, 9, 1)
	require.NoError(t, s.Sync(ctx))
	l, err := b.AcquireRanges(ctx, s, coherence.Overwrite, []buffer.Range{{1, 3}, {6, 8}})
	require.NoError(t, err)
	f.fail("Fill", 1)
	require.NoError(t, s.Fill(l.Region(), hal.Pattern32(2)))
	require.NoError(t, l.Release())
	mid, err := b.Slice(3, 6)
	require.NoError(t, err)
	require.Equal(t, []uint32{1, 1, 1}, contents(t, mid))
	require.Error(t, b.View(ctx, nothing))
	require.ErrorIs(t, b.View(ctx, nothing), hal.ErrDeviceLost)
	require.Equal(t, []uint32{1, 1, 1}, contents(t, mid))
	for _, x := range [][2]int{{1, 3}, {6, 8}} {
		part, err := b.Slice(x[0], x[1])
		require.NoError(t, err)
		require.NoError(t, part.Reset())
	}
	require.Equal(t, []uint32{1, 0, 0, 1, 1, 1, 0, 0, 1}, contents(t, b))
}

// Accesses to many ranges at once, on the host and on a device, from many goroutines: each adds one to what it holds.
func TestRangesFromManyGoroutines(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	const n, workers, each = 60, 6, 40
	b := newBuffer(t, make([]uint32, n))
	want := make([]uint32, n)
	var mu sync.Mutex
	var wg sync.WaitGroup
	short, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for w := range workers {
		s := newStream(t, d)
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			for i := range each {
				var ranges []buffer.Range
				for at := rng.IntN(8); at < n; {
					r := buffer.Range{Lo: at, Hi: min(n, at+1+rng.IntN(5))}
					ranges = append(ranges, r)
					at = r.Hi + rng.IntN(10)
				}
				if i%3 == 0 {
					l, err := b.AcquireRanges(short, s, coherence.ReadWrite, ranges)
					if assert.NoError(t, err) {
						assert.NoError(t, l.Release())
					}
				}
				assert.NoError(t, b.AccessRanges(short, coherence.ReadWrite, ranges, func(x []uint32) error {
					for _, r := range ranges {
						for j := r.Lo; j < r.Hi; j++ {
							x[j-ranges[0].Lo]++
						}
					}
					return nil
				}))
				mu.Lock()
				for _, r := range ranges {
					for j := r.Lo; j < r.Hi; j++ {
						want[j]++
					}
				}
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	require.Equal(t, want, contents(t, b))
}
