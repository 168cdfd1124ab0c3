//go:build opencl

package opencl

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/pool"
)

// inEachTier runs a benchmark or a test on each device, in each tier it has, through each binding, with
// tables that count nothing.
func inEachTier(tb testing.TB, run func(name string, p place)) {
	ran := 0
	for _, binding := range slices.Sorted(maps(bindings())) {
		for tr := tierUSM; tr <= tierBuffer; tr++ {
			tb.Setenv(memoryEnv, tr.String())
			b := newBackend(bindings()[binding])
			infos, err := b.Devices(tb.Context())
			if err != nil {
				absent(tb, err.Error())
			}
			for i, info := range infos {
				if info.MemoryModel != tr.String() {
					continue
				}
				d, err := b.Open(tb.Context(), i)
				ok(tb, err)
				ran++
				run(fmt.Sprintf("%s/%s/%s", strings.Fields(info.Driver)[0], tr, binding), place{d.(*device), b, i, binding})
				ok(tb, d.Close())
			}
		}
	}
	if ran == 0 {
		absent(tb, "no platform has a device")
	}
}

// sideBySide times two ways to do the same thing, alternately, so that a change of the machine's speed
// affects both. It reports the median of each and their ratio.
func sideBySide(b *testing.B, raw, ours func()) {
	b.ReportAllocs()
	var a, c []time.Duration
	for b.Loop() {
		start := time.Now()
		raw()
		middle := time.Now()
		ours()
		a, c = append(a, middle.Sub(start)), append(c, time.Since(middle))
	}
	slices.Sort(a)
	slices.Sort(c)
	r, o := a[len(a)/2], c[len(c)/2]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(r), "raw-ns")
	b.ReportMetric(float64(o), "driver-ns")
	b.ReportMetric(float64(o)/float64(r), "ratio")
}

// rawCopyIn is the vendor's enqueue of a copy from the host.
func rawCopyIn(p place, queue uintptr, m *memory, src unsafe.Pointer, n uint64) (uintptr, status) {
	switch p.tier {
	case tierBuffer:
		return p.t.writeBuffer(queue, m.mem, 0, n, uintptr(src))
	case tierUSM:
		return p.hw.usm.memcpy(queue, m.addr, uintptr(src), n)
	}
	return p.t.svmMemcpy(queue, m.addr, uintptr(src), n)
}

// The raw way enqueues, waits for the event and releases it, with the same binding.
func BenchmarkCopyAndWait(b *testing.B) {
	inEachTier(b, func(name string, p place) {
		for _, n := range []uint64{4, 4 << 10, 64 << 20} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(n))
				s, m := newStream(b, p), alloc(b, p, driver.KindDevice, n)
				src := make([]byte, n)
				host := unsafe.Pointer(&src[0])
				queue, st := p.t.createQueue(p.ctx.cl, p.hw.id, queueProfilingEnable)
				ok(b, p.check("test", "clCreateCommandQueue", st))
				write(b, s, whole(m), src)
				sideBySide(b, func() {
					ev, _ := rawCopyIn(p, queue, m, host, n)
					p.t.waitForEvent(ev)
					p.t.releaseEvent(ev)
				}, func() {
					_ = s.CopyIn(driver.Region{Mem: m, Len: n}, host)
					_ = s.Sync()
				})
				p.t.releaseQueue(queue)
				closeAll(b, m, s)
			})
		}
	})
}

// way is one of several ways to do the same thing.
type way struct {
	name string
	do   func()
}

// locked is sideBySide for any number of ways. It reports the median of each, and its ratio to the first.
func locked(b *testing.B, ways ...way) {
	const batch = 32 // so that the time for reading the clock does not matter
	took := make([][]time.Duration, len(ways))
	for i := 0; b.Loop(); i++ {
		for j := range ways {
			at := (i + j) % len(ways) // each way runs after each other way
			start := time.Now()
			for range batch {
				ways[at].do()
			}
			took[at] = append(took[at], time.Since(start)/batch)
		}
	}
	b.ReportMetric(0, "ns/op")
	for i, w := range ways {
		slices.Sort(took[i])
		median := took[i][len(took[i])/2]
		b.ReportMetric(float64(median), w.name+"-ns")
		if i > 0 {
			b.ReportMetric(float64(median)/float64(took[0][len(took[0])/2]), w.name+"/"+ways[0].name)
		}
	}
}

