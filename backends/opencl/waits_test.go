//go:build opencl

package opencl

import (
	"context"
	"errors"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

// ending is a context that has ended. Its method Err reports that only after the first calls, whose
// number is asked.
type ending struct {
	context.Context
	asked int
}

func (c *ending) Err() error {
	if c.asked > 0 {
		c.asked--
		return nil
	}
	return context.DeadlineExceeded
}

// If each wait took a thread, the process would end at ten thousand waits. So all waits share a few threads: those that were
// given up, those that go on, and those of another backend's streams.
func TestWaitsTakeFewThreads(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	threads := pprof.Lookup("threadcreate")
	few := func(t *testing.T, what string, before int) {
		t.Helper()
		if n := threads.Count() - before; n > 64 {
			t.Fatalf("%s: %d threads", what, n)
		}
	}
	inEachTier(t, func(name string, p place) {
		t.Run(name, func(t *testing.T) {
			need(t, p.device, driver.CapGate)
			d, err := hal.OpenWith(t.Context(), p.backend, p.ordinal)
			ok(t, err)
			other, err := hal.OpenWith(t.Context(), host.New(host.Options{Discrete: 1}), 1)
			ok(t, err)
			s, err := d.NewStream()
			ok(t, err)
			w, err := other.NewStream()
			ok(t, err)
			m, err := d.Alloc(hal.KindDevice, 64, 0)
			ok(t, err)
			g, err := s.Gate()
			ok(t, err)
			ok(t, s.Fill(m.All(), hal.Zero))
			mark, err := layer.RecordShared(s)
			ok(t, err)
			before, goroutines := threads.Count(), runtime.NumGoroutine()
			for what, wait := range map[string]func() error{
				"mark":   func() error { return mark.Sync(&ending{gone, 1}) },
				"stream": func() error { return s.Sync(&ending{gone, 2}) },
			} {
				for range 100_000 {
					if err := wait(); !errors.Is(err, hal.ErrNotReady) {
						t.Fatal(what, err)
					}
				}
				few(t, what, before)
			}
			const n = 10_000
			for range n {
				ok(t, w.WaitStream(s))
			}
			few(t, "streams", before)
			fixture.Goroutines(t, goroutines+16)
			var waiting, over sync.WaitGroup
			for range n {
				x, err := layer.RecordShared(s)
				ok(t, err)
				waiting.Add(1)
				over.Go(func() {
					defer x.Close()
					waiting.Done()
					if err := x.Sync(context.Background()); err != nil {
						t.Error(err)
					}
				})
			}
			waiting.Wait()
			runtime.Gosched()
			few(t, "marks", before)
			ok(t, g.Signal())
			over.Wait()
			ok(t, w.Sync(context.Background()))
			few(t, "end", before)
			mark.Close()
			closeAll(t, m, s, w, d, other)
		})
	})
}
