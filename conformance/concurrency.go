package conformance

import (
	"encoding/binary"
	"errors"
	"runtime"
	"sync"

	"github.com/go-halyard/halyard/hal"
)

var concurrencyChecks = []Check{
	{Name: "MethodsParallel", Rule: "Every method may be called from many goroutines at once.", run: methodsParallel},
	{Name: "OneStreamManyGoroutines", Rule: "Many goroutines may enqueue on one stream; each sees its own calls in order.", run: oneStreamManyGoroutines},
	{Name: "CloseRaces", Rule: "A call that races with Close either works or is refused as closed.", run: closeRaces},
	{Name: "GoroutineMigration", Rule: "Work on one device may move from goroutine to goroutine and from thread to thread at every call.", run: goroutineMigration},
	{Name: "HandlesParallel", Rule: "Handles on one device can be opened, used and closed at the same time.", run: handlesParallel},
}

// workers is the number of goroutines of these checks.
const workers = 8

func methodsParallel(t *trial) {
	var data [workers][][]byte
	rounds := t.Size(60, 15)
	for w := range data {
		for range rounds {
			data[w] = append(data[w], t.random(1+t.rng.IntN(20_000)))
		}
	}
	ks := kinds(t.dev)
	t.together(workers, func(w int) {
		s, err := t.dev.NewStream()
		t.must(err, "new stream")
		defer s.Close()
		for i, b := range data[w] {
			m, err := t.dev.Alloc(ks[(w+i)%len(ks)], uint64(len(b)), 0)
			t.must(err, "allocate")
			o, err := t.dev.Alloc(hal.KindDevice, uint64(len(b)), 0)
			t.must(err, "allocate")
			out := make([]byte, len(b))
			t.must(s.CopyIn(m.All(), b), "copy in")
			t.must(s.Copy(o.All(), m.All()), "copy")
			t.must(s.Fill(m.All(), hal.Pattern8(uint8(w))), "fill")
			t.must(s.CopyOut(out, o.All()), "copy out")
			e, err := s.Record()
			t.must(err, "record")
			t.must(s.WaitEvent(e), "wait")
			_, err = s.Done()
			t.must(err, "query")
			if i%2 == 0 {
				t.must(e.Sync(t.ctx), "event sync")
			} else {
				t.must(s.Sync(t.ctx), "sync")
			}
			t.same(out, b, "goroutine %d, round %d", w, i)
			t.must(e.Close(), "close event")
			_ = t.dev.Usage()
			t.must(m.Close(), "close")
			t.must(o.Close(), "close")
		}
	})
	t.eventually(func() bool { return t.dev.Usage().Held == 0 }, "everything is given back")
}

func oneStreamManyGoroutines(t *trial) {
	const n = 512
	s := t.stream(t.dev)
	m := t.filled(t.dev, make([]byte, workers*n))
	rounds := t.Size(200, 60)
	t.together(workers, func(w int) {
		mine := region(m, w*n, n)
		out := make([]byte, n)
		for i := range rounds {
			p := hal.Pattern8(uint8(w*31 + i))
			t.must(s.Fill(mine, p), "fill")
			t.must(s.CopyOut(out, mine), "copy out")
			e, err := s.Record()
			t.must(err, "record")
			t.must(e.Sync(t.ctx), "sync")
			t.must(e.Close(), "close event")
			t.same(out, repeated(p, n), "goroutine %d, round %d", w, i)
		}
	})
}

