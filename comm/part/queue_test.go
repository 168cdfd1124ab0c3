package part_test

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

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/part"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/testing/around"
	"github.com/go-halyard/halyard/internal/testing/divided"
)

// among runs fn on ranks, each with a queue over the devices with these names. An error of the queue is one of the rank.
func among(t *testing.T, ranks int, devices []string, shares []float64, fn func(q *part.Queue, rank int)) error {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return commtest.Execute(ranks, func(e driver.Engine) error {
		c := comm.New(e)
		q := part.Among(ctx, halyard.Open(ctx, devices...), c, shares...)
		fn(q, c.Rank())
		return errors.Join(q.Close(), c.Close())
	})
}

// job is steps of a stencil: of heat if there is a height, else of a line.
type job struct {
	width, height, distance, steps int
	block                          int
	ranks                          int
	shares                         []float64
	start                          []float32
}

// serial computes in plain Go.
func (j *job) serial() []float32 {
	now, next := slices.Clone(j.start), make([]float32, len(j.start))
	for range j.steps {
		for i := range now {
			x, y := i%j.width, i/j.width
			switch {
			case j.height == 0:
				sum := float32(0)
				for k := max(i-j.distance, 0); k < min(i+j.distance+1, len(now)); k++ {
					sum += now[k]
				}
				next[i] = float32(sum * 0.25)
			case x == 0 || y == 0 || x == j.width-1 || y == j.height-1:
				next[i] = now[i]
			default:
				next[i] = (now[i-1] + now[i+1] + now[i-j.width] + now[i+j.width]) * 0.25
			}
		}
		now, next = next, now
	}
	return now
}

// parallel is the same program on the ranks' queue.
func (j *job) parallel(q *part.Queue) *halyard.Buffer[float32] {
	now, next := halyard.From(q.Queue, j.start), halyard.New[float32](q.Queue, len(j.start))
	for range j.steps {
		if j.height == 0 {
			around.Around(q.Grid(hal.Over(j.width).Of(j.block)), int32(j.distance), now, next)
		} else {
			divided.Spread(q.Over(j.width, j.height), int32(j.width), int32(j.height), now, next)
		}
		now, next = next, now
	}
	return now
}

// program returns the program of a seed: every other one records its steps.
func (j *job) program(seed uint64) func(*part.Queue) *halyard.Buffer[float32] {
	if seed%2 > 0 {
		return j.recorded
	}
	return j.parallel
}

func randomJob(rng *rand.Rand) (j job) {
	j.width, j.steps, j.ranks, j.block = 1+rng.IntN(200), rng.IntN(6), 1+rng.IntN(6), 1+rng.IntN(9)
	n := j.width
	if rng.IntN(2) == 0 {
		j.width, j.height = 1+rng.IntN(20), 1+rng.IntN(40)
		n = j.width * j.height
	}
	j.distance = rng.IntN(30)
	if rng.IntN(3) > 0 {
		for range j.ranks {
			j.shares = append(j.shares, 0.01+rng.Float64())
		}
	}
	for range n {
		j.start = append(j.start, rng.Float32())
	}
	return j
}

// Any division among ranks has the bits of the program in plain Go, on the host and on devices with memory of their own.
func TestRandomDivisionsHaveTheBitsOfOne(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 37))
		j := randomJob(rng)
		want := j.serial()
		devices := [][]string{{"host:0"}, {"host:1"}, {"host:1", "host:2"}}[rng.IntN(3)]
		root := rng.IntN(j.ranks + 1)
		err := among(t, j.ranks, devices, j.shares, func(q *part.Queue, rank int) {
			x := j.program(seed)(q)
			if root == j.ranks {
				q.Allgather(x)
			} else {
				q.Gather(root, x)
			}
			if rank == root || root == j.ranks {
				assert.Equal(t, want, x.Values(), "seed %d, rank %d", seed, rank)
			}
		})
		require.NoError(t, err, "seed %d: %+v", seed, j)
		require.False(t, t.Failed(), "%+v", j)
	}
}

