package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/divided"
	"github.com/go-halyard/halyard/internal/testing/hooked"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// span returns the elements from lo to hi of a slice of n.
func span(lo, hi int, n int64) buffer.Range {
	return buffer.Range{Lo: min(max(lo, 0), int(n)), Hi: min(max(hi, 0), int(n))}
}

// own is the footprint of a kernel that uses element t.Global(0) of the slices whose lengths are the values with these numbers. The last one is written.
func own(out bool, lengths ...int) gridgen.Footprint {
	return gridgen.Footprint{Cut: [3]bool{true}, Of: func(box gridgen.Box, values []int64, touch []gridgen.Touch) {
		for i, n := range lengths {
			s := span(box.Lo[0], box.Hi[0], values[n])
			switch {
			case i < len(lengths)-1:
				touch[i] = gridgen.Touch{Read: s}
			case out:
				touch[i] = gridgen.Touch{Write: s, Whole: true}
			default:
				touch[i] = gridgen.Touch{Read: s, Write: s}
			}
		}
	}}
}

func init() {
	for name, f := range map[string]gridgen.Footprint{
		"saxpy": own(false, 2, 4),
		"spread": {Cut: [3]bool{true, true}, Of: func(box gridgen.Box, v []int64, touch []gridgen.Touch) {
			w, h := int(v[0]), int(v[1])
			lo, hi := min(box.Lo[1], h), min(box.Hi[1], h)
			touch[0].Read = span((lo-1)*w, (hi+1)*w, v[3])
			touch[1] = gridgen.Touch{Write: span(lo*w, hi*w, v[5]), Whole: box.Lo[0] == 0 && box.Hi[0] >= w}
		}},
		"product": {Cut: [3]bool{true, true}, Of: func(box gridgen.Box, v []int64, touch []gridgen.Touch) {
			n := int(v[0])
			touch[0].Read = span(box.Lo[1]*n, box.Hi[1]*n, v[2])
			touch[1].Read = span(0, n*n, v[4])
			touch[2] = gridgen.Touch{Write: span(box.Lo[1]*n, box.Hi[1]*n, v[6]), Whole: box.Lo[0] == 0 && box.Hi[0] >= n}
		}},
		"pull": {Cut: [3]bool{true}, Of: func(box gridgen.Box, v []int64, touch []gridgen.Touch) {
			touch[0].Read = span(0, int(v[2]), v[2])
			touch[1] = gridgen.Touch{Write: span(box.Lo[0], box.Hi[0], v[4]), Whole: true}
		}},
		"mandelbrot": {Cut: [3]bool{true, true}, Of: func(box gridgen.Box, v []int64, touch []gridgen.Touch) {
			rows, cols := int(v[1]), int(v[2])
			touch[0] = gridgen.Touch{Write: span(box.Lo[1]*cols, box.Hi[1]*cols, int64(rows*cols)), Whole: box.Lo[0] == 0 && box.Hi[0] >= cols}
		}},
		"blur": {Cut: [3]bool{true, true}, Of: func(box gridgen.Box, v []int64, touch []gridgen.Touch) {
			rows, cols := int(v[1]), int(v[2])
			lo, hi := min(box.Lo[1], rows), min(box.Hi[1], rows)
			touch[0].Read = span((lo-2)*cols, (hi+2)*cols, int64(rows*cols))
			touch[1] = gridgen.Touch{Write: span(lo*cols, hi*cols, int64(rows*cols)), Whole: box.Lo[0] == 0 && box.Hi[0] >= cols}
		}},
		"laplace": {Cut: [3]bool{true}, Of: func(box gridgen.Box, v []int64, touch []gridgen.Touch) {
			touch[0].Read = span(box.Lo[0]-1, box.Hi[0]+1, v[1])
			touch[1] = gridgen.Touch{Write: span(box.Lo[0], box.Hi[0], v[3]), Whole: true}
		}},
		"dot": {Cut: [3]bool{true}, Of: func(box gridgen.Box, v []int64, touch []gridgen.Touch) {
			touch[0].Read = span(box.Lo[0]*16, box.Hi[0]*16, v[1])
			touch[1].Read = span(box.Lo[0]*16, box.Hi[0]*16, v[3])
			touch[2] = gridgen.Touch{Write: span(box.Lo[0], box.Hi[0], v[5]), Whole: true}
		}},
		"count": {Why: "divided.go:179: it adds atomically"},
	} {
		kernel.SetFootprint(divided.Kernel(name), f)
	}
	kernel.SetLeastPart(16)
}

