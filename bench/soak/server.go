package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/trace"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

const (
	stripe      = 256 // elements of each worker's part of the shared table
	setSize     = 8   // buffers that a worker uses under the budget
	setElements = 4096

	patience  = 30 * time.Second // the deadline of every request
	mostShown = 20               // how many different failures are shown
)

// server is what the workers share.
type server struct {
	open           func(ctx context.Context) *hal.Device // one more handle on the first device
	main, pooled   *hal.Device
	pool           *pool.Pool
	weights, table *buffer.Buffer[uint32]
	trace          io.Closer // nil unless one is open all the time
	workers        []*worker
	leakHandler    func(hal.Leak)
	settle         time.Duration // how long close waits for goroutines to end

	kinds    []kind
	pause    sync.RWMutex // held by requests for reading
	gates    sync.RWMutex // held for reading while a gate is shut, and for writing to close a device, because CUDA and HIP devices do not close then
	tracing  sync.Mutex
	requests atomic.Uint64
	wrong    atomic.Uint64 // bytes

	mu       sync.Mutex
	failures map[string]uint64 // how often each occurred
	failed   uint64
}

// worker answers one request at a time.
type worker struct {
	*server
	rng    *rand.Rand
	stream *hal.Stream
	own    *buffer.Buffer[uint32] // its part of the table
	want   []uint32               // what it wrote there
	set    []*buffer.Buffer[uint32]
	values []uint32 // of the buffers in set, all elements alike
	done   []uint64 // requests by kind
}

func newServer(o options) *server {
	ctx := context.Background()
	s := &server{failures: map[string]uint64{}, kinds: o.kinds(), settle: 5 * time.Second}
	s.leakHandler = hal.SetLeakHandler(func(l hal.Leak) { s.fail("leak", fmt.Errorf("%s on %s was never closed", l.Object, l.Device)) })
	if len(o.devices) == 0 {
		backend := host.New(host.Options{Name: "soak", Discrete: 2})
		s.open = func(ctx context.Context) *hal.Device { return frame.Get(hal.OpenWith(ctx, backend, 1)) }
		s.pooled = frame.Get(hal.OpenWith(ctx, backend, 2))
	} else {
		s.open = func(ctx context.Context) *hal.Device { return frame.Get(hal.Open(ctx, o.devices[0])) }
		s.pooled = frame.Get(hal.Open(ctx, o.devices[len(o.devices)-1]))
	}
	s.main = s.open(ctx)
	s.pool = frame.Get(pool.New(s.pooled, pool.WithChunk(1<<20)))
	buffer.SetAllocator(s.pooled, s.pool)
	// The budget is half of the workers' sets, and room for what all workers share.
	buffer.SetBudget(s.main, uint64(o.workers)*(setSize/2*setElements*4+stripe*4)+2<<20)
	weights := make([]uint32, 1024)
	for i := range weights {
		weights[i] = weight(i)
	}
	s.weights = frame.Get(buffer.From(weights))
	// Memory that a unified device shares with the host belongs to the handle that used it first, and keeps that handle from closing. So
	// s.main, which stays open, uses it first.
	frame.Must(s.weights.SyncTo(ctx, s.main))
	s.table = frame.Get(buffer.New[uint32](o.workers * stripe))
	if o.trace != "" {
		s.trace = frame.Get(trace.Create(o.trace))
	}
	for i := range o.workers {
		w := &worker{server: s, rng: rand.New(rand.NewPCG(o.seed, uint64(i))), want: make([]uint32, stripe),
			values: make([]uint32, setSize), done: make([]uint64, len(s.kinds))}
		w.stream = frame.Get(s.main.NewStream())
		w.own = frame.Get(s.table.Slice(i*stripe, (i+1)*stripe))
		for range setSize {
			w.set = append(w.set, frame.Get(buffer.New[uint32](setElements)))
		}
		s.workers = append(s.workers, w)
	}
	return s
}

func weight(i int) uint32 { return uint32(i)*2654435761 + 1 }

// serve starts the workers. When ctx ends, each finishes its request and stops.
func (s *server) serve(ctx context.Context) *sync.WaitGroup {
	var running sync.WaitGroup
	for _, w := range s.workers {
		running.Go(func() {
			for ctx.Err() == nil {
				s.pause.RLock()
				w.request()
				s.pause.RUnlock()
			}
		})
	}
	return &running
}

// quiet waits until no request is under way, and runs fn before others begin. Requests end, because they have deadlines. If one does
// not, quiet prints the stacks of all goroutines and ends the process.
func (s *server) quiet(fn func()) {
	stuck := time.AfterFunc(2*patience, func() {
		fmt.Fprintln(os.Stderr, "soak: FAILED: a request does not end, though its deadline is over")
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		os.Exit(1)
	})
	s.pause.Lock()
	defer s.pause.Unlock()
	stuck.Stop()
	fn()
}

func (s *server) fail(what string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed++
	text := what + ": " + err.Error()
	if _, known := s.failures[text]; known || len(s.failures) < mostShown {
		s.failures[text]++
	}
}

// counts says how many requests of each kind there were.
func (s *server) counts() []string {
	var list []string
	for i, k := range s.kinds {
		var n uint64
		for _, w := range s.workers {
			n += w.done[i]
		}
		list = append(list, fmt.Sprintf("%s %d", k.name, n))
	}
	return list
}

// close closes everything and counts what is left open as failures.
func (s *server) close(goroutines int) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	check := func(what string, err error) {
		if err != nil {
			s.fail(what, err)
		}
	}
	for _, w := range s.workers {
		for _, b := range w.set {
			check("close buffer", b.Close())
		}
	}
	check("close table", s.table.Close())
	check("close weights", s.weights.Close())
	for _, w := range s.workers {
		check("close stream", w.stream.Close())
	}
	if s.trace != nil {
		check("close trace", s.trace.Close())
	}
	buffer.SetAllocator(s.pooled, nil)
	check("close pool", s.pool.Close())
	for _, d := range []*hal.Device{s.main, s.pooled} {
		check("reclaim", d.Reclaim(ctx))
		if u := d.Usage(); u.Held != 0 || u.Pending != 0 {
			check("usage", fmt.Errorf("%s holds %d bytes and %d closed objects after everything was closed", d.Name(), u.Held, u.Pending))
		}
		if r := buffer.ResidencyOf(d); r.Used != 0 || r.Replicas != 0 {
			check("residency", fmt.Errorf("%s has %d replicas with %d bytes after all buffers were closed", d.Name(), r.Replicas, r.Used))
		}
		check("close device", d.Close())
	}
	for end := time.Now().Add(s.settle); runtime.NumGoroutine() > goroutines && time.Now().Before(end); {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		check("goroutines", fmt.Errorf("%d are left, %d more than before", n, n-goroutines))
	}
	hal.SetLeakHandler(s.leakHandler)
}

var errEarly = errors.New("a wait for work behind a shut gate ended without an error")