// Heat sends two rows at each boundary in each step, to the neighbours alone. The corners need not move.
func TestHeatSendsTwoRowsABoundary(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	j := job{width: 80, height: 128, steps: 11, start: make([]float32, 80*128)}
	for i := range j.start {
		j.start[i] = float32(i * i % 1009)
	}
	want := j.serial()
	for _, devices := range []string{"host:0", "host:1", "host:1,host:2"} {
		for _, ranks := range []int{1, 2, 3, 4} {
			t.Run(fmt.Sprint(ranks, "x", devices), func(t *testing.T) {
				sent := make([]part.Moved, ranks)
				require.NoError(t, among(t, ranks, strings.Split(devices, ","), nil, func(q *part.Queue, rank int) {
					x := j.parallel(q)
					sent[rank] = q.Moved()
					q.Gather(0, x)
					if rank == 0 {
						assert.Equal(t, want, x.Values())
					}
				}))
				for rank, m := range sent {
					neighbours := min(rank, 1) + min(ranks-1-rank, 1)
					rows := uint64(neighbours * (j.steps - 1)) // all ranks have the first plate
					assert.LessOrEqual(t, m.Bytes, rows*uint64(j.width)*4)
					assert.GreaterOrEqual(t, m.Bytes, rows*uint64(j.width-2)*4)
					assert.EqualValues(t, rows, m.Messages)
				}
			})
		}
	}
}

// What a part writes and does not read is not brought to it, also if another rank has written it before.
func TestWhatIsWrittenIsNotSent(t *testing.T) {
	require.NoError(t, among(t, 3, []string{"host:0"}, nil, func(q *part.Queue, _ int) {
		x, y := halyard.New[float32](q.Queue, 1000), halyard.New[float32](q.Queue, 1000)
		for _, block := range []int{8, 300, 1} {
			around.Around(q.Grid(hal.Over(1000).Of(block)), 40, x, y)
		}
		assert.Zero(t, q.Moved())
	}))
}

// Kernels that read everything, that sum up in one block, and that change what they read in place run among ranks as well.
func TestProgramsAmongRanks(t *testing.T) {
	const n = 2000
	bodies, flat := make([]divided.Body, 300), make([]float32, n)
	for i := range bodies {
		bodies[i].At = [2]float32{float32(i % 17), float32(i % 23)}
	}
	for i := range flat {
		flat[i] = float32(i%13) / 8
	}
	run := func(ranks int) (at []divided.Body, y, sums []float32) {
		require.NoError(t, among(t, ranks, []string{"host:0"}, nil, func(q *part.Queue, rank int) {
			a, b := halyard.From(q.Queue, bodies), halyard.New[divided.Body](q.Queue, len(bodies))
			for range 3 {
				divided.Pull(q, 0.01, a, b)
				a, b = b, a
			}
			x, z, s := halyard.From(q.Queue, flat), halyard.From(q.Queue, flat), halyard.New[float32](q.Queue, n/16)
			for range 3 {
				divided.Saxpy(q, 0.5, x, z)
				divided.Laplace(q, z, x)
				divided.Dot(q, x, z, s)
				divided.Saxpy(q.Grid(hal.Blocks(1).Of(1)), 2, z.Slice(n-5, n), x.Slice(0, 1)) // one thread, of rank 0
			}
			q.Gather(0, a)
			q.Gather(0, z.Slice(10, n-7))
			q.Gather(0, s)
			if rank == 0 {
				at, y, sums = a.Values(), z.Slice(10, n-7).Values(), s.Values()
			}
		}))
		return at, y, sums
	}
	at, y, sums := run(1)
	for _, ranks := range []int{2, 5} {
		at2, y2, sums2 := run(ranks)
		assert.Equal(t, at, at2)
		assert.Equal(t, y, y2)
		assert.Equal(t, sums, sums2)
	}
}

