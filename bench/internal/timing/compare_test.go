package timing

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSummarize(t *testing.T) {
	values := []float64{5, 1, 4, 2, 3}
	assert.Equal(t, Summary{Min: 1, Q1: 2, Median: 3, Q3: 4, Max: 5}, Summarize(values))
	assert.Equal(t, []float64{5, 1, 4, 2, 3}, values, "the argument stays as it is")
	assert.Equal(t, Summary{Min: 1, Q1: 1.75, Median: 2.5, Q3: 3.25, Max: 4}, Summarize([]float64{4, 3, 2, 1}))
	assert.Equal(t, Summary{7, 7, 7, 7, 7}, Summarize([]float64{7}))
	assert.Equal(t, Summary{}, Summarize(nil))
	assert.InDelta(t, 2.0/3, Summarize(values).Spread(), 1e-12)
	assert.Zero(t, Summary{}.Spread())
}

// weather is a machine on which time passes only as a test says.
type weather struct {
	now time.Duration
	rng *rand.Rand

	drift  float64 // how much slower the machine is after a second
	spikes float64 // the part of batches that something else interrupts
	calls  map[string]int
	order  []string
}

func newWeather() *weather {
	return &weather{rng: rand.New(rand.NewPCG(1, 2)), calls: map[string]int{}}
}

// clock steps by 50 ns, as reading a real one does.
func (w *weather) clock() time.Duration {
	w.now += 50 * time.Nanosecond
	return w.now
}

// side is work of so many nanoseconds, in this weather.
func (w *weather) side(name string, ns float64) Side {
	return Side{
		Enter: func() error {
			w.order = append(w.order, name)
			if w.rng.Float64() < w.spikes {
				w.order[len(w.order)-1] += "!"
			}
			return nil
		},
		Op: func() error {
			w.calls[name]++
			took := ns * (1 + w.drift*w.now.Seconds())
			if last := w.order[len(w.order)-1]; last[len(last)-1] == '!' {
				took *= 10
			}
			w.now += time.Duration(math.Round(took))
			return nil
		},
	}
}

func TestCompareInCalmWeather(t *testing.T) {
	w := newWeather()
	r, err := Compare(t.Context(), w.side("ours", 300), w.side("raw", 200), Options{Clock: w.clock})
	require.NoError(t, err)
	assert.InEpsilon(t, 300, r.Ours.Median, 0.01)
	assert.InEpsilon(t, 200, r.Raw.Median, 0.01)
	assert.InEpsilon(t, 1.5, r.Ratio.Median, 0.01)
	assert.False(t, r.Unsteady())
	assert.True(t, r.HasRaw())
	// 100 ms in batches of 200 us and a little more.
	assert.InDelta(t, 230, r.Pairs, 30)
	assert.GreaterOrEqual(t, float64(r.OursBatch)*300, float64(DefaultBatch))
	assert.GreaterOrEqual(t, float64(r.RawBatch)*200, float64(DefaultBatch))
}

// The median of the pairs does not see a machine that grows slower and slower, nor what interrupts every fifth batch.
func TestCompareInBadWeather(t *testing.T) {
	w := newWeather()
	w.drift, w.spikes = 20, 0.2
	r, err := Compare(t.Context(), w.side("ours", 1100), w.side("raw", 1000), Options{Clock: w.clock})
	require.NoError(t, err)
	assert.InEpsilon(t, 1.1, r.Ratio.Median, 0.01, "%+v", r)
	assert.InEpsilon(t, 1.1, r.Ratio.Q1, 0.1)
	assert.Greater(t, r.Ratio.Max, 9.0, "the outliers are there")
	assert.Greater(t, r.Ours.Max, 3*r.Ours.Min)
}

func TestSidesTakeTurns(t *testing.T) {
	w := newWeather()
	r, err := Compare(t.Context(), w.side("a", 1e6), w.side("b", 1e6), Options{Clock: w.clock, Reps: 6})
	require.NoError(t, err)
	assert.Equal(t, 6, r.Pairs)
	timed := w.order[len(w.order)-12:]
	assert.Equal(t, []string{"a", "b", "b", "a", "a", "b", "b", "a", "a", "b", "b", "a"}, timed)
	assert.Equal(t, 1, r.OursBatch, "a millisecond is a batch")
}

