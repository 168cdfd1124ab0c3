package part_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/part"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/testing/around"
	"github.com/go-halyard/halyard/internal/testing/divided"
	"github.com/go-halyard/halyard/kernel/algo"
)

// recorded is the program of the job with its steps in pairs, which are recorded.
func (j *job) recorded(q *part.Queue) *halyard.Buffer[float32] {
	now, next := halyard.From(q.Queue, j.start), halyard.New[float32](q.Queue, len(j.start))
	one := func(q *part.Queue) {
		if j.height == 0 {
			around.Around(q.Grid(hal.Over(j.width).Of(j.block)), int32(j.distance), now, next)
		} else {
			divided.Spread(q.Over(j.width, j.height), int32(j.width), int32(j.height), now, next)
		}
		now, next = next, now
	}
	pair := q.Record(func(q *part.Queue) { one(q); one(q) })
	for range j.steps / 2 {
		pair.Run()
	}
	if j.steps%2 > 0 {
		one(q)
	}
	return now
}

// Recorded heat has the bits of plain Go, and sends what its launches send.
func TestRecordedHeatAmongRanks(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	j := job{width: 80, height: 128, steps: 20, start: make([]float32, 80*128)}
	for i := range j.start {
		j.start[i] = float32(i * i % 1009)
	}
	want := j.serial()
	for _, devices := range []string{"host:0", "host:1", "host:1,host:2"} {
		for _, ranks := range []int{1, 2, 4} {
			t.Run(fmt.Sprint(ranks, "x", devices), func(t *testing.T) {
				sent, each := make([]part.Moved, ranks), make([]part.Moved, ranks)
				require.NoError(t, among(t, ranks, strings.Split(devices, ","), nil, func(q *part.Queue, rank int) {
					x := j.recorded(q)
					sent[rank] = q.Moved()
					q.Gather(0, x)
					if rank == 0 {
						assert.Equal(t, want, x.Values())
					}
					before := q.Moved()
					j.parallel(q)
					each[rank] = q.Moved()
					each[rank].Bytes, each[rank].Messages = each[rank].Bytes-before.Bytes, each[rank].Messages-before.Messages
				}))
				assert.Equal(t, each, sent)
			})
		}
	}
}

// solve does some rounds of conjugate gradients, which write their numbers on the device and so can be recorded.
func solve(q *part.Queue, b []float32, rounds int, record bool) (x *halyard.Buffer[float32], s []*halyard.Buffer[float32]) {
	n := len(b)
	x = halyard.New[float32](q.Queue, n)
	r, p, ap := halyard.From(q.Queue, b), halyard.From(q.Queue, b), halyard.New[float32](q.Queue, n)
	rr, pap := halyard.New[float32](q.Queue, (n+15)/16), halyard.New[float32](q.Queue, (n+15)/16)
	round := func(q *part.Queue) { // with steps of a length that is chosen before
		divided.Laplace(q, p, ap)
		divided.Dot(q, p, ap, pap)
		divided.Saxpy(q, 0.25, p, x)
		divided.Saxpy(q, -0.25, ap, r)
		divided.Dot(q, r, r, rr)
		divided.Saxpy(q, 0.5, r, p)
	}
	step := (*part.Step)(nil)
	if record {
		step = q.Record(round)
	}
	for range rounds {
		if record {
			step.Run()
		} else {
			round(q)
		}
	}
	return x, []*halyard.Buffer[float32]{rr, pap}
}

// plain is solve in plain Go.
func plain(b []float32, rounds int) (x, rr []float32) {
	n := len(b)
	x = make([]float32, n)
	r, p, ap := slices.Clone(b), slices.Clone(b), make([]float32, n)
	for range rounds {
		for i := range ap {
			sum := 2.5 * p[i]
			if i > 0 {
				sum -= p[i-1]
			}
			if i+1 < n {
				sum -= p[i+1]
			}
			ap[i] = sum
		}
		for i := range x {
			x[i] += float32(0.25 * p[i])
			r[i] += float32(-0.25 * ap[i])
			p[i] += float32(0.5 * r[i])
		}
	}
	for i := 0; i < n; i += 16 {
		sum := float32(0)
		for j := i; j < min(i+16, n); j++ {
			sum += float32(r[j] * r[j])
		}
		rr = append(rr, sum)
	}
	return x, rr
}