// What this module adds to an allocation and its release, layer by layer, and what a pool saves.
func BenchmarkAllocAndFree(b *testing.B) {
	inEachTier(b, func(name string, p place) {
		for _, n := range []uint64{4 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				d, err := hal.OpenWith(b.Context(), p.backend, p.ordinal)
				ok(b, err)
				blocks, err := pool.New(d)
				ok(b, err)
				s, err := d.NewStream()
				ok(b, err)
				locked(b, way{"raw", func() { rawAllocAndFree(p, n) }}, way{"driver", func() {
					m, _ := p.Alloc(driver.KindDevice, n, 0)
					_ = m.Free()
				}}, way{"hal", func() {
					m, _ := d.Alloc(hal.KindDevice, n, 0)
					_ = m.Close()
				}}, way{"pool", func() {
					m, _ := blocks.Alloc(s, hal.KindDevice, n)
					_ = m.Free(s)
				}})
				closeAll(b, s, blocks, d)
			})
		}
	})
}

// BenchmarkAllocAndFreeTogether is 64 goroutines that allocate and free at once, with the vendor's calls, and from a
// pool, all on one stream and each on its own. Times are those of all 64 times 64 allocations.
func BenchmarkAllocAndFreeTogether(b *testing.B) {
	const hands, each, n = 64, 64, 4 << 10
	together := func(do func(i int)) func() {
		return func() {
			var wg sync.WaitGroup
			for i := range hands {
				wg.Go(func() {
					for range each {
						do(i)
					}
				})
			}
			wg.Wait()
		}
	}
	inEachTier(b, func(name string, p place) {
		b.Run(name, func(b *testing.B) {
			d, err := hal.OpenWith(b.Context(), p.backend, p.ordinal)
			ok(b, err)
			blocks, err := pool.New(d)
			ok(b, err)
			var streams [hands]*hal.Stream
			for i := range streams {
				streams[i], err = d.NewStream()
				ok(b, err)
			}
			pooled := func(s *hal.Stream) {
				m, _ := blocks.Alloc(s, hal.KindDevice, n)
				_ = m.Free(s)
			}
			locked(b, way{"raw", together(func(int) { rawAllocAndFree(p, n) })},
				way{"pool", together(func(int) { pooled(streams[0]) })},
				way{"pool64", together(func(i int) { pooled(streams[i]) })})
			for _, s := range streams {
				ok(b, s.Close())
			}
			closeAll(b, blocks, d)
		})
	})
}

// rawAllocAndFree makes the vendor's calls that allocate and free the same memory as the driver's
// Alloc and Free.
func rawAllocAndFree(p place, n uint64) {
	if late := p.ctx.late; late != nil && p.tier != tierBuffer { // the context's other memory is freed by a timer
		late.mu.Lock()
		defer late.mu.Unlock()
	}
	switch p.tier {
	case tierBuffer:
		m, _ := p.t.createBuffer(p.ctx.cl, memReadWrite, n, 0)
		p.t.releaseBuffer(m)
	case tierUSM:
		m, _ := p.hw.usm.hostAlloc(p.ctx.cl, n, vendorAlign)
		p.hw.usm.free(p.ctx.cl, m)
	case tierSVM:
		p.t.svmFree(p.ctx.cl, p.t.svmAlloc(p.ctx.cl, memReadWrite|memSVMFineGrained, n, vendorAlign))
	default:
		p.t.svmFree(p.ctx.cl, p.t.svmAlloc(p.ctx.cl, memReadWrite, n, vendorAlign))
	}
}