// A kernel that cannot be cut runs on every rank after Allgather, and what it writes takes part in launches that are divided.
func TestEveryRankRunsWhatCannotBeCut(t *testing.T) {
	require.NoError(t, among(t, 3, []string{"host:0"}, nil, func(q *part.Queue, rank int) {
		x, ones, bins := halyard.New[float32](q.Queue, 1000), halyard.New[float32](q.Queue, 1000), halyard.New[int32](q.Queue, 8)
		ones.Fill(float32(1))
		divided.Saxpy(q, 3, ones, x)
		q.Allgather(x)
		divided.Count(q.Queue.Over(1000), x, bins)
		assert.Equal(t, []int32{0, 0, 0, 1000, 0, 0, 0, 0}, bins.Values(), "rank %d", rank)
		ones.Set(500, 7)
		divided.Saxpy(q, 1, ones, x)
		x.Set(100, -1) // on all ranks, so all can read it
		assert.EqualValues(t, -1, x.At(100), "rank %d", rank)
		q.Gather(2, x)
		if rank == 2 {
			assert.Equal(t, []float32{4, 10, 4}, x.Slice(499, 502).Values())
			assert.Equal(t, []float32{4, -1, 4}, x.Slice(99, 102).Values())
		}
	}))
}

// What only another rank has is not read, on the host or by a launch that is not divided.
func TestStaleElementsAreNotRead(t *testing.T) {
	for name, read := range map[string]func(*part.Queue, *halyard.Buffer[float32]){
		"host": func(_ *part.Queue, x *halyard.Buffer[float32]) { x.Values() },
		"kernel": func(q *part.Queue, x *halyard.Buffer[float32]) {
			divided.Laplace(q.Queue, x, halyard.New[float32](q.Queue, x.Len()))
		},
	} {
		err := among(t, 2, []string{"host:0"}, nil, func(q *part.Queue, rank int) {
			x, y := halyard.New[float32](q.Queue, 1000), halyard.New[float32](q.Queue, 1000)
			divided.Laplace(q, x, y)
			read(q, y)
			var e *part.StaleError
			if assert.ErrorAs(t, q.Err(), &e, name) {
				assert.Equal(t, []buffer.Range{{Lo: 512 - 512*rank, Hi: 1000 - 488*rank}}, e.Global, "rank %d", rank)
				assert.Contains(t, e.Error(), "call Gather or Allgather")
			}
		})
		assert.ErrorIs(t, err, part.ErrStale)
	}
}

// A kernel that cannot be cut is refused with the reason and the line, and so are arguments that share elements.
func TestKernelsThatCannotBeCutAreRefused(t *testing.T) {
	err := among(t, 2, []string{"host:0"}, nil, func(q *part.Queue, _ int) {
		divided.Count(q.Over(1000), halyard.New[float32](q.Queue, 1000), halyard.New[int32](q.Queue, 8))
	})
	require.ErrorIs(t, err, hal.ErrUnsupported)
	require.ErrorContains(t, err, "queue_test.go")
	require.ErrorContains(t, err, "kernel count cannot be divided among 2 ranks: divided.go:")
	require.ErrorContains(t, err, "by an atomic function")
	err = among(t, 2, []string{"host:0"}, nil, func(q *part.Queue, _ int) {
		x := halyard.New[float32](q.Queue, 1000)
		divided.Saxpy(q, 1, x.Slice(0, 600), x.Slice(100, 700))
	})
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	require.ErrorContains(t, err, "shares elements with another argument")
}

