//go:build cuda && hip && opencl && linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/dlpack"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

func init() {
	scenarios = append(scenarios,
		scenario{name: "marked writes", do: marked,
			what: "writes outside leases are marked while gates hold up earlier work on other elements; later accesses see both, in their order"},
		scenario{name: "failing loans", do: failingLoans, explained: []error{hal.ErrNotReady, hal.ErrUnsupported},
			what: "exports by DLPack, in every mode, whose context ends while they wait behind a gate; nothing is lent and nothing has changed"},
		scenario{name: "panics", do: panics,
			what: "an observer panics now and then; the call that panics has done its work or nothing, and holds no access"},
	)
}

func marked(r *run) {
	const n = 64
	devs, done := r.fleet()
	defer done()
	for range 8 {
		r.actions.Add(1)
		d := devs[r.rng.IntN(len(devs))]
		s, u, t := r.stream(d), r.stream(d), r.stream(devs[r.rng.IntN(len(devs))])
		want := make([]uint32, n)
		for i := range want {
			want[i] = r.rng.Uint32()
		}
		b, err := buffer.From(want)
		r.must(err)
		r.must(b.SyncTo(r.ctx, d))
		mem, err := b.Memory(d)
		r.must(err)
		mid := 1 + r.rng.IntN(n-1)
		g, err := u.Gate()
		r.must(err)
		rest, err := b.Slice(mid, n)
		r.must(err)
		mode := []coherence.Mode{coherence.Read, coherence.ReadWrite, coherence.Overwrite}[r.rng.IntN(3)]
		seen := make([]byte, 4)
		l, err := r.acquire(rest, u, mode)
		r.must(err)
		before := want[mid]
		if mode == coherence.Read {
			first, err := l.Region().Sub(0, 4)
			r.must(err)
			r.must(u.CopyOut(seen, first))
		} else {
			r.must(u.Fill(l.Region(), hal.Pattern32(7)))
			for i := mid; i < n; i++ {
				want[i] = 7
			}
		}
		r.must(l.Release())
		part, err := mem.Sub(0, uint64(mid)*4)
		r.must(err)
		r.must(s.Fill(part, hal.Pattern32(5)))
		for i := range mid {
			want[i] = 5
		}
		r.must(b.MarkModified(s))
		if r.rng.IntN(2) == 0 { // a later writer, here or elsewhere
			l, err := rest.Acquire(r.ctx, t, coherence.ReadWrite)
			r.must(err)
			r.must(t.Fill(l.Region(), hal.Pattern32(9)))
			r.must(l.Release())
			for i := mid; i < n; i++ {
				want[i] = 9
			}
		} else {
			r.must(r.prefetch(b, t))
		}
		r.must(g.Signal())
		r.must(b.View(r.ctx, func(got []uint32) error {
			if !slices.Equal(got, want) {
				r.wrong(4, "%s and %s, %v of [%d, %d): %v, want %v", d.Name(), t.Device().Name(), mode, mid, n, got, want)
			}
			return nil
		}))
		r.must(u.Sync(r.ctx))
		if v := uint32(seen[0]) | uint32(seen[1])<<8 | uint32(seen[2])<<16 | uint32(seen[3])<<24; mode == coherence.Read && v != before {
			r.wrong(4, "a reader on %s was overtaken: %#x, want %#x", d.Name(), v, before)
		}
		r.must(b.Close())
		for _, s := range []*hal.Stream{s, u, t} {
			r.must(s.Close())
		}
	}
}

// brief is a context that ends when something waits for its end.
type brief struct {
	context.Context
	ended atomic.Bool
}

var passed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (c *brief) Done() <-chan struct{} {
	c.ended.Store(true)
	return passed
}

func (c *brief) Err() error {
	if c.ended.Load() {
		return context.Canceled
	}
	return nil
}

