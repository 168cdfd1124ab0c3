package timing

import (
	"context"
	"errors"
	"runtime"
	"time"
)

// Side is one of the two ways that are compared.
type Side struct {
	// Op performs the measured operation, Per times.
	Op  func() error
	Per int // 0 means 1

	// Enter and Leave are called before and after each batch, outside its time, and may be nil. Leave is called
	// whenever Enter returned nil.
	Enter func() error
	Leave func() error
}

// Options say how long to measure. The zero value has the defaults.
type Options struct {
	// Time is how long the timed batches of both sides take together. An unsteady measurement takes up to
	// twice as long, and at least MinPairs pairs are taken. 0 means DefaultTime.
	Time time.Duration

	// Reps is how many pairs of batches are taken, however long that takes; if it is 0, Time decides.
	Reps int

	// Batch is the least duration of a batch; 0 means DefaultBatch. With a coarse clock batches last longer.
	Batch time.Duration

	// Clock is a monotonic clock; nil means the system's.
	Clock func() time.Duration
}

const (
	DefaultTime  = 100 * time.Millisecond
	DefaultBatch = 200 * time.Microsecond

	// MinPairs is the least number of pairs, unless Options.Reps is smaller.
	MinPairs = 5

	// Unsteady is the spread of the ratios above which a result is called unsteady.
	Unsteady = 0.2

	warmUps    = 40      // calls of each side before anything is timed, if they fit half of Options.Time
	ticks      = 1000    // clock ticks in the shortest batch
	mostCalls  = 1 << 22 // calls of Op in a batch
	mostPairs  = 1 << 14
	allocCalls = 1 << 10 // calls of Op in which allocations are counted, at most
)

// Result is the outcome of a comparison. Times are nanoseconds for one operation.
type Result struct {
	Ours  Summary
	Raw   Summary // all zeros if there is no raw side
	Ratio Summary // ours divided by raw, pair by pair

	Pairs     int
	OursBatch int // calls of Op in a batch
	RawBatch  int

	// Allocs is how many heap objects the program allocated for one operation of ours.
	Allocs float64
}

// HasRaw reports whether there was a raw side to compare with.
func (r *Result) HasRaw() bool { return r.RawBatch > 0 }

// Unsteady reports whether the ratios differ so much from each other that the median says little. Without a raw
// side it looks at the times instead.
func (r *Result) Unsteady() bool {
	if r.HasRaw() {
		return r.Ratio.Spread() > Unsteady
	}
	return r.Ours.Spread() > Unsteady
}

// errNothing is the error for a Side without an Op.
var errNothing = errors.New("bench: there is no operation to measure")

// Compare measures ours and raw. The Op of raw may be nil if there is nothing to compare with. It stops at the first
// error, or, when ctx ends, after the current batch.
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
	times []float64 // for each batch the time of one operation, in nanoseconds
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

// Tick returns the smallest of the first steps of a clock, or 0 if the clock does not advance.
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

// warm calls both sides a few times, so that what is initialised at the first use is not timed.
func (m *measurement) warm(ctx context.Context, a, b *half) error {
	runtime.GC() // so that this measurement does not pay for earlier garbage
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

// size finds how many calls a batch needs to last long enough.
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

// allocations returns how many heap objects one operation allocates.
func (m *measurement) allocations(h *half) (float64, error) {
	n := min(h.n, allocCalls)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := m.run(h, n)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / (float64(n) * h.per()), err
}

// pairs times both sides in turn.
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
