package main

import (
	"context"
	"math"
	"os"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/go-halyard/halyard/bench/internal/timing"
	"github.com/go-halyard/halyard/hal"
)

// sample is what the process uses while no request is under way.
type sample struct {
	At                                 time.Duration
	Requests                           float64 // answered so far
	Heap, Objects, Goroutines, Threads float64
	Rate                               float64 // requests a second since the last sample
}

// sample waits until closed objects have been given back, collects the garbage, and counts.
func (s *server) sample(at time.Duration) sample {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, d := range []*hal.Device{s.main, s.pooled} {
		if err := d.Reclaim(ctx); err != nil {
			s.fail("reclaim", err)
		}
	}
	runtime.GC()
	runtime.GC() // frees what the first collection has moved out of pools, or finalised
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return sample{At: at, Requests: float64(s.requests.Load()), Heap: float64(m.HeapAlloc), Objects: float64(m.HeapObjects),
		Goroutines: float64(runtime.NumGoroutine()), Threads: float64(threads())}
}

// threads returns how many threads the process has, or how many it has made if the system does not report how many there are.
func threads() int {
	if list, err := os.ReadDir("/proc/self/task"); err == nil {
		return len(list)
	}
	return pprof.Lookup("threadcreate").Count()
}

// bound is how much one figure of the samples may grow.
type bound struct {
	name  string
	of    func(sample) float64
	per   float64 // what it may grow by in 10^5 requests
	noise float64 // what it may grow by in all
}

// Caches and maps reach their size in the first half. The bounds are far below what a leak costs: 400 bytes for each stream that lives
// for one request are 12 MB in 10^5 requests, and 400 bytes for each device handle are 800 KB.
var bounds = []bound{
	{"heap, bytes", func(s sample) float64 { return s.Heap }, 256 << 10, 256 << 10},
	{"objects", func(s sample) float64 { return s.Objects }, 1000, 1000},
	{"goroutines", func(s sample) float64 { return s.Goroutines }, 1, 4},
	{"threads", func(s sample) float64 { return s.Threads }, 1, 4},
}

// The second half is cut into windows, and the line is fitted to their medians, because a garbage collection at a bad moment moves
// one sample but no median.
const (
	windows   = 6
	perWindow = 3 // samples, at least
)

// growth is how much one figure of the samples grew in the second half.
type growth struct {
	First, Last float64 // medians of the first and the last window
	Per         float64 // growth in 10^5 requests
	Total       float64
	Judged      bool // there were enough samples
}

func (b bound) exceeded(g growth) bool { return g.Per > b.per && g.Total > b.noise }

// grown fits a line through the second half of a series.
func grown(samples []sample, of func(sample) float64) growth {
	half := samples[len(samples)/2:]
	if len(half) < windows*perWindow {
		if len(samples) == 0 {
			return growth{First: math.NaN(), Last: math.NaN()}
		}
		return growth{First: of(samples[0]), Last: of(samples[len(samples)-1])}
	}
	var x, y []float64
	for i := range windows {
		part := half[i*len(half)/windows : (i+1)*len(half)/windows]
		var xs, ys []float64
		for _, s := range part {
			xs, ys = append(xs, s.Requests), append(ys, of(s))
		}
		x, y = append(x, timing.Summarize(xs).Median), append(y, timing.Summarize(ys).Median)
	}
	line := timing.Fit(x, y)
	return growth{First: y[0], Last: y[windows-1], Per: line.Slope * 1e5,
		Total: line.Slope * (half[len(half)-1].Requests - half[0].Requests), Judged: true}
}