func failingLoans(r *run) {
	devs, done := r.fleet()
	defer done()
	for range 8 {
		r.actions.Add(1)
		d := devs[r.rng.IntN(len(devs))]
		s := r.stream(d)
		v := r.rng.Uint32()
		b, err := buffer.From([]uint32{v, v, v, v})
		r.must(err)
		r.must(b.SyncTo(r.ctx, d))
		g, err := s.Gate()
		r.must(err)
		l, err := r.acquire(b, s, []coherence.Mode{coherence.Read, coherence.ReadWrite}[r.rng.IntN(2)])
		r.must(err)
		r.must(l.Release())
		before := b.State()
		mode := []coherence.Mode{coherence.Read, coherence.ReadWrite, coherence.Overwrite}[r.rng.IntN(3)]
		m, err := dlpack.Export(&brief{Context: r.ctx}, b, dlpack.WithDevice(d), dlpack.WithMode(mode))
		if r.explain(err) {
			r.fault(1)
			if now := b.State(); fmt.Sprint(now) != fmt.Sprint(before) {
				r.fail("a failed export for %v changed the state on %s from %v to %v", mode, d.Name(), before, now)
			}
		} else if err := m.Delete(); err != nil {
			r.unexplained(err)
		} else if mode == coherence.Overwrite {
			v = 0
			r.must(b.Reset())
		}
		r.must(g.Signal())
		r.same(b, v)
		r.must(b.Close())
		r.must(s.Close())
	}
}

var errThrown = errors.New("a panic on purpose")

func panics(r *run) {
	const n = 64
	devs, done := r.fleet()
	defer done()
	b, err := buffer.New[uint32](n)
	r.must(err)
	var streams []*hal.Stream
	for _, d := range devs {
		streams = append(streams, r.stream(d))
	}
	want := make([]uint32, n)
	// An eviction that ends late reports from a goroutine of its own.
	var mu sync.Mutex
	dice := rand.New(rand.NewPCG(r.rng.Uint64(), 0))
	throws := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return dice.IntN(4) == 0
	}
	stop := buffer.Observe(func(buffer.Activity) {
		if throws() {
			r.fault(1)
			panic(errThrown)
		}
	})
	defer stop()
	// try reports whether fn has returned.
	try := func(fn func()) (ok bool) {
		defer func() {
			if p := recover(); p != nil {
				if err, _ := p.(error); !errors.Is(err, errThrown) {
					panic(p)
				}
			}
		}()
		fn()
		return true
	}
	for k := range 40 {
		r.actions.Add(1)
		lo := r.rng.IntN(n)
		hi := lo + 1 + r.rng.IntN(n-lo)
		part, err := b.Slice(lo, hi)
		r.must(err)
		s := streams[r.rng.IntN(len(streams))]
		wrote := func() {
			for i := lo; i < hi; i++ {
				want[i] = uint32(k)
			}
		}
		switch r.rng.IntN(5) {
		case 0:
			try(func() {
				r.must(part.Update(r.ctx, func(p []uint32) error {
					for i := range p {
						p[i] = uint32(k)
					}
					wrote()
					return nil
				}))
			})
		case 1, 2:
			var l buffer.Lease
			if try(func() {
				var err error
				l, err = part.Acquire(r.ctx, s, coherence.ReadWrite)
				r.must(err)
			}) {
				r.must(s.Fill(l.Region(), hal.Pattern32(uint32(k))))
				wrote()
				try(func() { r.must(l.Release()) })
			}
		case 3:
			try(func() { r.must(part.SyncTo(r.ctx, s.Device())) })
		case 4:
			if !s.Device().Info().SharesHostMemory {
				try(func() { r.must(b.Evict(r.ctx, s.Device())) })
			}
		}
	}
	stop()
	// What the observer threw in a late eviction comes with the next call.
	finally := func(fn func() error) {
		for !try(func() { r.must(fn()) }) {
		}
	}
	short, cancel := context.WithTimeout(r.ctx, time.Minute)
	defer cancel()
	finally(func() error {
		return b.View(short, func(got []uint32) error {
			if !slices.Equal(got, want) {
				r.wrong(4, "after panics: %v, want %v", got, want)
			}
			return nil
		})
	})
	finally(func() error { return b.Update(short, func([]uint32) error { return nil }) })
	finally(b.Close)
	for _, s := range streams {
		r.must(s.Close())
	}
}
