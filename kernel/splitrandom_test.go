package kernel_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/divided"
	"github.com/go-halyard/halyard/kernel"
)

// world is where a random program runs: with one device, or with splits over several devices.
type world struct {
	stream *hal.Stream
	splits []*kernel.Split // none with one device
	floats []*buffer.Buffer[float32]
	bodies []*buffer.Buffer[divided.Body]
}

// piece is a slice of one of the buffers.
type piece struct{ buffer, from, to int }

func sliced[T buffer.Element](t *testing.T, list []*buffer.Buffer[T], p piece) *buffer.Buffer[T] {
	s, err := list[p.buffer].Slice(p.from, p.to)
	require.NoError(t, err)
	return s
}

// meet reports whether two pieces share elements without being the same.
func (p piece) meet(q piece) bool {
	return p != q && p.buffer == q.buffer && max(p.from, q.from) < min(p.to, q.to)
}

// Random programs on splits over the same devices in different orders, with any sizes, slices, grids and shares and with little memory, have the
// bits of the same program on one device.
func TestRandomProgramsOnSplits(t *testing.T) {
	seeds, first := 30, 1
	if n, err := strconv.Atoi(os.Getenv("HALYARD_SPLIT_SEEDS")); err == nil {
		seeds = n
	}
	if n, err := strconv.Atoi(os.Getenv("HALYARD_SPLIT_FIRST")); err == nil {
		first = n
	}
	launches := 0
	for seed := first; seed < first+seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { launches += randomProgram(t, rand.New(rand.NewPCG(uint64(seed), 11))) })
	}
	t.Logf("%d programs from seed %d on: %d launches on splits", seeds, first, launches)
}