// queue is a kernel.Queue, which fails the test at the first error.
type queue struct {
	t     *testing.T
	on    kernel.Target
	grid  hal.Grid
	whole bool // the grid is q.grid
}

func (q queue) Launching(_ string, over hal.Grid) (context.Context, *hal.Stream, hal.Grid, bool) {
	if q.whole {
		over = q.grid
	}
	return ctx, nil, over, true
}

func (q queue) On() kernel.Target { return q.on }

func (q queue) Launched(err error) {
	q.t.Helper()
	require.NoError(q.t, err)
}

func (q queue) of(g hal.Grid) queue {
	q.grid, q.whole = g, true
	return q
}

func newSplit(t testing.TB, streams ...*hal.Stream) *kernel.Split {
	split, err := kernel.NewSplit(streams...)
	require.NoError(t, err)
	ones := make([]float64, len(streams))
	for i := range ones {
		ones[i] = 1
	}
	require.NoError(t, split.SetShares(ones...))
	t.Cleanup(func() { assert.NoError(t, split.Close()) })
	return split
}

// teams are lists of one to three devices: discrete ones of the host, the host and discrete ones, and all that compile kernels, with one of the host.
func teams(t testing.TB) (list [][]*hal.Stream) {
	_, own := devices(t, 3)
	list = append(list, own[1:2], own[1:3], own[1:4], []*hal.Stream{own[0], own[1]})
	others := everyStream(t, 0)
	for i, s := range others {
		list = append(list, []*hal.Stream{s}, []*hal.Stream{s, own[1]}, []*hal.Stream{own[1], s, own[2]})
		if i > 0 {
			list = append(list, []*hal.Stream{others[0], s})
		}
	}
	return list
}

func names(team []*hal.Stream) string {
	var list []string
	for _, s := range team {
		list = append(list, s.Device().Name())
	}
	return strings.Join(list, "+")
}

func copied(t testing.TB, stats ...buffer.Stats) (n uint64) {
	for _, s := range stats {
		n += s.BytesCopied
	}
	return n
}

// Heat on n devices has the same bits as on one. What moves is the parts once, with their halos, and then two rows at each boundary in each step.
func TestHeatMovesOnlyHalos(t *testing.T) {
	const width, height, steps = 40, 64, 6
	start := numbers(rand.New(rand.NewPCG(1, 2)), width*height)
	run := func(t *testing.T, team []*hal.Stream) (result []float32, first, rest uint64) {
		q := queue{t: t, on: newSplit(t, team...)}
		now, next := made(t, start...), made(t, make([]float32, width*height)...)
		for i := range steps {
			divided.Spread(q.of(hal.Over(width, height).Of(8, 4)), width, height, now, next)
			now, next = next, now
			if i == 0 {
				first = copied(t, now.Stats(), next.Stats())
			}
		}
		rest = copied(t, now.Stats(), next.Stats()) - first
		return contents(t, now), first, rest
	}
	_, own := devices(t, 1)
	want, _, _ := run(t, own[1:])
	for _, team := range teams(t) {
		t.Run(names(team), func(t *testing.T) {
			got, first, rest := run(t, team)
			require.Equal(t, want, got)
			for _, s := range team {
				if s.Device().Info().SharesHostMemory {
					return
				}
			}
			rows := uint64(2 * (len(team) - 1)) // of which the corners need not move
			for moved, steps := range map[uint64]uint64{first - 4*width*height: 1, rest: steps - 1} {
				assert.LessOrEqual(t, moved, steps*rows*width*4)
				assert.GreaterOrEqual(t, moved, steps*rows*(width-2)*4)
			}
		})
	}
}