func closeRaces(t *trial) {
	for range t.Size(40, 12) {
		m, err := t.dev.Alloc(hal.KindDevice, 4096, 0)
		t.must(err, "allocate")
		s, err := t.dev.NewStream()
		t.must(err, "new stream")
		e, err := s.Record()
		t.must(err, "record")
		b := t.hostBytes(4096)
		calls := []func() error{
			func() error { return s.Fill(m.All(), hal.Pattern8(1)) },
			func() error { return s.CopyIn(m.Region(0, 64), b[:64]) },
			func() error {
				e, err := s.Record()
				if err != nil {
					return err
				}
				return e.Close()
			},
			func() error { return s.WaitEvent(e) },
			func() error { _, err := e.Done(); return err },
			func() error { _, err := s.Done(); return err },
			func() error { return e.Sync(t.ctx) },
			func() error { return s.Sync(t.ctx) },
		}
		closes := []func() error{m.Close, s.Close, e.Close}
		var warm sync.WaitGroup // done when every call was made a few times
		warm.Add(len(calls))
		t.together(len(calls)+len(closes), func(i int) {
			if i >= len(calls) {
				warm.Wait()
				t.must(closes[i-len(calls)](), "close %d", i-len(calls))
				return
			}
			ready := sync.OnceFunc(warm.Done)
			defer ready()
			for n := 0; ; n++ {
				if n == 3 {
					ready()
				}
				err := calls[i]()
				if errors.Is(err, hal.ErrClosed) {
					return
				}
				t.must(err, "call %d", i)
				if n%16 == 15 { // otherwise a slow device would have ever more work to do
					if err := s.Sync(t.ctx); errors.Is(err, hal.ErrClosed) {
						return
					} else {
						t.must(err, "catch up")
					}
				}
				runtime.Gosched()
			}
		})
	}
	t.eventually(func() bool { return t.dev.Usage().Pending == 0 }, "everything is given back")
}

func goroutineMigration(t *trial) {
	s, o := t.stream(t.dev), t.stream(t.dev)
	m := t.filled(t.dev, make([]byte, 16))
	value := uint64(1)
	step := func(i int) {
		b := binary.LittleEndian.AppendUint64(nil, value)
		t.must(s.CopyIn(region(m, 0, 8), b), "copy in")
		e, err := s.Record()
		t.must(err, "record")
		t.must(o.WaitEvent(e), "wait")
		t.must(e.Close(), "close event")
		t.must(o.Copy(region(m, 8, 8), region(m, 0, 8)), "copy")
		out := make([]byte, 8)
		t.must(o.CopyOut(out, region(m, 8, 8)), "copy out")
		t.must(o.Sync(t.ctx), "sync")
		got := binary.LittleEndian.Uint64(out)
		t.want(got == value, "step %d: read %d, wrote %d", i, got, value)
		value = value*6364136223846793005 + 1442695040888963407
	}
	for i := range t.Size(400, 100) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			if i%3 == 0 {
				// The thread ends with the goroutine: the next step is on another one.
				runtime.LockOSThread()
			}
			runtime.Gosched()
			t.guard(func() { step(i) })
		}()
		<-done
	}
	t.together(workers, func(w int) {
		own, err := t.dev.NewStream()
		t.must(err, "new stream")
		defer own.Close()
		x, err := t.dev.Alloc(hal.KindDevice, 64, 0)
		t.must(err, "allocate")
		defer x.Close()
		for i := range t.Size(100, 30) {
			p := hal.Pattern8(uint8(w + i))
			out := make([]byte, 64)
			t.must(own.Fill(x.All(), p), "fill")
			runtime.Gosched()
			t.must(own.CopyOut(out, x.All()), "copy out")
			runtime.Gosched()
			t.must(own.Sync(t.ctx), "sync")
			t.same(out, repeated(p, 64), "goroutine %d, step %d", w, i)
		}
	})
}

func handlesParallel(t *trial) {
	var data [workers][]byte
	for i := range data {
		data[i] = t.random(4096)
	}
	t.together(workers, func(w int) {
		for range t.Size(6, 3) {
			d, err := t.p.Open(t.ctx)
			t.must(err, "open")
			m, err := d.Alloc(hal.KindDevice, 4096, 0)
			t.must(err, "allocate")
			t.put(m, 0, data[w])
			t.same(t.all(m), data[w], "goroutine %d", w)
			t.must(m.Close(), "close memory")
			t.must(d.Close(), "close device")
		}
	})
}