func TestRecordedGradientsAmongRanks(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	b := make([]float32, 9000)
	for i := range b {
		b[i] = float32(i*i%101) / 16
	}
	want, rest := plain(b, 9)
	for _, devices := range []string{"host:0", "host:1", "host:1,host:2"} {
		for _, ranks := range []int{1, 2, 4} {
			t.Run(fmt.Sprint(ranks, "x", devices), func(t *testing.T) {
				require.NoError(t, among(t, ranks, strings.Split(devices, ","), nil, func(q *part.Queue, rank int) {
					x, s := solve(q, b, 9, true)
					q.Gather(0, x)
					q.Gather(0, s[0])
					if rank == 0 {
						assert.Equal(t, want, x.Values())
						assert.Equal(t, rest, s[0].Values())
					}
				}))
			})
		}
	}
}

// Random programs of stencils on three buffers, of which some launches are in steps, have the bits of the program without ranks.
func TestRandomStepsHaveTheBitsOfOne(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 40))
		n, ranks := 1+rng.IntN(300)*[]int{1, 30}[rng.IntN(2)], 2+rng.IntN(4)
		devices := [][]string{{"host:0"}, {"host:1"}, {"host:1", "host:2"}}[rng.IntN(3)]
		start := make([]float32, n)
		for i := range start {
			start[i] = rng.Float32()
		}
		program := func(q *part.Queue) (all [][]float32) {
			rng := rand.New(rand.NewPCG(seed, 41))
			var x [3]*halyard.Buffer[float32]
			for i := range x {
				x[i] = halyard.From(q.Queue, start)
			}
			launch := func() func(*part.Queue) {
				from := rng.IntN(len(x))
				to := (from + 1 + rng.IntN(len(x)-1)) % len(x)
				lo, block, distance := rng.IntN(n), 1+rng.IntN(20), int32(rng.IntN(30))
				hi := lo + 1 + rng.IntN(n-lo)
				if rng.IntN(2) == 0 {
					lo, hi = 0, n
				}
				a, b := x[from].Slice(lo, hi), x[to].Slice(lo, hi)
				grid := hal.Over(hi - lo).Of(block)
				switch rng.IntN(3) {
				case 0:
					return func(q *part.Queue) { divided.Saxpy(q.Grid(grid), 0.25, a, b) }
				case 1:
					return func(q *part.Queue) { divided.Laplace(q.Grid(grid), a, b) }
				}
				return func(q *part.Queue) { around.Around(q.Grid(grid), distance, a, b) }
			}
			var steps []*part.Step
			for range 1 + rng.IntN(3) {
				var list []func(*part.Queue)
				for range rng.IntN(6) {
					list = append(list, launch())
				}
				steps = append(steps, q.Record(func(q *part.Queue) {
					for _, l := range list {
						l(q)
					}
				}))
			}
			for range 3 + rng.IntN(5) {
				switch rng.IntN(6) {
				case 0:
					launch()(q)
				case 1:
					i, v := rng.IntN(n), rng.Float32()
					x[rng.IntN(len(x))].Set(i, v)
				case 2:
					q.Gather(rng.IntN(2), x[rng.IntN(len(x))])
				default:
					s := steps[rng.IntN(len(steps))]
					for range 1 + rng.IntN(5) {
						s.Run()
					}
				}
				for i := range x { // so that numbers stay finite
					if rng.IntN(4) == 0 {
						x[i].Fill(1)
					}
				}
			}
			for i := range x {
				q.Allgather(x[i])
				all = append(all, x[i].Values())
			}
			return all
		}
		var want [][]float32
		require.NoError(t, among(t, 1, []string{"host:0"}, nil, func(q *part.Queue, _ int) { want = program(q) }))
		err := among(t, ranks, devices, nil, func(q *part.Queue, rank int) {
			assert.Equal(t, fmt.Sprint(want), fmt.Sprint(program(q)), "seed %d, rank %d", seed, rank)
		})
		require.NoError(t, err, "seed %d", seed)
		require.False(t, t.Failed())
	}
}