// Each program gives the same bits on any devices as on one.
func TestProgramsAreTheSameOnSeveralDevices(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n = 64
	flat, square, other := numbers(rng, 1000), numbers(rng, n*n), numbers(rng, n*n)
	bodies := make([]divided.Body, 300)
	for i := range bodies {
		bodies[i] = divided.Body{At: [2]float32{rng.Float32(), rng.Float32()}}
	}
	many := make([]float32, 5000)
	for i := range many {
		many[i] = float32(rng.IntN(100))
	}
	for name, run := range map[string]func(t *testing.T, q queue) any{
		"saxpy": func(t *testing.T, q queue) any {
			x, y := made(t, flat...), made(t, flat...)
			for range 3 {
				divided.Saxpy(q.of(hal.Over(len(flat)).Of(16)), 2, x, y)
			}
			return contents(t, y)
		},
		"product": func(t *testing.T, q queue) any {
			a, b, c := made(t, square...), made(t, other...), made(t, make([]float32, n*n)...)
			divided.Product(q.of(hal.Over(n, n).Of(8, 8)), n, a, b, c)
			divided.Product(q.of(hal.Over(n, n).Of(8, 8)), n, c, b, a)
			return contents(t, a)
		},
		"pull": func(t *testing.T, q queue) any {
			from, to := made(t, bodies...), made(t, bodies...)
			for range 4 {
				divided.Pull(q.of(hal.Over(len(bodies)).Of(32)), 0.01, from, to)
				from, to = to, from
			}
			return contents(t, from)
		},
		"mandelbrot": func(t *testing.T, q queue) any {
			image := made(t, make([]int32, 100*80)...)
			divided.Mandelbrot(q.of(hal.Over(100, 80).Of(16, 4)), kernel.InRows(image, 100))
			return contents(t, image)
		},
		"blur": func(t *testing.T, q queue) any {
			from, to := made(t, square...), made(t, make([]float32, n*n)...)
			for range 3 {
				divided.Blur(q.of(hal.Over(n, n).Of(8, 8)), kernel.InRows(from, n), kernel.InRows(to, n))
				from, to = to, from
			}
			return contents(t, from)
		},
		"cg": gradient,
		"count": func(t *testing.T, q queue) any {
			x, bins := made(t, many...), made(t, make([]int32, 10)...)
			divided.Count(q, x, bins)
			return contents(t, bins)
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, own := devices(t, 1)
			want := run(t, queue{t: t, on: newSplit(t, own[1:]...)})
			for _, team := range teams(t) {
				t.Run(names(team), func(t *testing.T) {
					require.Equal(t, want, run(t, queue{t: t, on: newSplit(t, team...)}))
				})
			}
		})
	}
}

// gradient is a conjugate gradient whose products are summed by the host in a fixed order.
func gradient(t *testing.T, q queue) any {
	const n = 2048
	b := numbers(rand.New(rand.NewPCG(5, 6)), n)
	x, r, p, ap, sums := made(t, make([]float32, n)...), made(t, b...), made(t, b...), made(t, make([]float32, n)...), made(t, make([]float32, n/16)...)
	grid, few := q.of(hal.Over(n).Of(64)), q.of(hal.Over(n/16).Of(4))
	product := func(u, v *buffer.Buffer[float32]) (sum float32) {
		divided.Dot(few, u, v, sums)
		for _, s := range contents(t, sums) {
			sum += s
		}
		return sum
	}
	rr := product(r, r)
	for range 10 {
		divided.Laplace(grid, p, ap)
		a := rr / product(p, ap)
		divided.Saxpy(grid, a, p, x)
		divided.Saxpy(grid, -a, ap, r)
		next := product(r, r)
		// p = r + beta*p, by a kernel that there is: p/beta += r/beta would round, so the host does it
		beta := next / rr
		rr = next
		require.NoError(t, p.Update(ctx, func(p []float32) error {
			return r.View(ctx, func(r []float32) error {
				for i := range p {
					p[i] = r[i] + float32(beta*p[i])
				}
				return nil
			})
		}))
	}
	return contents(t, x)
}

// Launches of several goroutines, and accesses of the host, come one after the other also if they are divided: nobody sees half of one.
func TestDividedLaunchesAreWhole(t *testing.T) {
	const n, rounds = 1024, 60
	_, own := devices(t, 3)
	split := newSplit(t, own[1:]...)
	one, y := made(t, make([]float32, n)...), made(t, make([]float32, n)...)
	require.NoError(t, one.Fill(ctx, 1))
	q := queue{t: t, on: split}.of(hal.Over(n).Of(16))
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			for range rounds {
				divided.Saxpy(q, 1, one, y)
			}
		})
		group.Go(func() {
			for range rounds {
				assert.NoError(t, y.View(ctx, func(y []float32) error {
					for i := range y {
						if y[i] != y[0] {
							t.Errorf("element %d is %v, and element 0 is %v", i, y[i], y[0])
							break
						}
					}
					return nil
				}))
			}
		})
	}
	group.Wait()
	assert.Equal(t, float32(3*rounds), contents(t, y)[n-1])
}

