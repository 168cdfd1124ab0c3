package nap

import (
	"context"
	"runtime"
	"testing"
	"time"
)

func TestLength(t *testing.T) {
	for _, row := range []struct{ waited, want time.Duration }{
		{0, least}, {awake / 2, least}, {awake, awake / part}, {10 * time.Millisecond, 10 * time.Millisecond / part}, {time.Hour, longest},
	} {
		if got := Length(row.waited); got != row.want {
			t.Errorf("after %v: %v, not %v", row.waited, got, row.want)
		}
	}
}

// A wait of some milliseconds sleeps by calls of nanosleep, and never beyond the end of its context.
// Other goroutines run now and then. Each time wakes a thread, so it is not with every question.
func TestOtherGoroutinesRunNowAndThen(t *testing.T) {
	ran := 0
	others = func() { ran++ }
	defer func() { others = runtime.Gosched }()
	var w Waiter
	for range 10 * often {
		w.Rest(t.Context())
	}
	if ran != 10 {
		t.Errorf("they ran %d times", ran)
	}
}

func TestSleepsAreShort(t *testing.T) {
	var slept []time.Duration
	short = func(d time.Duration) { slept = append(slept, d) }
	defer func() { short = brief }()
	w := Waiter{asked: eager, start: time.Now().Add(time.Hour)}
	w.Rest(t.Context()) // less than a millisecond has passed
	w.start = time.Now().Add(-5 * time.Millisecond)
	w.Rest(t.Context())
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if len(slept) != 1 || slept[0] < least || !w.Rest(ctx) || len(slept) != 1 {
		t.Errorf("it slept for %v", slept)
	}
	late := Waiter{asked: eager, start: time.Now().Add(-time.Hour)}
	soon := soonEnding{t.Context()}
	if late.Rest(soon); len(slept) != 2 || slept[1] > 0 {
		t.Errorf("it slept for %v", slept)
	}
}

// soonEnding is a context whose deadline has come, and which has not ended.
type soonEnding struct{ context.Context }

func (soonEnding) Deadline() (time.Time, bool) { return time.Now().Add(-time.Hour), true }

func TestRestDoesNotAllocate(t *testing.T) {
	w := Waiter{asked: eager, start: time.Now().Add(-2 * time.Millisecond)}
	if n := testing.AllocsPerRun(10, func() { w.Rest(t.Context()) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