// Record on one stream and Wait on another, against a marker and a barrier.
func BenchmarkRecordAndWait(b *testing.B) {
	inEachTier(b, func(name string, p place) {
		b.Run(name, func(b *testing.B) {
			s, o, e, m := newStream(b, p), newStream(b, p), newEvent(b, p, false), alloc(b, p, driver.KindDevice, 4)
			src := make([]byte, 4)
			i := 0
			step := func() {
				if i++; i%256 == 0 {
					_ = s.Sync()
					_ = o.Sync()
				}
				_ = s.CopyIn(whole(m), unsafe.Pointer(&src[0]))
			}
			sideBySide(b, func() {
				step()
				ev, _ := p.t.marker(s.queue)
				p.t.flush(s.queue)
				w, _ := p.t.barrier(o.queue, ev)
				p.t.releaseEvent(w)
				p.t.releaseEvent(ev)
			}, func() {
				step()
				_ = s.Record(e)
				_ = o.Wait(e)
			})
			ok(b, s.Sync())
			ok(b, o.Sync())
			closeAll(b, e, m, s, o)
		})
	})
}

func TestCallsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop blocks at random")
	}
	inEachTier(t, func(name string, p place) {
		if p.hw.blocking {
			t.Skip("calls that wait for their turn allocate")
		}
		s, o, e := newStream(t, p), newStream(t, p), newEvent(t, p, false)
		m, n := alloc(t, p, driver.KindDevice, 64), alloc(t, p, driver.KindHost, 64)
		host := make([]byte, 64)
		at := unsafe.Pointer(&host[0])
		to, from := driver.Region{Mem: m, Len: 64}, driver.Region{Mem: n, Len: 64}
		for what, call := range map[string]func() error{
			"copy in":  func() error { return s.CopyIn(to, at) },
			"copy out": func() error { return s.CopyOut(at, to) },
			"copy":     func() error { return s.Copy(to, from) },
			"fill":     func() error { return s.Fill(to, driver.Pattern{Width: 4}) },
			"record":   func() error { return s.Record(e) },
			"wait":     func() error { return o.Wait(e) },
			"query":    func() error { _, err := s.Query(); return err },
			"event":    func() error { _, err := e.Query(); return err },
			"sync":     func() error { return s.Sync() },
			"copy and sync": func() error {
				_ = s.CopyIn(to, at)
				return s.Sync()
			},
			"copy, record and wait": func() error {
				_ = s.CopyIn(to, at)
				_ = s.Record(e)
				return o.Wait(e)
			},
		} {
			ok(t, call())
			if allocs := testing.AllocsPerRun(100, func() { _ = call() }); allocs >= 1 {
				t.Errorf("%s: %s allocates %v times", name, what, allocs)
			}
			ok(t, s.Sync())
		}
		ok(t, s.Sync())
		ok(t, o.Sync())
		closeAll(t, e, m, n, s, o)
	})
}

