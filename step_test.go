package halyard_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/small"
)

func ExampleQueue_Record() {
	q := halyard.Open(context.Background(), "host")
	x, y := halyard.From(q, []float32{1, 2, 3}), halyard.New[float32](q, 3)
	step := q.Record(func(q *halyard.Queue) {
		small.Saxpy(q, 1, x, y) // y += x
		small.Saxpy(q, 2, y, x) // x += 2*y
	})
	for range 3 {
		step.Run()
	}
	fmt.Println(x, y)
	if err := q.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// [41 82 123] [15 30 45]
}

// A run does what the launches would do, also on what other calls have written since, and Record itself does nothing.
func TestStepDoesWhatItsLaunchesDo(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	for _, names := range [][]string{{"host:0"}, {"host:1"}, {"host:1", "host:2"}} {
		q := halyard.Open(t.Context(), names...)
		const n = 3000
		x, y, tmp := halyard.From(q, ones(n)), halyard.New[float32](q, n), halyard.New[int32](q, 4)
		step := q.Record(func(q *halyard.Queue) {
			small.Saxpy(q, 2, x, y)
			small.Number(q.Grid(hal.Blocks(4).Of(1)), tmp)
			small.Saxpy(q, 1, y.Slice(0, 10), x.Slice(n-10, n))
		})
		require.NoError(t, q.Err())
		assert.Zero(t, x.Buffer().Stats().BytesCopied+y.Buffer().Stats().BytesCopied)
		everyElement(t, y, 0)
		step.Run()
		step.Run()
		assert.Equal(t, []int32{0, 1, 2, 3}, tmp.Values())
		assert.Equal(t, float32(7), x.At(n-1)) // 1 + 2 + 4
		assert.Equal(t, float32(2+2*3), y.At(n-1))
		assert.Equal(t, float32(4), y.At(0))
		x.Fill(1)
		y.Set(3, 10)
		step.Run()
		assert.Equal(t, float32(12), y.At(3))
		assert.Equal(t, float32(1+12), x.At(n-7))
		assert.Equal(t, float32(8+2), y.At(n-1))
		step.Close()
		step.Close()
		require.NoError(t, q.Close())
	}
}

// A launch that is refused is refused by Record, with the line of the launch; what a step cannot have is refused with that of the call.
func TestWhatRecordRefuses(t *testing.T) {
	other := open(t)
	gone := halyard.New[float32](other, 3)
	gone.Close()
	for _, c := range []struct {
		says string
		fn   func(outer, q *halyard.Queue, x *halyard.Buffer[float32])
	}{
		{"argument y: the buffer is closed", func(outer, q *halyard.Queue, x *halyard.Buffer[float32]) { small.Saxpy(q, 1, x, gone) }},
		{"argument x", func(outer, q *halyard.Queue, x *halyard.Buffer[float32]) { small.Saxpy(q.Over(3), 1, nil, x) }},
		{"launch it on q.Over(n)", func(outer, q *halyard.Queue, x *halyard.Buffer[float32]) { small.Number(q, halyard.As[int32](x)) }},
		{"launches on the queue that it is given", func(outer, q *halyard.Queue, x *halyard.Buffer[float32]) { small.Saxpy(outer, 1, x, x) }},
		{"call Fill before Record", func(outer, q *halyard.Queue, x *halyard.Buffer[float32]) { x.Fill(1) }},
		{"call At before Record", func(outer, q *halyard.Queue, x *halyard.Buffer[float32]) { x.At(1) }},
		{"call Values before Record", func(outer, q *halyard.Queue, x *halyard.Buffer[float32]) { x.Slice(1, 2).Values() }},
		{"call Fill before Record", func(outer, q *halyard.Queue, x *halyard.Buffer[float32]) { deep(300, func() { x.Fill(1) }) }},
		{"call Sync before Record", func(outer, q *halyard.Queue, x *halyard.Buffer[float32]) { q.Sync() }},
		{"call Record before Record", func(outer, q *halyard.Queue, x *halyard.Buffer[float32]) { q.Record(func(*halyard.Queue) {}) }},
	} {
		q := open(t)
		x := halyard.From(q, ones(3))
		step := q.Record(func(inner *halyard.Queue) { c.fn(q, inner, x) })
		require.ErrorContains(t, q.Err(), c.says)
		kind := hal.ErrInvalidArgument
		if strings.Contains(c.says, "closed") {
			kind = hal.ErrClosed
		}
		require.ErrorIs(t, q.Err(), kind, c.says)
		require.ErrorContains(t, q.Err(), "step_test.go:")
		step.Run()
		step.Close()
		require.Equal(t, q.Err(), q.Close())
	}
	q := open(t)
	q.Record(nil)
	require.ErrorIs(t, q.Err(), hal.ErrInvalidArgument)
	(*halyard.Step)(nil).Run()
	(&halyard.Step{}).Run()
	(*halyard.Queue)(nil).Record(func(*halyard.Queue) { t.Error("called") }).Run()
}