// A launch is not divided if a part may read what another one writes, whatever Cut says.
func TestReadsOfOtherPartsKeepALaunchTogether(t *testing.T) {
	const n = 4096
	_, own := devices(t, 3)
	p := kernel.New(kernel.Source{Name: "ends", Go: kernel.Functions{"f": kernel.Go(func(b *kernel.Block) {
		x := kernel.Slice[int32](b, 0)
		for i, end := kernel.Threads(b, 0, n); i < end; i++ {
			x[i]++
		}
	})}, Source: gridgen.Source{Kernels: map[string]gridgen.Written{"f": {Params: []string{"x", "len(x)"}, Footprint: gridgen.Footprint{Cut: [3]bool{true},
		Of: func(box gridgen.Box, v []int64, touch []gridgen.Touch) {
			touch[0] = gridgen.Touch{Read: buffer.Range{Hi: n}, Write: span(box.Lo[0], box.Hi[0], n)}
		}}}}}})
	defer func() { assert.NoError(t, p.Close()) }()
	x := made(t, make([]int32, n)...)
	require.NoError(t, p.Kernel("f").Launch(ctx, newSplit(t, own[1:3]...), hal.Over(n).Of(16), kernel.InOut(x), kernel.Value(int64(n))))
	assert.Equal(t, uint64(4*n), copied(t, x.Stats()), "bytes to one device")
	assert.Equal(t, slices.Repeat([]int32{1}, n), contents(t, x))
}

// timedSplit returns a split of two devices that need so many seconds for a whole launch.
func timedSplit(t *testing.T, near bool, costs []float64) (*kernel.Split, []*hal.Stream) {
	b := &hooked.Backend{Backend: host.New(host.Options{Name: fmt.Sprintf("timed%d", backends.Add(1)), Discrete: 2})}
	var split *kernel.Split
	b.Elapsed = func(e, _ *hooked.Event) (time.Duration, error) {
		i := e.Device.Info().Ordinal - 1
		return time.Duration(float64(time.Second) * costs[i] * max(split.Shares()[i], 0.01)), nil // a device that is timed has a block, of 100
	}
	b.Info = func(i driver.Info) driver.Info {
		i.Caps |= driver.CapTiming
		return i
	}
	if !near {
		b.PeerAccess = func(d, other *hooked.Device) (none driver.PeerAccess) { return none }
	}
	var streams []*hal.Stream
	for i := range 2 {
		d, err := hal.OpenWith(ctx, b, i+1)
		require.NoError(t, err)
		s, err := d.NewStream()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, hal.CloseAll(d, s)) })
		streams = append(streams, s)
	}
	split, err := kernel.NewSplit(streams...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, split.Close()) })
	return split, streams
}

// Where devices cannot wait for each other, the first does launches that are too short to gain from the second, and the results stay the same. Launches that
// are longer later are divided again, and near devices divide all.
func TestShortLaunchesRunOnTheFirstDevice(t *testing.T) {
	const n, short, long = 1600, 20e-6, 20e-3
	for _, near := range []bool{false, true} {
		costs := []float64{short, short}
		split, streams := timedSplit(t, near, costs)
		one, y := made(t, make([]float32, n)...), made(t, make([]float32, n)...)
		require.NoError(t, one.Fill(ctx, 1))
		launches := 0
		run := func(times int) {
			for range times {
				require.NoError(t, divided.SaxpyOn(ctx, split, hal.Over(n).Of(16), 1, one, y))
				for _, s := range streams {
					require.NoError(t, s.Sync(ctx))
				}
				launches++
			}
		}
		run(40)
		want := 1.0
		if near {
			want = 0.5
		}
		assert.InDelta(t, want, split.Shares()[0], 1e-9)
		copy(costs, []float64{long, long})
		run(2000)
		assert.InDelta(t, 0.5, split.Shares()[0], 0.1)
		assert.Equal(t, slices.Repeat([]float32{float32(launches)}, n), contents(t, y))
	}
}

