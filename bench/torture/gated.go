//go:build cuda && hip && opencl && linux

package main

import (
	"context"
	"encoding/binary"
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
	devs := r.fleet()
	for range 8 {
		r.actions.Add(1)
		r.mark(devs[r.rng.IntN(len(devs))], devs[r.rng.IntN(len(devs))])
	}
}

// mark marks a write of the first elements on d, while a gate holds up work on the rest, which somebody writes or reads later on another device.
func (r *run) mark(d, other *hal.Device) {
	const n = 64
	s, u, t := r.stream(d), r.stream(d), r.stream(other)
	defer closing(r.must, []*hal.Stream{s, u, t})
	want := make([]uint32, n)
	for i := range want {
		want[i] = r.rng.Uint32()
	}
	b, err := buffer.From(want)
	r.must(err)
	defer func() { r.must(b.Close()) }()
	r.must(b.SyncTo(r.ctx, d))
	mem, err := b.Memory(d)
	r.must(err)
	mid := 1 + r.rng.IntN(n-1)
	g, err := u.Gate()
	r.must(err)
	rest := r.part(b, mid, n)
	mode := []coherence.Mode{coherence.Read, coherence.ReadWrite, coherence.Overwrite}[r.rng.IntN(3)]
	seen, before := make([]byte, 4), want[mid]
	if mode == coherence.Read {
		l, err := r.acquire(rest, u, mode)
		r.must(err)
		first, err := l.Region().Sub(0, 4)
		r.must(err)
		r.must(u.CopyOut(seen, first))
		r.must(l.Release())
	} else {
		r.write(rest, u, mode, 7)
		set(want[mid:], 7)
	}
	part, err := mem.Sub(0, uint64(mid)*4)
	r.must(err)
	r.must(s.Fill(part, hal.Pattern32(5)))
	set(want[:mid], 5)
	r.must(b.MarkModified(s))
	if r.rng.IntN(2) == 0 { // a later writer, here or elsewhere
		r.must(r.fill(rest, t, 9))
		set(want[mid:], 9)
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
	if v := binary.LittleEndian.Uint32(seen); mode == coherence.Read && v != before {
		r.wrong(4, "a reader on %s was overtaken: %#x, want %#x", d.Name(), v, before)
	}
}

// set makes all elements v.
func set(list []uint32, v uint32) {
	for i := range list {
		list[i] = v
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
	devs := r.fleet()
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

// thrown calls fn, and reports whether it has returned. A panic on purpose is none.
func thrown(fn func()) (ok bool) {
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

func panics(r *run) {
	const n = 64
	streams := r.streams(1, r.fleet()...)
	b, err := buffer.New[uint32](n)
	r.must(err)
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
	for k := range 40 {
		r.actions.Add(1)
		lo := r.rng.IntN(n)
		hi := lo + 1 + r.rng.IntN(n-lo)
		r.watched(b, want, lo, hi, streams[r.rng.IntN(len(streams))], uint32(k))
	}
	stop()
	// What the observer threw in a late eviction comes with the next call.
	finally := func(fn func() error) {
		for !thrown(func() { r.must(fn()) }) {
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
}

// watched uses elements of a buffer in one of several ways, of which an observer is told.
func (r *run) watched(b *buffer.Buffer[uint32], want []uint32, lo, hi int, s *hal.Stream, v uint32) {
	part := r.part(b, lo, hi)
	switch r.rng.IntN(5) {
	case 0:
		thrown(func() {
			r.must(part.Update(r.ctx, func(p []uint32) error {
				set(p, v)
				set(want[lo:hi], v)
				return nil
			}))
		})
	case 1, 2:
		var l buffer.Lease
		if thrown(func() {
			var err error
			l, err = part.Acquire(r.ctx, s, coherence.ReadWrite)
			r.must(err)
		}) {
			r.must(s.Fill(l.Region(), hal.Pattern32(v)))
			set(want[lo:hi], v)
			thrown(func() { r.must(l.Release()) })
		}
	case 3:
		thrown(func() { r.must(part.SyncTo(r.ctx, s.Device())) })
	case 4:
		thrown(func() { r.evict(b, s.Device()) })
	}
}