// deep calls fn behind n calls.
func deep(n int, fn func()) {
	if n == 0 {
		fn()
		return
	}
	deep(n-1, fn)
}

// Other goroutines use the queue while one records.
func TestRecordConcernsItsFunctionOnly(t *testing.T) {
	q := open(t)
	x, y := halyard.From(q, ones(3)), halyard.New[float32](q, 3)
	step := q.Record(func(q2 *halyard.Queue) {
		small.Saxpy(q2, 1, x, y)
		done := make(chan struct{})
		go func() {
			defer close(done)
			small.Saxpy(q, 10, x, y)
			y.Slice(0, 1).Fill(0)
			assert.Equal(t, []float32{0, 10, 10}, y.Values())
			q.Record(func(q *halyard.Queue) { small.Saxpy(q, 10, x, y) }).Run()
			assert.Equal(t, []float32{10, 20, 20}, y.Values())
			y.Fill(1)
		}()
		<-done
	})
	step.Run()
	assert.Equal(t, []float32{2, 2, 2}, y.Values())
	require.NoError(t, q.Close())
}

type vector = *halyard.Buffer[float32]

// Errors of a run name its line. A queue on which a grid of a step is used later says so.
func TestErrorsOfARun(t *testing.T) {
	for _, c := range []struct {
		says string
		kind error
		do   func(q *halyard.Queue, x, y vector, step *halyard.Step, late *halyard.Queue)
	}{
		{"saxpy: argument y: the buffer is closed", hal.ErrClosed, func(q *halyard.Queue, x, y vector, step *halyard.Step, late *halyard.Queue) {
			y.Close()
			step.Run()
		}},
		{"the step is closed", hal.ErrClosed, func(q *halyard.Queue, x, y vector, step *halyard.Step, late *halyard.Queue) {
			step.Close()
			step.Run()
		}},
		{"a step that was recorded before", hal.ErrInvalidArgument, func(q *halyard.Queue, x, y vector, step *halyard.Step, late *halyard.Queue) {
			small.Saxpy(late, 1, x, y)
		}},
		{"the queue is closed", hal.ErrClosed, func(q *halyard.Queue, x, y vector, step *halyard.Step, late *halyard.Queue) {
			require.NoError(t, q.Close())
			step.Run()
		}},
	} {
		q := open(t)
		x, y := halyard.From(q, ones(3)), halyard.New[float32](q, 3)
		var late *halyard.Queue
		step := q.Record(func(q *halyard.Queue) {
			small.Saxpy(q, 1, x, y)
			late = q
		})
		step.Run()
		require.NoError(t, q.Err())
		c.do(q, x, y, step, late)
		require.ErrorIs(t, q.Err(), c.kind)
		require.ErrorContains(t, q.Err(), c.says)
		require.ErrorContains(t, q.Err(), "step_test.go:")
	}
}

// When a kernel of a step fails, what the step writes is lost, and the error names the kernel.
func TestKernelOfAStepFails(t *testing.T) {
	q := open(t)
	x, y := halyard.New[float32](q, 3), halyard.New[float32](q, 10)
	out := halyard.New[int32](q, 4)
	step := q.Record(func(q *halyard.Queue) {
		small.Saxpy(q, 1, x, y)
		small.Number(q.Grid(hal.Blocks(4).Of(1)), out)
	})
	step.Run()
	require.Equal(t, make([]int32, 4), out.Values())
	require.Regexp(t, `step_test\.go:\d+: host:0: launch: .* kernel saxpy, .* index out of range \[3\] .* \(small\.go:\d+\)$`, q.Err().Error())
}

