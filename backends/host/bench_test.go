package host_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal/driver"
)

// What a program does all the time allocates nothing.
func TestHotPathsDoNotAllocate(t *testing.T) {
	d := open(t, host.Options{Discrete: 1}, 1)
	s, other := newStream(t, d), newStream(t, d)
	small, large := alloc(t, d, driver.KindDevice, 64), alloc(t, d, driver.KindDevice, 2<<20)
	e, timed, done := newEvent(t, d, false), newEvent(t, d, true), newEvent(t, d, false)
	src := make([]byte, 2<<20)
	check(t, other.Record(done))
	for _, row := range []struct {
		name string
		call func() error
	}{
		{"copy in of 4 bytes", func() error { return s.CopyIn(at(small, 0, 4), pointer(src)) }},
		{"copy out of 4 bytes", func() error { return s.CopyOut(pointer(src), at(small, 0, 4)) }},
		{"copy of 4 bytes", func() error { return s.Copy(at(small, 0, 4), at(small, 8, 4)) }},
		{"fill", func() error { return s.Fill(all(small), driver.Pattern{Bits: 1, Width: 8}) }},
		{"record", func() error { return s.Record(e) }},
		{"record with a time stamp", func() error { return s.Record(timed) }},
		{"wait", func() error { return s.Wait(done) }},
		{"query", func() error { _, err := s.Query(); return err }},
		{"queued copy, record, wait and sync", func() error {
			if err := s.CopyIn(at(large, 0, 64<<10), pointer(src)); err != nil {
				return err
			}
			if err := s.Record(e); err != nil {
				return err
			}
			if err := other.Wait(e); err != nil {
				return err
			}
			return other.Sync()
		}},
		{"large copy", func() error {
			if err := s.CopyIn(all(large), pointer(src)); err != nil {
				return err
			}
			return s.Sync()
		}},
	} {
		for range 100 { // until queues, goroutines and plans are there
			check(t, row.call())
		}
		if n := testing.AllocsPerRun(200, func() {
			if err := row.call(); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", row.name, n)
		}
	}
}

func benchmark(b *testing.B, call func() error) {
	b.ReportAllocs()
	for b.Loop() {
		if err := call(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCopyIn4(b *testing.B) {
	d := open(b, host.Options{}, 0)
	s, m, src := newStream(b, d), alloc(b, d, driver.KindDevice, 64), make([]byte, 4)
	benchmark(b, func() error { return s.CopyIn(at(m, 0, 4), pointer(src)) })
}

func BenchmarkCopy4(b *testing.B) {
	d := open(b, host.Options{}, 0)
	s, m := newStream(b, d), alloc(b, d, driver.KindDevice, 64)
	benchmark(b, func() error { return s.Copy(at(m, 0, 4), at(m, 8, 4)) })
}

// BenchmarkCopy4Queued is the price of a copy that cannot be done at once.
func BenchmarkCopy4Queued(b *testing.B) {
	d := open(b, host.Options{}, 0)
	s, m := newStream(b, d), alloc(b, d, driver.KindDevice, 64)
	b.ReportAllocs()
	openGate := func() {}
	n := 0
	for b.Loop() {
		if n%1000 == 0 {
			openGate()
			check(b, s.Sync())
			openGate = shut(b, s)
		}
		n++
		if err := s.Copy(at(m, 0, 4), at(m, 8, 4)); err != nil {
			b.Fatal(err)
		}
	}
	openGate()
	check(b, s.Sync())
}

func BenchmarkRecord(b *testing.B) {
	d := open(b, host.Options{}, 0)
	s, e := newStream(b, d), newEvent(b, d, false)
	benchmark(b, func() error { return s.Record(e) })
}

// BenchmarkRecordBehindGate records where there is work that is not done.
func BenchmarkRecordBehindGate(b *testing.B) {
	d := open(b, host.Options{}, 0)
	s, e := newStream(b, d), newEvent(b, d, false)
	openGate := shut(b, s)
	benchmark(b, func() error { return s.Record(e) })
	openGate()
	check(b, s.Sync())
}

func BenchmarkWait(b *testing.B) {
	d := open(b, host.Options{}, 0)
	s, other, e := newStream(b, d), newStream(b, d), newEvent(b, d, false)
	check(b, other.Record(e))
	benchmark(b, func() error { return s.Wait(e) })
}

func BenchmarkEventQuery(b *testing.B) {
	d := open(b, host.Options{}, 0)
	s, e := newStream(b, d), newEvent(b, d, false)
	check(b, s.Record(e))
	benchmark(b, func() error { _, err := e.Query(); return err })
}

func BenchmarkCopyAndSync64KiB(b *testing.B) {
	d := open(b, host.Options{}, 0)
	s, m, src := newStream(b, d), alloc(b, d, driver.KindDevice, 64<<10), make([]byte, 64<<10)
	b.SetBytes(64 << 10)
	benchmark(b, func() error {
		if err := s.CopyIn(all(m), pointer(src)); err != nil {
			return err
		}
		return s.Sync()
	})
}

// BenchmarkLargeCopy compares stream copies with one built-in copy of the same memory,
// turn by turn so that both meet the same weather. The ratio of their total times
// is reported as "times-builtin".
func BenchmarkLargeCopy(b *testing.B) {
	for _, row := range []struct {
		name string
		size uint64
	}{{"1MiB", 1 << 20}, {"8MiB", 8 << 20}, {"64MiB", 64 << 20}, {"256MiB", 256 << 20}} {
		b.Run(row.name, func(b *testing.B) {
			d := open(b, host.Options{}, 0)
			s := newStream(b, d)
			dst, src := alloc(b, d, driver.KindDevice, row.size), alloc(b, d, driver.KindDevice, row.size)
			to := unsafe.Slice((*byte)(dst.HostPointer()), row.size)
			from := unsafe.Slice((*byte)(src.HostPointer()), row.size)
			streamCopy := func() {
				check(b, s.Copy(all(dst), all(src)))
				check(b, s.Sync())
			}
			copy(from, to) // first touch
			for range 100*(1<<20)/row.size + 32 {
				streamCopy()
			}
			b.SetBytes(int64(row.size))
			b.ReportAllocs()
			var ours, builtin time.Duration
			for b.Loop() {
				start := time.Now()
				copy(to, from)
				middle := time.Now()
				streamCopy()
				builtin += middle.Sub(start)
				ours += time.Since(middle)
			}
			b.ReportMetric(builtin.Seconds()/ours.Seconds(), "times-builtin")
			b.ReportMetric(float64(row.size)*float64(b.N)/ours.Seconds()/1e9, "GB/s")
		})
	}
}

// BenchmarkLaunch compares a launch of little work and its wait: on the caller's goroutine, on the queue, and in another goroutine for each launch. They
// take turns, and the metrics are the least times of 100 launches in a row.
func BenchmarkLaunch(b *testing.B) {
	d := open(b, host.Options{}, 0)
	s := newStream(b, d)
	x := make([]float32, 2048)
	work := func(*driver.Block) {
		for i := range x {
			x[i] = x[i]*0.5 + 1
		}
	}
	launch := functions(b, d, map[string]driver.Function{"here": {Steps: []uint32{10000}, Run: work}, "queued": {Run: work}})
	least := map[string]time.Duration{"here": time.Hour, "queued": time.Hour, "call": time.Hour}
	for b.Loop() {
		for name := range least {
			begin := time.Now()
			for range 100 {
				if name == "call" {
					work(nil)
					continue
				}
				launch(s, name, 1)
				check(b, s.Sync())
			}
			least[name] = min(least[name], time.Since(begin)/100)
		}
	}
	for name, d := range least {
		b.ReportMetric(float64(d.Nanoseconds()), name+"-ns")
	}
	b.ReportMetric(float64(least["queued"])/float64(least["here"]), "queued/here")
}