// randomProgram runs a program, and returns how many launches it has made on splits.
func randomProgram(t *testing.T, rng *rand.Rand) (launches int) {
	const buffers = 4
	one, several := &world{}, &world{}
	_, streams := devices(t, 3)
	one.stream = streams[0]
	if rng.IntN(2) == 0 {
		streams = streams[1:]
	}
	streams = append(streams, everyStream(t, 0)...)
	several.stream = streams[0]
	for range 2 {
		rng.Shuffle(len(streams), func(i, j int) { streams[i], streams[j] = streams[j], streams[i] })
		several.splits = append(several.splits, newSplit(t, streams[:2+rng.IntN(len(streams)-1)]...))
	}
	most := 1 + rng.IntN(600)
	for range buffers {
		n := rng.IntN(most + 1)
		x, bodies := numbers(rng, n), make([]divided.Body, rng.IntN(50))
		for i := range bodies {
			bodies[i] = divided.Body{At: [2]float32{rng.Float32(), rng.Float32()}}
		}
		for _, w := range []*world{one, several} {
			w.floats, w.bodies = append(w.floats, made(t, x...)), append(w.bodies, made(t, bodies...))
		}
	}
	if rng.IntN(2) == 0 {
		for _, s := range streams {
			buffer.SetBudget(s.Device(), uint64(max(most*8, 1600))) // for two buffers
			defer buffer.SetBudget(s.Device(), 0)
		}
	}
	any := func() piece {
		p := piece{buffer: rng.IntN(buffers)}
		p.to = one.floats[p.buffer].Len()
		if rng.IntN(2) == 0 {
			p.from = rng.IntN(p.to + 1)
			p.to = p.from + rng.IntN(p.to-p.from+1)
		}
		return p
	}
	var log []string
	both := func(what string, run func(w *world, q queue)) {
		log = append(log, what)
		which := rng.IntN(2)
		for _, w := range []*world{one, several} {
			q := queue{t: t, on: one.stream}
			if w == several {
				q.on = w.splits[which]
			}
			run(w, q)
		}
	}
	var step []func(w *world, q queue) // launches that are to be recorded
	steps := 0                         // how many they are to be
	launch := func(what string, run func(w *world, q queue)) {
		if steps == 0 {
			launches++
			both(what, run)
			return
		}
		log = append(log, "record "+what)
		if step = append(step, run); len(step) < steps {
			return
		}
		launches += repeat(t, rng, one, several, step)
		log, step, steps = append(log, "ran"), nil, 0
	}
	compare := func(p piece) {
		want, got := contents(t, sliced(t, one.floats, p)), contents(t, sliced(t, several.floats, p))
		require.Equal(t, want, got, "%v, at the end of %q", p, log)
	}
	for range 60 {
		x, y := any(), any()
		if x.meet(y) {
			continue
		}
		n, block := y.to-y.from, 1+rng.IntN(20)
		over := hal.Over(n + rng.IntN(2)*rng.IntN(100)).Of(block)
		if steps == 0 && rng.IntN(8) == 0 {
			steps = 1 + rng.IntN(6)
		}
		switch rng.IntN(11) {
		case 0, 1:
			if x.to-x.from >= n {
				a := rng.Float32() - 0.5
				launch(fmt.Sprint("saxpy ", x, y, block), func(w *world, q queue) {
					require.NoError(t, divided.SaxpyOn(ctx, q.on, over, a, sliced(t, w.floats, x), sliced(t, w.floats, y)))
				})
			}
		case 2:
			if x.to-x.from >= n && x != y {
				launch(fmt.Sprint("laplace ", x, y, block), func(w *world, q queue) {
					require.NoError(t, divided.LaplaceOn(ctx, q.on, over, sliced(t, w.floats, x), sliced(t, w.floats, y)))
				})
			}
		case 3, 4:
			width := 1 + rng.IntN(20)
			height := min(n, x.to-x.from) / width
			if x != y && (x.buffer != y.buffer || x.to <= y.from || y.to <= x.from) {
				y.to = y.from + width*height // of an Out every element has to be written
				launch(fmt.Sprint("spread ", width, height, x, y), func(w *world, q queue) {
					grid := hal.Over(width, height).Of(1+block%4, 1+block/4)
					require.NoError(t, divided.SpreadOn(ctx, q.on, grid, int32(width), int32(height), sliced(t, w.floats, x), sliced(t, w.floats, y)))
				})
			}
		case 5, 6:
			cols := 1 + rng.IntN(5)
			rows := min(n, x.to-x.from) / cols
			if x != y && (x.buffer != y.buffer || x.to <= y.from || y.to <= x.from) {
				x.to, y.to = x.from+rows*cols, y.from+rows*cols
				launch(fmt.Sprint("blur ", rows, cols, x, y), func(w *world, q queue) {
					grid := hal.Over(cols, rows).Of(1+block%3, 1+block/3)
					require.NoError(t, divided.BlurOn(ctx, q.on, grid, kernel.InRows(sliced(t, w.floats, x), cols), kernel.InRows(sliced(t, w.floats, y), cols)))
				})
			}
		case 7:
			i, k := rng.IntN(buffers), rng.IntN(buffers)
			if m := one.bodies[k].Len(); i != k && one.bodies[i].Len() >= m {
				launch(fmt.Sprint("pull ", i, k), func(w *world, q queue) {
					require.NoError(t, divided.PullOn(ctx, q.on, hal.Over(m).Of(block), 0.01, w.bodies[i], w.bodies[k]))
				})
				require.Equal(t, contents(t, one.bodies[k]), contents(t, several.bodies[k]), "%q", log)
			}
		case 8:
			v := rng.Float32()
			both(fmt.Sprint("fill ", y), func(w *world, q queue) { require.NoError(t, sliced(t, w.floats, y).FillOn(ctx, w.stream, v)) })
		case 9:
			if n > 0 {
				both(fmt.Sprint("set ", y), func(w *world, q queue) { require.NoError(t, sliced(t, w.floats, y).Set(ctx, n/2, 0.25)) })
			}
		case 10:
			split := several.splits[rng.IntN(2)]
			shares := make([]float64, len(split.Streams()))
			for i := range shares {
				shares[i] = 1 + float64(rng.IntN(9))
			}
			require.NoError(t, split.SetShares(shares...))
			compare(y)
		}
	}
	for i := range buffers {
		compare(piece{i, 0, one.floats[i].Len()})
	}
	return launches
}

// repeat runs launches several times on one device, and as a step on several. In between elements change, and the shares. It returns how many
// launches were run on several.
func repeat(t *testing.T, rng *rand.Rand, one, several *world, launches []func(w *world, q queue)) (ran int) {
	split := several.splits[rng.IntN(2)]
	step, err := kernel.Record(ctx, split, func(s *kernel.Step) error {
		for _, run := range launches {
			run(several, queue{t: t, on: s})
		}
		return nil
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, step.Close()) }()
	for range 1 + rng.IntN(8) {
		for _, run := range launches {
			run(one, queue{t: t, on: one.stream})
		}
		require.NoError(t, step.Run(ctx))
		ran += len(launches)
		switch i := rng.IntN(len(one.floats)); rng.IntN(5) {
		case 0:
			if n := one.floats[i].Len(); n > 0 {
				for _, w := range []*world{one, several} {
					require.NoError(t, w.floats[i].Set(ctx, n/2, 0.25))
				}
			}
		case 1:
			shares := make([]float64, len(split.Streams()))
			for j := range shares {
				shares[j] = 1 + float64(rng.IntN(9))
			}
			require.NoError(t, split.SetShares(shares...))
		case 2:
			require.Equal(t, contents(t, one.floats[i]), contents(t, several.floats[i]))
		}
	}
	return ran
}
