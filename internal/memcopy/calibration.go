package memcopy

import (
	"math"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// Plan is a way to copy a large range.
type Plan struct {
	Piece   uint64 // bytes that one built-in copy moves at a time
	Workers int    // goroutines that share a range, including the caller's
	Stream  bool   // copies several pages at once and writes around the caches
	Repeat  bool   // copies by the processor's own instruction, as C does
}

const (
	least      = 1 << 20 // bytes; shorter ranges are one built-in copy
	classCount = 7       // from 1, 2, 4 ... and 64 MiB

	// trialSize is the part of a range of the last class that tries one plan.
	trialSize = 16 << 20

	trialsPerPlan = 4 // one after the other; the first is not measured
	mostWorkers   = 16
)

// one is the plan that copies the whole range at once.
var one = Plan{Piece: math.MaxUint64, Workers: 1}

// classes are the classes of sizes. A class reaches from its size to that of the next class; the last has no end.
var classes = newClasses()

func newClasses() *[classCount]class {
	var all [classCount]class
	for i := range all {
		all[i].from = least << i
	}
	all[classCount-1].open = true
	return &all
}

// classOf returns the class of n, which is at least least.
func classOf(n uint64) *class { return &classes[min(bits.Len64(n/least), classCount)-1] }

// class finds the best plan for one class of sizes by trying all on real copies.
type class struct {
	from    uint64               // the smallest size
	open    bool                 // there is no largest size
	settled atomic.Pointer[Plan] // the outcome of all trials

	trying sync.Mutex // held by the copy that is trying plans
	plans  []Plan
	rates  []float64 // the highest of each plan so far
	tried  int
}

// plan returns what to do without a trial.
func (c *class) plan() Plan {
	if p := c.settled.Load(); p != nil {
		return *p
	}
	return Plan{Piece: 256 << 10, Workers: 2}
}

// copy copies. As long as no plan is chosen, it tries plans on parts of the copy. If
// another copy is trying plans at that time, it follows the guess of plan instead.
func (c *class) copy(t task) {
	if c.settled.Load() != nil || !c.trying.TryLock() {
		c.plan().run(t)
		return
	}
	for t.n > 0 && c.settled.Load() == nil {
		n := t.n
		if c.open && n >= 2*trialSize {
			n = trialSize
		}
		c.try(task{dst: t.dst, src: t.src, n: n})
		t.dst, t.src, t.n = advance(t.dst, n, t.n), advance(t.src, n, t.n), t.n-n
	}
	c.trying.Unlock()
	if t.n > 0 {
		c.plan().run(t)
	}
}

// advance returns p moved by n, with left bytes at p. It does not move p to the end of its
// allocation, where p would keep another allocation alive.
func advance(p unsafe.Pointer, n, left uint64) unsafe.Pointer {
	if n == left {
		return p
	}
	return unsafe.Add(p, n)
}

// try copies t by the plan whose turn it is and settles the class after the last one.
func (c *class) try(t task) {
	if c.plans == nil {
		c.plans = candidates(c.from, runtime.GOMAXPROCS(0))
		c.rates = make([]float64, len(c.plans))
	}
	touch(t)
	i, counts := turn(c.tried)
	start := time.Now()
	c.plans[i].run(t)
	took := max(time.Since(start), 1)
	if counts {
		c.rates[i] = max(c.rates[i], float64(t.n)/took.Seconds())
	}
	if c.tried++; c.tried == len(c.plans)*trialsPerPlan {
		c.settled.Store(&c.plans[best(c.plans, c.rates)])
	}
}

// turn returns the plan of the next trial, given the number of trials so far, and whether its time counts. All trials of a plan come one
// after the other. The first does not count, because it runs with the caches as another plan left them. A plan that writes around the
// caches is quick itself, but the next copy of the same data must wait for the memory.
func turn(tried int) (plan int, counts bool) { return tried / trialsPerPlan, tried%trialsPerPlan > 0 }

// candidates lists the plans worth trying for copies of size bytes on a number of
// processors: the built-in copy first, then by the number of goroutines.
func candidates(size uint64, processors int) []Plan {
	plans := []Plan{one, {Piece: 256 << 10, Workers: 1}}
	if canStream {
		plans = append(plans, Plan{Piece: 256 << 10, Workers: 1, Stream: true}, Plan{Piece: math.MaxUint64, Workers: 1, Repeat: true})
	}
	for workers := 2; workers <= min(processors, mostWorkers); workers *= 2 {
		for _, piece := range []uint64{256 << 10, 512 << 10, 1 << 20, 4 << 20} {
			if piece*uint64(workers) > min(size, trialSize) {
				continue
			}
			plans = append(plans, Plan{Piece: piece, Workers: workers})
			if canStream {
				plans = append(plans, Plan{Piece: piece, Workers: workers, Stream: true})
			}
		}
	}
	return plans
}

// best returns the index of the fastest plan, or of a plan with fewer goroutines that
// is nearly as fast, since goroutines take processors from the rest of the program.
func best(plans []Plan, rates []float64) int {
	fastest := 0
	for i := range plans {
		needed := rates[fastest]
		if plans[i].Workers > plans[fastest].Workers {
			needed *= 1.05
		}
		if rates[i] > needed {
			fastest = i
		}
	}
	return fastest
}

// touch makes all pages of t present, so that no trial includes the time for the first use
// of fresh memory. It writes only bytes that the copy writes anyway.
func touch(t task) {
	dst, src := unsafe.Slice((*byte)(t.dst), t.n), unsafe.Slice((*byte)(t.src), t.n)
	for i := 0; i < len(dst); i += 4096 {
		dst[i] = src[i]
	}
	dst[len(dst)-1] = src[len(src)-1]
}