// The raw way sets six arguments of one kernel object and enqueues it, with an event because every command of the
// backend has one.
func BenchmarkLaunch(b *testing.B) {
	inEachTier(b, func(name string, p place) {
		b.Run(name, func(b *testing.B) {
			m, err := p.Load(&driver.Image{Format: driver.FormatOpenCLC, Data: []byte(
				"kernel void six(global float *x, global float *y, float a, float b, ulong n, uint m) { if (n == 1) x[0] = y[0] * a + b + m; }")})
			ok(b, err)
			s, mem := newStream(b, p), alloc(b, p, driver.KindDevice, 64)
			k := find(b, m, "six")
			o, st := k.take()
			ok(b, p.check("test", "clCreateKernel", st))
			at := pointer(whole(mem))
			l := over(1, 1, at, at, value(float32(1)), value(float32(2)), value(uint64(0)), value(uint32(4)))
			queue, st := p.t.createQueue(p.ctx.cl, p.hw.id, queueProfilingEnable)
			ok(b, p.check("test", "clCreateCommandQueue", st))
			t := p.t
			one := [3]uint64{1, 1, 1}
			set := func(i uint32) {
				switch p.tier {
				case tierUSM:
					p.hw.usm.setKernelArg(o.cl, i, mem.addr)
				case tierBuffer:
					t.setKernelArg(o.cl, i, 8, unsafe.Pointer(&mem.mem))
				default:
					t.setKernelArgSVM(o.cl, i, mem.addr)
				}
			}
			const batch = 64
			var raw, ours []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				for range batch {
					set(0)
					set(1)
					for i := uint32(2); i < 6; i++ {
						t.setKernelArg(o.cl, i, uint64(l.Args[i].Size), unsafe.Pointer(&l.Args[i].Bits))
					}
					ev, _ := t.ndRange(queue, o.cl, 1, one, one)
					t.releaseEvent(ev)
				}
				raw = append(raw, time.Since(start)/batch)
				ev, _ := t.marker(queue)
				t.waitForEvent(ev)
				t.releaseEvent(ev)
				start = time.Now()
				for range batch {
					_ = s.Launch(k, l)
				}
				ours = append(ours, time.Since(start)/batch)
				_ = s.Sync()
			}
			slices.Sort(raw)
			slices.Sort(ours)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(raw[len(raw)/2]), "raw-ns")
			b.ReportMetric(float64(ours[len(ours)/2]), "driver-ns")
			b.ReportMetric(float64(ours[len(ours)/2]-raw[len(raw)/2]), "added-ns")
			k.give(o)
			t.releaseQueue(queue)
			closeAll(b, m, s, mem)
		})
	})
}

func TestLaunchDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop blocks at random")
	}
	inEachTier(t, func(name string, p place) {
		if p.hw.blocking {
			t.Skip("calls that wait for their turn allocate")
		}
		m, s, mem := load(t, p, testSource), newStream(t, p), alloc(t, p, driver.KindDevice, 3*p.hw.align)
		at := pointer(whole(mem))
		for what, call := range map[string]func() error{
			"launch with 4 arguments": func() func() error {
				k := find(t, m, "saxpy")
				l := over(1, 1, value(float32(1)), at, at, value(uint64(1)))
				return func() error { return s.Launch(k, l) }
			}(),
			"launch with an offset": func() func() error {
				k := find(t, m, "add")
				l := over(1, 1, pointer(part(mem, p.hw.align, 8)), value(uint32(1)))
				return func() error { return s.Launch(k, l) }
			}(),
			"launch with shared memory": func() func() error {
				k := find(t, m, "sums")
				l := over(1, 1, at, at, room(64))
				return func() error { return s.Launch(k, l) }
			}(),
			"launch with structures": func() func() error {
				k := find(t, m, "fields")
				l := over(1, 1, at, value(mixed{}), value(int32(1)))
				return func() error { return s.Launch(k, l) }
			}(),
		} {
			ok(t, call())
			if allocs := testing.AllocsPerRun(100, func() { _ = call() }); allocs >= 1 {
				t.Errorf("%s: %s allocates %v times", name, what, allocs)
			}
			ok(t, s.Sync())
		}
		closeAll(t, m, s, mem)
	})
}

// How long a plain loop over memory takes, by the number of threads in a block.
func BenchmarkBlockSizes(b *testing.B) {
	inEachTier(b, func(name string, p place) {
		if p.tier != tierBuffer || p.hw.blocking {
			return
		}
		m, err := p.Load(&driver.Image{Format: driver.FormatOpenCLC, Data: []byte(testSource)})
		ok(b, err)
		const n = 1 << 22
		s, x, y := newStream(b, p), alloc(b, p, driver.KindDevice, 4*n), alloc(b, p, driver.KindDevice, 4*n)
		k := find(b, m, "saxpy")
		for threads := uint32(16); threads <= k.info.MaxThreads; threads *= 2 {
			b.Run(fmt.Sprintf("%s/%d", name, threads), func(b *testing.B) {
				b.SetBytes(12 * n)
				l := over(n/threads, threads, value(float32(1)), pointer(whole(x)), pointer(whole(y)), value(uint64(n)))
				for b.Loop() {
					ok(b, s.Launch(k, l))
					ok(b, s.Sync())
				}
			})
		}
		closeAll(b, m, s, x, y)
	})
}
