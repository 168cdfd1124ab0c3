package conformance

import (
	"bytes"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"time"

	"github.com/go-halyard/halyard/hal"
)

// leaves does work again and again, and fails if what left tells grows by at least least each time. What a device, a vendor's library or
// another program keeps once does not count.
func (t *trial) leaves(what string, least int64, left func() int64, work func()) {
	const rounds = 3
	work()
	before := left()
	var grown [rounds]int64
	for i := range grown {
		work()
		after := left()
		if grown[i], before = after-before, after; grown[i] < least {
			return
		}
	}
	t.Errorf("%s: grew by %v in %d rounds, and should not grow by %d", what, grown, rounds, least)
}

// settled waits until no closed object waits for its work.
func (t *trial) settled() {
	t.eventually(func() bool { return t.dev.Usage().Pending == 0 }, "what was closed is given back")
}

// heapObjects is the number of objects on Go's heap that can be reached.
func heapObjects() int64 { return heap("/gc/heap/objects:objects") }

func heap(name string) int64 {
	runtime.GC()
	runtime.GC() // the first may find objects that cleanups and pools keep
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// resident is the number of bytes of the process that are in the machine's memory where the system tells, or else those of Go's heap.
func resident() int64 {
	used := heap("/memory/classes/heap/objects:bytes")
	b, err := os.ReadFile("/proc/self/statm") // Linux: proc(5)
	if f := bytes.Fields(b); err == nil && len(f) > 1 {
		if pages, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil {
			return pages * int64(os.Getpagesize())
		}
	}
	return used
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
	// What has ended a moment ago may still be about to.
	grown := n
	for deadline := time.Now().Add(time.Second); grown > n/2 && time.Now().Before(deadline); runtime.Gosched() {
		grown = runtime.NumGoroutine() - before
	}
	t.want(grown <= n/2, "%d goroutines more with %d idle streams and events", grown, n)
}

func closedObjectsForgotten(t *trial) {
	const n = 200
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
		work := func() {
			for range n {
				cycle()
			}
			t.settled()
		}
		t.leaves("objects on the heap after "+what, n, heapObjects, work)
		t.leaves("bytes on the heap after "+what, n<<10, func() int64 { return heap("/memory/classes/heap/objects:bytes") }, work)
		t.leaves("goroutines after "+what, n/2, func() int64 { return int64(runtime.NumGoroutine()) }, work)
	}
}

func closedMemoryLeaves(t *trial) {
	const blocks = 12
	size := int(min(2<<20, t.dev.Info().MaxAlloc/64, t.dev.Info().TotalMemory/64))
	s := t.stream(t.dev)
	for _, k := range kinds(t.dev) {
		t.leaves("the process after "+k.String()+" memory", int64(size*blocks/4), resident, func() {
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
			t.settled()
		})
	}
}