// Once a run ends with the elements where they were when it began, the later ones plan nothing, so they allocate nothing.
func TestStepAmongRanksDoesNotAllocateInSteadyState(t *testing.T) {
	if raceEnabled {
		t.Skip("with the race detector everything allocates")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var lines [2]line
	begin, ended := make(chan struct{}), make(chan struct{})
	commtest.Run(t, 2, func(e driver.Engine) error {
		me := e.World().Rank()
		c := comm.New(&pair{Engine: e, out: &lines[me], in: &lines[1-me]})
		q := part.Among(ctx, halyard.Open(ctx, "host:0"), c)
		x, y := halyard.New[float32](q.Queue, 300), halyard.New[float32](q.Queue, 300)
		step := q.Record(func(q *part.Queue) {
			around.Around(q, 5, x, y)
			divided.Saxpy(q, -0.5, y, x) // after an exchange of nothing, as the launch before reads what another rank writes here
		})
		run := func() {
			step.Run()
			for done := false; !done; done, _ = q.Stream().Done() { // to block would allocate
				runtime.Gosched()
			}
		}
		if me == 1 {
			for range begin {
				run()
				ended <- struct{}{}
			}
			return errors.Join(q.Close(), c.Close())
		}
		n := testing.AllocsPerRun(1000, func() {
			begin <- struct{}{}
			run()
			<-ended
		})
		close(begin)
		if n != 0 {
			t.Errorf("%v allocations for a step of two ranks", n)
		}
		return errors.Join(q.Close(), c.Close())
	})
}

// Runs that repeat the messages of another leave the map alone, and runs after a write of the host, or a Gather, do not repeat them.
func TestStepsPlanAgainWhenOthersHaveUsedTheBuffers(t *testing.T) {
	require.NoError(t, among(t, 2, []string{"host:0"}, nil, func(q *part.Queue, rank int) {
		x, y := halyard.New[float32](q.Queue, 1000), halyard.New[float32](q.Queue, 1000)
		step := q.Record(func(q *part.Queue) {
			around.Around(q, 1, x, y)
			around.Around(q, 1, y, x)
		})
		var quiet []bool
		run := func() {
			before := part.News(x) + part.News(y)
			step.Run()
			quiet = append(quiet, part.News(x)+part.News(y) == before)
		}
		for range 4 {
			run()
		}
		x.Set(500, 1)
		for range 4 {
			run()
		}
		q.Gather(0, x)
		for range 4 {
			run()
		}
		assert.Equal(t, []bool{false, false, true, true, false, false, true, true, false, false, true, true}, quiet)
	}))
}

// A rank that fails, or that has recorded or does something else than the others, is an error of all ranks, and none waits for ever. What
// another rank has written is stale then, also if the run repeated the messages of an earlier one.
func TestRanksWhoseStepsDifferAreAnError(t *testing.T) {
	for name, odd := range map[string]struct {
		do   func(q *part.Queue, x, y *halyard.Buffer[float32]) *part.Step // a step to run in place of the others'
		kind error                                                         // of the rank's own error
		says string                                                        // to the others
	}{
		"a failure": {func(q *part.Queue, _, _ *halyard.Buffer[float32]) *part.Step {
			q.Fail(errors.ErrUnsupported)
			return nil
		}, errors.ErrUnsupported, "a call failed on that rank"},
		"another step": {func(q *part.Queue, x, y *halyard.Buffer[float32]) *part.Step {
			return q.Record(func(q *part.Queue) {
				divided.Laplace(q, x, y)
				around.Around(q, 1, y, x)
			})
		}, comm.ErrMismatch, "has made another call"},
		"a launch": {func(q *part.Queue, x, y *halyard.Buffer[float32]) *part.Step {
			divided.Laplace(q, x, y)
			return nil
		}, comm.ErrMismatch, "has made another call"},
		"a closed buffer": {func(_ *part.Queue, x, _ *halyard.Buffer[float32]) *part.Step {
			x.Close()
			return nil
		}, hal.ErrClosed, "a call failed on that rank"},
		"the end": {func(q *part.Queue, _, _ *halyard.Buffer[float32]) *part.Step {
			assert.Error(t, q.Close())
			return nil
		}, comm.ErrMismatch, "has closed its queue"},
	} {
		for _, runs := range []int{0, 5} {
			t.Run(fmt.Sprint(name, " after ", runs), func(t *testing.T) {
				var errs [3]error
				var all sync.WaitGroup
				all.Add(len(errs))
				err := among(t, 3, []string{"host:0"}, nil, func(q *part.Queue, rank int) {
					x, y := halyard.New[float32](q.Queue, 1000), halyard.New[float32](q.Queue, 1000)
					step := q.Record(func(q *part.Queue) {
						divided.Laplace(q, x, y)
						divided.Laplace(q, y, x)
					})
					for i := range runs + 4 {
						if s := step; rank == 1 && i == runs {
							if s = odd.do(q, x, y); s == nil {
								s = step
							}
							s.Run()
							continue
						}
						step.Run()
					}
					errs[rank] = q.Err()
					all.Done()
					all.Wait() // what a rank returns ends the job
				})
				require.Error(t, err)
				assert.ErrorIs(t, errs[1], odd.kind)
				for _, err := range []error{errs[0], errs[2]} {
					assert.ErrorIs(t, err, comm.ErrMismatch)
					assert.ErrorContains(t, err, odd.says)
				}
			})
		}
	}
}

// A step of launches that cannot be divided is refused with the reason and the line, and so is one that has other launches, too.
func TestStepsThatCannotBeDividedAreRefused(t *testing.T) {
	type buffers struct {
		x, y *halyard.Buffer[float32]
		bins *halyard.Buffer[int32]
	}
	for says, fn := range map[string]func(q *part.Queue, b buffers){
		"kernel count cannot be divided among 2 ranks": func(q *part.Queue, b buffers) { divided.Count(q.Over(1000), b.x, b.bins) },
		"shares elements with another argument": func(q *part.Queue, b buffers) {
			divided.Saxpy(q, 1, b.x.Slice(0, 600), b.x.Slice(100, 700))
		},
		"not both": func(q *part.Queue, b buffers) {
			divided.Laplace(q, b.x, b.y)
			divided.Laplace(q.Queue, b.x, b.y)
		},
		"has launches that are divided among ranks, or others": func(q *part.Queue, b buffers) {
			divided.Laplace(q.Queue, b.x, b.y)
			divided.Laplace(q, b.x, b.y)
		},
		"call Gather before Record":                   func(q *part.Queue, b buffers) { q.Gather(0, b.x) },
		"cannot be part of a step whose launches are": func(q *part.Queue, b buffers) { algo.Sum(q, b.x, b.y.Slice(0, 1)) },
	} {
		err := among(t, 2, []string{"host:0"}, nil, func(q *part.Queue, _ int) {
			b := buffers{halyard.New[float32](q.Queue, 1000), halyard.New[float32](q.Queue, 1000), halyard.New[int32](q.Queue, 8)}
			step := q.Record(func(q *part.Queue) { fn(q, b) })
			step.Run()
			assert.ErrorContains(t, q.Err(), "step_test.go:")
		})
		assert.ErrorContains(t, err, says)
	}
	err := among(t, 2, []string{"host:0"}, nil, func(q *part.Queue, _ int) { q.Record(nil).Run() })
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	for _, s := range []*part.Step{nil, {}} {
		s.Run()
		s.Close()
	}
}

// A rank that waits in a step for one that does nothing gives up when its context ends. What it has is then what the maps say, whether the
// run repeated the messages of another or not.
func TestStepAmongRanksEndsWithItsContext(t *testing.T) {
	for _, runs := range []int{2, 5} {
		var failed, stale error
		over := make(chan struct{})
		_ = commtest.Execute(2, func(e driver.Engine) error {
			c := comm.New(e)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			q := part.Among(t.Context(), halyard.Open(ctx, "host:0"), c)
			var x [3]*buffer.Buffer[float32]
			for i := range x {
				b, err := buffer.New[float32](1000)
				if err != nil {
					return err
				}
				x[i] = b
			}
			step := q.Record(func(q *part.Queue) {
				divided.Laplace(q, x[0], x[1])
				divided.Laplace(q, x[2], x[0])
				divided.Laplace(q, x[1], x[2])
			})
			for range runs {
				step.Run()
			}
			q.Sync()
			if c.Rank() == 1 {
				divided.Laplace(q, x[0], x[1]) // what a run begins with
				<-over
				return errors.New("it has left")
			}
			defer close(over)
			time.AfterFunc(10*time.Millisecond, cancel)
			step.Run() // waits for an element of x[2]
			failed = q.Err()
			beside, err := x[1].Slice(500, 513) // with the first element of the other rank's part, which has come in the run before
			if err != nil {
				return err
			}
			stale = beside.View(t.Context(), func([]float32) error { return nil })
			return errors.Join(beside.Close(), q.Close())
		})
		require.ErrorIs(t, failed, context.Canceled)
		require.ErrorIs(t, stale, part.ErrStale, "%d runs", runs)
	}
}
