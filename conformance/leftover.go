package conformance

import (
	"bytes"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"time"

	"github.com/go-halyard/halyard/hal"
)

// measure is a number. It must not grow by least or more every time that some work is done.
type measure struct {
	what  string
	least int64
	read  func() int64
}

// leaves does work again and again, and fails if one of the numbers grows each time. What a device, a vendor's library or another program
// keeps once does not count.
func (t *trial) leaves(what string, work func(), measures ...measure) {
	const rounds = 8 // Mesa gives memory back late, some rounds at once
	read := func() []int64 {
		runtime.GC()
		runtime.GC() // after the first, cleanups and pools may still keep objects
		all := make([]int64, len(measures))
		for i, m := range measures {
			all[i] = m.read()
		}
		return all
	}
	work()
	before := read()
	grown := make([][rounds]int64, len(measures))
	for round := range rounds {
		work()
		after := read()
		some := false
		for i, m := range measures {
			grown[i][round] = after[i] - before[i]
			some = some || grown[i][round] >= m.least
		}
		if before = after; !some {
			return
		}
	}
	for i, m := range measures {
		if slices.Min(grown[i][:]) >= m.least {
			t.Errorf("%s after %s: grew by %v in %d rounds, and should not grow by %d", m.what, what, grown[i], rounds, m.least)
		}
	}
}

// settled waits until no closed object waits for its work.
func (t *trial) settled() {
	t.eventually(func() bool { return t.dev.Usage().Pending == 0 }, "what was closed is given back")
}

// heap reads one of Go's metrics of the heap, just after it was collected.
func heap(name string) func() int64 {
	return func() int64 {
		s := []metrics.Sample{{Name: name}}
		metrics.Read(s)
		return int64(s[0].Value.Uint64())
	}
}

// resident is the number of bytes of the process that are in the machine's memory if the system reports it, or else the number of
// bytes in Go's heap.
func resident() int64 {
	b, err := os.ReadFile("/proc/self/statm") // Linux: proc(5)
	if f := bytes.Fields(b); err == nil && len(f) > 1 {
		if pages, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil {
			return pages * int64(os.Getpagesize())
		}
	}
	return heap("/memory/classes/heap/objects:bytes")()
}

func idleStreamsTakeNoGoroutine(t *trial) {
	const n = 100
	m := t.memory(t.dev, hal.KindDevice, n)
	before := runtime.NumGoroutine()
	for i := range n {
		s := t.stream(t.dev)
		t.must(s.Fill(region(m, i, 1), hal.Pattern8(uint8(i))), "fill")
		e := t.recorded(s)
		t.sync(s)
		t.must(e.Sync(t.ctx), "sync with the event")
	}
	// A goroutine that is about to end still counts for a moment.
	grown := n
	for deadline := time.Now().Add(time.Second); grown > n/2 && time.Now().Before(deadline); runtime.Gosched() {
		grown = runtime.NumGoroutine() - before
	}
	t.want(grown <= n/2, "%d goroutines more with %d idle streams and events", grown, n)
}

func closedObjectsForgotten(t *trial) {
	const n = 100
	s := t.stream(t.dev)
	m := t.memory(t.dev, hal.KindDevice, 64)
	cycles := map[string]func(){
		"streams": func() {
			o, err := t.dev.NewStream()
			t.must(err, "new stream")
			t.must(o.Fill(m.All(), hal.Zero), "fill")
			t.sync(o)
			t.must(o.Close(), "close stream")
		},
		"events": func() {
			e, err := s.Record()
			t.must(err, "record")
			t.must(e.Sync(t.ctx), "sync")
			t.must(e.Close(), "close event")
		},
		"copies": func() {
			t.must(s.CopyIn(m.All(), make([]byte, 64)), "copy in")
			t.sync(s)
		},
	}
	for _, k := range kinds(t.dev) {
		cycles[k.String()+" memory"] = func() {
			o, err := t.dev.Alloc(k, 64, 0)
			t.must(err, "allocate")
			t.must(o.Close(), "close memory")
		}
	}
	if t.dev.Caps().Has(hal.CapGate) {
		cycles["gates"] = func() {
			g, err := s.Gate()
			t.must(err, "gate")
			t.letGo(g)
			t.sync(s)
		}
	}
	for what, cycle := range cycles {
		t.leaves(what, func() {
			for range n {
				cycle()
			}
			t.settled()
		}, measure{"objects on the heap", n, heap("/gc/heap/objects:objects")},
			measure{"bytes on the heap", n << 10, heap("/memory/classes/heap/objects:bytes")},
			measure{"goroutines", n / 2, func() int64 { return int64(runtime.NumGoroutine()) }})
	}
}

func closedMemoryLeaves(t *trial) {
	const blocks = 12
	size := int(min(2<<20, t.dev.Info().MaxAlloc/64, t.dev.Info().TotalMemory/64))
	s := t.stream(t.dev)
	for _, k := range kinds(t.dev) {
		t.leaves(k.String()+" memory", func() {
			var mems [blocks]*hal.Memory
			for i := range mems {
				m, err := t.dev.Alloc(k, uint64(size+i*4096), 0)
				t.must(err, "allocate")
				mems[i] = m
				t.must(s.Fill(m.All(), hal.Pattern8(uint8(i+1))), "fill")
			}
			t.sync(s)
			for _, m := range mems {
				t.must(m.Close(), "close memory")
			}
			t.must(t.dev.Reclaim(t.ctx), "reclaim") // drivers may cache what is closed
		}, measure{"the process", int64(size * blocks / 4), resident})
	}
}
