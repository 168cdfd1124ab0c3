package halyard_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/small"
)

// launches returns the same launch through a queue and on its stream. Each waits for its work.
func launches(t testing.TB) (front, direct func()) {
	q := halyard.Open(context.Background(), "host")
	t.Cleanup(func() { assert.NoError(t, q.Close()) })
	x, y := halyard.New[float32](q, 16), halyard.New[float32](q, 16)
	s, xs, ys := q.Stream(), x.Buffer(), y.Buffer()
	failed := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	front = func() {
		small.Saxpy(q, 2, x, y)
		failed(s.Sync(context.Background()))
	}
	direct = func() {
		failed(small.SaxpyOn(context.Background(), s, hal.Over(16), 2, xs, ys))
		failed(s.Sync(context.Background()))
	}
	front()
	direct()
	return front, direct
}

// BenchmarkLaunch compares a launch of a kernel through a queue with the same launch on a stream. The two take turns; the metric is by how many
// nanoseconds the least time of a launch through the queue is longer.
func BenchmarkLaunch(b *testing.B) {
	front, direct := launches(b)
	const turn = 100
	least := func(launch func()) time.Duration {
		begin := time.Now()
		for range turn {
			launch()
		}
		return time.Since(begin) / turn
	}
	through, beside := least(front), least(direct)
	for b.Loop() {
		through, beside = min(through, least(front)), min(beside, least(direct))
	}
	b.ReportMetric(float64(through-beside), "ns-more")
	b.ReportMetric(float64(through)/float64(beside), "ratio")
}

func TestLaunchThroughAQueueAllocatesNoMore(t *testing.T) {
	if raceEnabled {
		t.Skip("pools forget at random under the race detector")
	}
	front, direct := launches(t)
	assert.InDelta(t, testing.AllocsPerRun(1000, direct), testing.AllocsPerRun(1000, front), 0.01)
}
