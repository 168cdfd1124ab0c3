package main

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
)

func quick() options {
	return options{time: time.Minute, every: time.Minute, workers: 2, only: regexp.MustCompile("")}
}

func TestEveryKindOfRequest(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	s := newServer(quick())
	w := s.workers[0]
	for _, k := range s.kinds {
		for range 20 {
			require.NoError(t, frame.Do(func() { k.do(w, t.Context()) }), k.name)
		}
		require.Empty(t, s.failures, k.name)
	}
	s.close(goroutines)
	assert.Empty(t, s.failures)
	assert.Zero(t, s.wrong.Load())
}

func TestRun(t *testing.T) {
	o := quick()
	o.every, o.samples = 10*time.Millisecond, 12
	o.only = regexp.MustCompile("stream|slice|deadline")
	r := o.run(t.Context())
	assert.Positive(t, r.Requests)
	assert.Len(t, r.Kinds, 3)
	assert.Len(t, r.Samples, 12)
	assert.False(t, r.Interrupted)
	assert.Empty(t, r.Failures)
	assert.Contains(t, r.text(), "0 wrong bytes, 0 failures\n")
	file := filepath.Join(t.TempDir(), "soak.svg")
	require.NoError(t, r.page().Write(file))
	picture, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(picture), "goroutines")
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := quick().run(ctx)
	assert.True(t, r.Interrupted)
	assert.False(t, r.failed())
	assert.Contains(t, r.text(), "interrupted")
}

// What is left open, and bytes that nobody wrote, are failures.
func TestFailuresAreSeen(t *testing.T) {
	s := newServer(quick())
	w := s.workers[0]
	require.NoError(t, w.own.Set(t.Context(), 3, 99))
	w.lookAtOwn(t.Context())
	assert.Equal(t, uint64(4), s.wrong.Load())
	assert.Contains(t, s.failures, "slice: 1 of 256 elements are wrong")

	open, err := s.main.NewStream()
	require.NoError(t, err)
	mem, err := s.main.Alloc(hal.KindDevice, 64, 0)
	require.NoError(t, err)
	forgotten, err := buffer.New[uint32](8)
	require.NoError(t, err)
	require.NoError(t, forgotten.Prefetch(open))
	s.settle = 0
	s.close(0)
	for _, want := range []string{
		"usage: soak:1 holds 96 bytes and 0 closed objects after everything was closed",
		"residency: soak:1 has 1 replicas with 32 bytes after all buffers were closed",
	} {
		assert.Contains(t, s.failures, want)
	}
	var busy, left bool
	for f := range s.failures {
		busy = busy || regexp.MustCompile("^close device: .*still open").MatchString(f)
		left = left || regexp.MustCompile("^goroutines: ").MatchString(f)
	}
	assert.True(t, busy, "%v", s.failures)
	assert.True(t, left, "%v", s.failures)
	require.NoError(t, forgotten.Close())
	require.NoError(t, mem.Close())
	require.NoError(t, open.Close())
	require.NoError(t, s.main.Close())
}

// A hundred and twenty samples, as in two minutes, at 1000 requests a second, of a process whose heap is seen to jump.
func series(perRequest float64) []sample {
	rng := rand.New(rand.NewPCG(1, 2))
	var list []sample
	for i := range 120 {
		requests := float64(1000 * (i + 1))
		filled := min(1, float64(i)/40) // caches
		heap := 10e6 + 5e6*filled + perRequest*requests + 50e3*rng.Float64()
		if i%9 == 0 { // a collection at a bad moment
			heap += 4e6
		}
		list = append(list, sample{At: time.Duration(i) * time.Second, Requests: requests, Heap: heap, Objects: 1000, Goroutines: 5, Threads: 9})
	}
	return list
}

func TestGrowthIsToldFromNoise(t *testing.T) {
	heap := bounds[0]
	assert.False(t, heap.exceeded(grown(series(0), heap.of)))
	assert.False(t, heap.exceeded(grown(series(-100), heap.of)), "it shrinks")
	// 400 bytes for each stream that lives for one request.
	all, streams := 0, 0
	for _, k := range kinds {
		all += k.share
		if k.name == "stream" {
			streams = k.share
		}
	}
	leak := 400 * float64(streams) / float64(all)
	g := grown(series(leak), heap.of)
	assert.True(t, heap.exceeded(g))
	assert.InEpsilon(t, leak*1e5, g.Per, 0.1)
	assert.True(t, heap.exceeded(grown(series(8), heap.of)), "400 bytes for each fiftieth request")

	slow := series(0) // so few requests that noise looks like growth
	for i := range slow {
		slow[i].Requests /= 1000
		slow[i].Heap += 500 * float64(i)
	}
	g = grown(slow, heap.of)
	assert.Greater(t, g.Per, heap.per)
	assert.False(t, heap.exceeded(g))

	few := series(leak)[:20]
	g = grown(few, heap.of)
	assert.False(t, g.Judged)
	assert.False(t, heap.exceeded(g))
	r := results{Samples: series(leak)}
	assert.True(t, r.failed())
	assert.Regexp(t, `heap, bytes .* GROWS`, r.text())
	r.Samples = few
	assert.Contains(t, r.text(), "too few samples")
}

func TestThreadsAndGoroutines(t *testing.T) {
	list := series(0)
	for i := range list {
		list[i].Threads += float64(i / 2)
	}
	assert.True(t, bounds[3].exceeded(grown(list, bounds[3].of)))
	assert.False(t, bounds[2].exceeded(grown(list, bounds[2].of)))
}

var kept [][]byte

// What the process keeps is seen in its own heap.
func TestSamplesSeeALeak(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	s := newServer(quick())
	for _, leak := range []bool{false, true} {
		var r results
		for range 36 {
			for range 1000 {
				b := make([]byte, 400)
				if leak {
					kept = append(kept, b)
				}
			}
			s.requests.Add(1000)
			r.add(s.sample(0), time.Second)
		}
		assert.Equal(t, leak, bounds[0].exceeded(grown(r.Samples, bounds[0].of)), "heap")
		assert.Equal(t, leak, bounds[1].exceeded(grown(r.Samples, bounds[1].of)), "objects")
		assert.Equal(t, leak, r.failed())
	}
	kept = nil
	s.close(goroutines)
	assert.Empty(t, s.failures)
}