// Run waits for a function on the elements, until the context ends.
func TestRunWaitsForOthersUntilTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	q := halyard.Open(ctx, "host")
	x, y := halyard.From(q, ones(3)), halyard.New[float32](q, 3)
	step := q.Record(func(q *halyard.Queue) { small.Saxpy(q, 1, x, y) })
	y.Update(func([]float32) {
		go cancel()
		step.Run()
		require.ErrorIs(t, q.Err(), context.Canceled)
	})
	require.ErrorIs(t, q.Close(), context.Canceled)
	<-halyard.Ended(q)
}

// Runs of several goroutines are whole, one after the other, and Views between them see whole runs.
func TestRunsOfManyGoroutines(t *testing.T) {
	q := open(t)
	x, y := halyard.From(q, ones(64)), halyard.New[float32](q, 64)
	step := q.Record(func(q *halyard.Queue) {
		small.Saxpy(q, 1, x, y)
		small.Saxpy(q, 1, x, y)
	})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				step.Run()
				y.View(func(s []float32) { assert.Zero(t, int(s[7])%2) })
			}
		})
	}
	wg.Wait()
	everyElement(t, y, 400)
	require.NoError(t, q.Close())
}

// Steps and buffers that a loop drops are freed.
func TestDroppedStepsAreFreed(t *testing.T) {
	q := open(t)
	for range 50 {
		x := halyard.New[float32](q, 1<<10)
		step := q.Record(func(q *halyard.Queue) { small.Saxpy(q, 2, x, x) })
		step.Run()
	}
	q.Sync()
	require.NoError(t, q.Err())
	require.Eventually(t, func() bool { runtime.GC(); return halyard.Made(q) == 0 }, 10*time.Second, time.Millisecond)
}

func TestRunAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("pools forget at random under the race detector")
	}
	step, _ := steps(t, "host", 10)
	assert.InDelta(t, 0, testing.AllocsPerRun(1000, step), 0.01)
}

// steps returns a step of n launches and these launches by themselves; both wait.
func steps(t testing.TB, device string, n int) (step, plain func()) {
	q := halyard.Open(context.Background(), device)
	t.Cleanup(func() { assert.NoError(t, q.Close()) })
	x := halyard.New[float32](q, 3*256)
	var parts []*halyard.Buffer[float32]
	for i := range 3 {
		parts = append(parts, x.Slice(256*i, 256*(i+1)))
	}
	launches := func(q *halyard.Queue) {
		for i := range n {
			small.Saxpy(q, 1, parts[i%3], parts[(i+1)%3])
		}
	}
	s := q.Record(launches)
	step, plain = func() { s.Run(); q.Sync() }, func() { launches(q); q.Sync() }
	for range 3 {
		step()
		plain()
	}
	return step, plain
}

// BenchmarkStep compares a step with its launches, on the host and on each other device. The two take turns; the metrics are the least time
// for each launch of the step, and by how much it is less than that of the launches alone.
func BenchmarkStep(b *testing.B) {
	infos, err := hal.Devices(b.Context())
	require.NoError(b, err)
	b.Run("host", func(b *testing.B) { benchmarkStep(b, "host") })
	for _, info := range infos {
		if info.Backend != "host" {
			b.Run(info.Name(), func(b *testing.B) { benchmarkStep(b, info.Name()) })
		}
	}
}

func benchmarkStep(b *testing.B, device string) {
	const n = 10
	step, plain := steps(b, device, n)
	least := func(d *time.Duration, call func()) {
		start := time.Now()
		for range 20 {
			call()
		}
		*d = min(*d, time.Since(start)/20)
	}
	run, apart := time.Hour, time.Hour
	for b.Loop() {
		least(&run, step)
		least(&apart, plain)
	}
	b.ReportMetric(float64(run)/n, "step-ns")
	b.ReportMetric(float64(apart)/n, "launch-ns")
	b.ReportMetric(float64(run)/float64(apart), "step/launch")
}