// The shares follow the times that devices take. They change rarely, not at all where little is gained, and the results stay the same.
func TestSharesFollowTimes(t *testing.T) {
	const n = 1600
	costs := []float64{1, 1} // seconds for a whole launch
	split, streams := timedSplit(t, true, costs)
	one, y := made(t, make([]float32, n)...), made(t, make([]float32, n)...)
	require.NoError(t, one.Fill(ctx, 1))
	launches, changes := 0, 0
	run := func(times int) {
		last := split.Shares()
		for range times {
			require.NoError(t, divided.SaxpyOn(ctx, split, hal.Over(n).Of(16), 1, one, y))
			for _, s := range streams {
				require.NoError(t, s.Sync(ctx))
			}
			launches++
			if now := split.Shares(); !slices.Equal(last, now) {
				last, changes = now, changes+1
			}
		}
	}
	run(40)
	assert.Zero(t, changes, "devices that are equally fast")
	costs[1] = 1.1
	run(200)
	assert.Zero(t, changes, "a small difference")
	costs[1] = 3
	run(5000)
	assert.InDelta(t, 0.75, split.Shares()[0], 0.05)
	assert.NotZero(t, changes)
	assert.LessOrEqual(t, changes, 4)
	costs[1] = 1000
	run(3000)
	assert.Less(t, split.Shares()[1], 0.005, "less than half a block")
	costs[1] = 1
	run(40000)
	assert.InDelta(t, 0.5, split.Shares()[0], 0.1, "a device without a part is measured all the same")
	assert.Equal(t, float32(launches), contents(t, y)[n-1])
	require.NoError(t, split.SetShares(1, 1))
	run(1000)
	assert.Equal(t, []float64{0.5, 0.5}, split.Shares(), "shares that the program has set stay")
}

// A divided launch allocates nothing in a steady state, also if neighbours exchange rows.
func TestDividedLaunchAllocatesLittle(t *testing.T) {
	if raceEnabled {
		t.Skip("pools forget at random under the race detector")
	}
	_, streams := devices(t, 2)
	launch, sync := heatSteps(t, streams[1:])
	for range 100 {
		launch()
	}
	sync()
	assert.InDelta(t, 0, testing.AllocsPerRun(200, func() { launch(); sync() }), 3)
}

// heatSteps returns a step of heat on some devices.
func heatSteps(t testing.TB, streams []*hal.Stream) (launch, sync func()) {
	const width, height = 64, 64
	split := newSplit(t, streams...)
	grid := hal.Over(width, height).Of(16, 16)
	now, next := made(t, make([]float32, width*height)...), made(t, make([]float32, width*height)...)
	launch = func() {
		if err := divided.SpreadOn(ctx, split, grid, width, height, now, next); err != nil {
			t.Fatal(err)
		}
		now, next = next, now
	}
	sync = func() {
		for _, s := range streams {
			if err := s.Sync(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	return launch, sync
}

// BenchmarkDividedLaunch is a step of heat on devices of the machine; each ends before the next.
func BenchmarkDividedLaunch(b *testing.B) {
	for _, team := range teams(b) {
		b.Run(names(team), func(b *testing.B) {
			launch, sync := heatSteps(b, team)
			b.ReportAllocs()
			for b.Loop() {
				launch()
				sync()
			}
		})
	}
}

// BenchmarkDividedStep is two steps of heat on devices of the machine, launched or recorded; both end before the next two.
func BenchmarkDividedStep(b *testing.B) {
	const width, height = 64, 64
	for _, team := range teams(b) {
		for _, how := range []string{"launched", "recorded"} {
			b.Run(names(team)+"/"+how, func(b *testing.B) {
				split, grid := newSplit(b, team...), hal.Over(width, height).Of(16, 16)
				now, next := made(b, make([]float32, width*height)...), made(b, make([]float32, width*height)...)
				both := func(on kernel.Target) error {
					return errors.Join(divided.SpreadOn(ctx, on, grid, width, height, now, next), divided.SpreadOn(ctx, on, grid, width, height, next, now))
				}
				step, err := kernel.Record(ctx, split, func(s *kernel.Step) error { return both(s) })
				require.NoError(b, err)
				defer step.Close()
				run := func() error { return step.Run(ctx) }
				if how == "launched" {
					run = func() error { return both(split) }
				}
				b.ReportAllocs()
				for b.Loop() {
					if err := run(); err != nil {
						b.Fatal(err)
					}
					for _, s := range team {
						if err := s.Sync(ctx); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}