// A rank that fails, or that does something else than the others, is an error of all ranks, and none waits for ever.
func TestRanksThatDifferAreAnError(t *testing.T) {
	for name, odd := range map[string]struct {
		do   func(*part.Queue, *halyard.Buffer[float32])
		kind error  // of the rank's own error
		says string // to the others
	}{
		"a failure":           {func(q *part.Queue, _ *halyard.Buffer[float32]) { q.Fail(errors.ErrUnsupported) }, errors.ErrUnsupported, "a call failed on that rank"},
		"a write of one rank": {func(_ *part.Queue, x *halyard.Buffer[float32]) { x.Set(3, 1) }, comm.ErrMismatch, "has written to other elements"},
		"the end":             {func(q *part.Queue, _ *halyard.Buffer[float32]) { assert.Error(t, q.Close()) }, comm.ErrMismatch, "has closed its queue"},
		"another kernel": {func(q *part.Queue, x *halyard.Buffer[float32]) {
			divided.Saxpy(q, 1, halyard.New[float32](q.Queue, 1000), x)
		}, comm.ErrMismatch, "has made another call"},
	} {
		t.Run(name, func(t *testing.T) {
			var errs [3]error
			var all sync.WaitGroup
			all.Add(len(errs))
			err := among(t, 3, []string{"host:0"}, nil, func(q *part.Queue, rank int) {
				x, y := halyard.New[float32](q.Queue, 1000), halyard.New[float32](q.Queue, 1000)
				for i := range 5 {
					if rank == 1 && i == 2 {
						odd.do(q, x)
					}
					divided.Laplace(q, x, y)
					x, y = y, x
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

// A kernel that fails on one rank is an error of all: of that rank with the line of the kernel, of the others with the rank.
func TestKernelThatFailsOnOneRankIsAnErrorOfAll(t *testing.T) {
	var errs [3]error
	var all sync.WaitGroup
	all.Add(len(errs))
	err := among(t, 3, []string{"host:0"}, nil, func(q *part.Queue, rank int) {
		x, y, z := halyard.New[float32](q.Queue, 900), halyard.New[float32](q.Queue, 1000), halyard.New[float32](q.Queue, 1000)
		divided.Saxpy(q, 1, x, y) // the last rank reads x[900]
		divided.Laplace(q, y, z)
		q.Gather(0, z)
		errs[rank] = q.Err()
		all.Done()
		all.Wait()
	})
	require.Error(t, err)
	for rank, err := range errs[:2] {
		var e *comm.Error
		if assert.ErrorAs(t, err, &e, "rank %d", rank) {
			assert.ErrorIs(t, e, comm.ErrMismatch)
			assert.Contains(t, e.Error(), "a call failed on that rank")
		}
	}
	assert.ErrorContains(t, errs[2], "divided.go:")
}

// A rank that waits for one that does nothing gives up when its context ends, and everything can be closed.
func TestLaunchAmongRanksEndsWithItsContext(t *testing.T) {
	over := make(chan struct{})
	var failed, closed error
	_ = commtest.Execute(2, func(e driver.Engine) error {
		c := comm.New(e)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		q := part.Among(t.Context(), halyard.Open(ctx, "host:0"), c)
		if c.Rank() == 1 {
			<-over
			return errors.New("it has left")
		}
		defer close(over)
		x, y := halyard.New[float32](q.Queue, 1000), halyard.New[float32](q.Queue, 1000)
		divided.Laplace(q, x, y)
		q.Sync()
		time.AfterFunc(time.Millisecond, cancel)
		divided.Laplace(q, y, x) // waits for an element of rank 1
		failed = q.Err()
		closed = q.Close()
		return c.Close()
	})
	require.ErrorIs(t, failed, context.Canceled)
	require.ErrorIs(t, closed, context.Canceled)
}

func TestBadDivisionsAreRefused(t *testing.T) {
	for _, shares := range [][]float64{{1}, {1, 0}, {1, -1}} {
		err := among(t, 2, []string{"host:0"}, shares, func(*part.Queue, int) {})
		assert.ErrorIs(t, err, hal.ErrInvalidArgument, "%v", shares)
	}
	err := among(t, 2, []string{"host:0"}, nil, func(q *part.Queue, _ int) { q.Gather(2, halyard.New[int8](q.Queue, 1)) })
	assert.ErrorIs(t, err, hal.ErrInvalidArgument)
	err = among(t, 2, []string{"host:0"}, nil, func(q *part.Queue, _ int) { q.Allgather(nil) })
	assert.ErrorIs(t, err, hal.ErrInvalidArgument)
}

// The bits are the same if messages are late and overtake each other.
func TestLateMessagesChangeNothing(t *testing.T) {
	for seed := range uint64(40) {
		j := randomJob(rand.New(rand.NewPCG(seed, 38)))
		want := j.serial()
		err := commtest.Execute(j.ranks, func(e driver.Engine) error {
			c := comm.New(e)
			q := part.Among(t.Context(), halyard.Open(t.Context(), "host:0"), c, j.shares...)
			x := j.program(seed)(q)
			q.Allgather(x)
			assert.Equal(t, want, x.Values())
			return errors.Join(q.Close(), c.Close())
		}, commtest.Adversary(seed), commtest.EagerLimit(seed%3*20))
		require.NoError(t, err, "seed %d: %+v", seed, j)
	}
}