func TestUnsteadyMeasurementsTakeLonger(t *testing.T) {
	for _, spikes := range []float64{0, 0.5} {
		w := newWeather()
		w.spikes = spikes
		r, err := Compare(t.Context(), w.side("a", 1000), Side{}, Options{Clock: w.clock, Time: 50 * time.Millisecond})
		require.NoError(t, err)
		assert.Equal(t, spikes > 0, r.Unsteady())
		if spikes == 0 {
			assert.InEpsilon(t, 50e6, float64(w.now), 0.1)
		} else {
			assert.InEpsilon(t, 100e6, float64(w.now), 0.1)
		}
		assert.False(t, r.HasRaw())
		assert.Equal(t, Summary{}, r.Raw)
	}
	w := newWeather()
	r, err := Compare(t.Context(), w.side("a", 90e6), w.side("b", 90e6), Options{Clock: w.clock})
	require.NoError(t, err)
	assert.Equal(t, MinPairs, r.Pairs, "however long they take")
}

func TestPerCountsThings(t *testing.T) {
	w := newWeather()
	ours := w.side("ours", 6400)
	ours.Per = 64
	r, err := Compare(t.Context(), ours, w.side("raw", 100), Options{Clock: w.clock})
	require.NoError(t, err)
	assert.InEpsilon(t, 100, r.Ours.Median, 0.01)
	assert.InEpsilon(t, 1, r.Ratio.Median, 0.01)
}

// A clock that moves in steps of 15 ms, as some do, still gives the right figure.
func TestCoarseClock(t *testing.T) {
	const step = 15 * time.Millisecond
	w := newWeather()
	coarse := func() time.Duration { return w.clock() / step * step }
	r, err := Compare(t.Context(), w.side("ours", 2e5), w.side("raw", 1e5), Options{Clock: coarse, Reps: 5})
	require.NoError(t, err)
	assert.InEpsilon(t, 2, r.Ratio.Median, 0.01)
	assert.InEpsilon(t, 2e5, r.Ours.Median, 0.01)
}

func TestErrorsAndTheEndOfTheContextStop(t *testing.T) {
	broken := errors.New("broken")
	w := newWeather()
	for after := range 200 {
		entered, left := 0, 0
		bad := w.side("bad", 1e6)
		op := bad.Op
		bad.Op = func() error {
			if after--; after < 0 {
				return broken
			}
			return op()
		}
		bad.Enter = func() error { w.order = append(w.order, "bad"); entered++; return nil }
		bad.Leave = func() error { left++; return nil }
		_, err := Compare(t.Context(), w.side("good", 1e6), bad, Options{Clock: w.clock, Reps: 1000})
		require.ErrorIs(t, err, broken)
		require.Equal(t, entered, left)
	}
	_, err := Compare(t.Context(), w.side("a", 1), Side{Op: func() error { return nil }, Enter: func() error { return broken }}, Options{Clock: w.clock})
	require.ErrorIs(t, err, broken)
	_, err = Compare(t.Context(), w.side("a", 1), Side{Op: func() error { return nil }, Leave: func() error { return broken }}, Options{Clock: w.clock})
	require.ErrorIs(t, err, broken)
	_, err = Compare(t.Context(), Side{}, Side{}, Options{})
	require.ErrorIs(t, err, errNothing)

	ctx, cancel := context.WithCancel(t.Context())
	stopping := w.side("stopping", 1e6)
	op := stopping.Op
	stopping.Op = func() error {
		if w.calls["stopping"] == 100 {
			cancel()
		}
		return op()
	}
	_, err = Compare(ctx, stopping, Side{}, Options{Clock: w.clock, Reps: 1e6})
	require.ErrorIs(t, err, context.Canceled)
	assert.Less(t, w.calls["stopping"], 103)
}

var sink []byte

func TestAllocationsAreCounted(t *testing.T) {
	r, err := Compare(t.Context(), Side{Op: func() error { sink = make([]byte, 100); sink = make([]byte, 100); return nil }},
		Side{Op: func() error { return nil }}, Options{Reps: 1})
	require.NoError(t, err)
	assert.InDelta(t, 2, r.Allocs, 0.2)
	r, err = Compare(t.Context(), Side{Op: func() error { return nil }}, Side{}, Options{Reps: 1})
	require.NoError(t, err)
	assert.InDelta(t, 0, r.Allocs, 0.1)
}

// The timed loop itself allocates nothing.
func TestBatchesDoNotAllocate(t *testing.T) {
	m := newMeasurement(Options{})
	h := &half{Side: Side{Op: func() error { return nil }}}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := m.run(h, 100); err != nil {
			t.Error(err)
		}
	}))
}

func TestSystemClock(t *testing.T) {
	now := clock()
	busy := func() error {
		for start := now(); now()-start < time.Millisecond; {
		}
		return nil
	}
	r, err := Compare(t.Context(), Side{Op: busy}, Side{}, Options{Reps: 3})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, r.Ours.Min, 1e6)
	assert.Equal(t, 3, r.Pairs)
}
