package bench

import (
	"context"
	"errors"
	"runtime"
	"time"
)

// Side is one way of doing the thing that is measured.
type Side struct {
	// Op does it, Per times.
	Op  func() error
	Per int // 0 is 1

	// Enter and Leave are called before and after each batch, outside its time, and may be nil. Leave is called
	// whenever Enter returned nil.
	Enter func() error
	Leave func() error
}

// Options say how long to measure. The zero value is good.
type Options struct {
	// Time is how long the timed batches of both sides take together; a measurement that comes out unsteady takes up to
	// twice as long, and MinPairs pairs are taken in any case. 0 is DefaultTime.
	Time time.Duration

	// Reps is how many pairs of batches are taken, whatever time that needs; 0 leaves it to Time.
	Reps int

	// Batch is the least time of a batch; 0 is DefaultBatch. A coarse clock makes it longer.
	Batch time.Duration

	// Clock is a monotonic clock; nil is the system's.
	Clock func() time.Duration
}

const (
	DefaultTime  = 100 * time.Millisecond
	DefaultBatch = 200 * time.Microsecond

	// MinPairs is the least number of pairs, unless Options.Reps says less.
	MinPairs = 5

	// Unsteady is the spread of the ratios from which on a result is called so.
	Unsteady = 0.2

	warmUps    = 40      // calls of each side before anything is timed, if they fit half of Options.Time
	ticks      = 1000    // clock ticks in the shortest batch
	mostCalls  = 1 << 22 // of Op in a batch
	mostPairs  = 1 << 14
	allocCalls = 1 << 10 // of Op to count allocations in, at most
)

// Result is what came out. Times are of one thing, in nanoseconds.
type Result struct {
	Ours  Summary
	Raw   Summary // all zeros if there is no other side
	Ratio Summary // ours divided by raw, pair by pair

	Pairs     int
	OursBatch int // calls of Op in a batch
	RawBatch  int

	// Allocs is how many heap objects the program allocated for one thing of ours.
	Allocs float64
}

// HasRaw reports whether there was something to compare with.
func (r *Result) HasRaw() bool { return r.RawBatch > 0 }

// Unsteady reports whether the ratios differ so much among each other that the median says little. Without another
// side the times are looked at.
func (r *Result) Unsteady() bool {
	if r.HasRaw() {
		return r.Ratio.Spread() > Unsteady
	}
	return r.Ours.Spread() > Unsteady
}

// errNothing is for a Side without an Op.
var errNothing = errors.New("bench: nothing to measure")

// Compare measures ours beside raw, whose Op may be nil if there is nothing to compare with. It stops at the first
// error, and between two batches when ctx ends.
func Compare(ctx context.Context, ours, raw Side, o Options) (Result, error) {
	if ours.Op == nil {
		return Result{}, errNothing
	}
	m := newMeasurement(o)
	a, b := &half{Side: ours, n: 1}, &half{Side: raw, n: 1}
	if err := m.warm(ctx, a, b); err != nil {
		return Result{}, err
	}
	for _, h := range []*half{a, b} {
		if err := m.size(ctx, h); err != nil {
			return Result{}, err
		}
	}
	allocs, err := m.allocations(a)
	if err != nil {
		return Result{}, err
	}
	if err := m.pairs(ctx, a, b); err != nil {
		return Result{}, err
	}
	r := Result{Ours: Summarize(a.times), Pairs: len(a.times), OursBatch: a.n, Allocs: allocs}
	if b.Op != nil {
		r.Raw, r.Ratio, r.RawBatch = Summarize(b.times), Summarize(m.ratios), b.n
	}
	return r, nil
}

// half is one side while it is measured.
type half struct {
	Side
	n     int       // calls in a batch
	times []float64 // of one thing, one for each batch
}

func (h *half) per() float64 { return float64(max(h.Per, 1)) }

type measurement struct {
	Options
	ratios []float64
}

func newMeasurement(o Options) *measurement {
	if o.Time <= 0 {
		o.Time = DefaultTime
	}
	if o.Batch <= 0 {
		o.Batch = DefaultBatch
	}
	if o.Clock == nil {
		o.Clock = clock()
	}
	o.Batch = max(o.Batch, ticks*Tick(o.Clock))
	return &measurement{Options: o}
}

// Tick is the smallest step of a clock among some.
func Tick(clock func() time.Duration) time.Duration {
	least := time.Duration(0)
	last := clock()
	for changes, calls := 0, 0; changes < 20 && calls < 1<<20; calls++ {
		now := clock()
		if d := now - last; d > 0 {
			changes++
			if least == 0 || d < least {
				least = d
			}
		}
		last = now
	}
	return least
}

// run times one batch of n calls.
func (m *measurement) run(h *half, n int) (took time.Duration, err error) {
	if h.Op == nil {
		return 0, nil
	}
	if h.Enter != nil {
		if err := h.Enter(); err != nil {
			return 0, err
		}
	}
	start := m.Clock()
	for range n {
		if err = h.Op(); err != nil {
			break
		}
	}
	took = m.Clock() - start
	if h.Leave != nil {
		if lerr := h.Leave(); err == nil {
			err = lerr
		}
	}
	return took, err
}

// warm lets everything be made that is made once.
func (m *measurement) warm(ctx context.Context, a, b *half) error {
	runtime.GC() // garbage of what was measured before is not this one's
	start := m.Clock()
	for i := 0; i < warmUps && (i < 2 || m.Clock()-start < m.Time/2); i++ {
		for _, h := range []*half{a, b} {
			if err := ctx.Err(); err != nil {
				return err
			}
			if _, err := m.run(h, 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// size finds how many calls make a batch.
func (m *measurement) size(ctx context.Context, h *half) error {
	for h.Op != nil && h.n < mostCalls {
		if err := ctx.Err(); err != nil {
			return err
		}
		took, err := m.run(h, h.n)
		if err != nil || took >= m.Batch {
			return err
		}
		next := mostCalls
		if took > 0 {
			next = int(float64(h.n)*1.2*float64(m.Batch)/float64(took)) + 1
		}
		h.n = min(next, 10*h.n, mostCalls)
	}
	return nil
}

// allocations counts what one thing allocates.
func (m *measurement) allocations(h *half) (float64, error) {
	n := min(h.n, allocCalls)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := m.run(h, n)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / (float64(n) * h.per()), err
}

// pairs times both sides in turns.
func (m *measurement) pairs(ctx context.Context, a, b *half) error {
	limit, extended := m.Time, false
	timed := time.Duration(0)
	for i := 0; ; i++ {
		switch {
		case m.Reps > 0 && i >= m.Reps, i >= mostPairs:
			return nil
		case m.Reps == 0 && i >= MinPairs && timed >= limit:
			if extended || !m.unsteady(a) {
				return nil
			}
			limit, extended = 2*limit, true
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		first, second := a, b
		if i%2 == 1 {
			first, second = b, a
		}
		for _, h := range [...]*half{first, second} {
			if h.Op == nil {
				continue
			}
			took, err := m.run(h, h.n)
			if err != nil {
				return err
			}
			timed += took
			h.times = append(h.times, float64(took)/(float64(h.n)*h.per()))
		}
		if b.Op != nil {
			m.ratios = append(m.ratios, a.times[i]/max(b.times[i], 1e-3))
		}
	}
}

func (m *measurement) unsteady(a *half) bool {
	if len(m.ratios) > 0 {
		return Summarize(m.ratios).Spread() > Unsteady/2
	}
	return Summarize(a.times).Spread() > Unsteady/2
}
