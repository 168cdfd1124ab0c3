package main

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

const (
	sliceElements = 4
	syncEvery     = 64
	written       = 7 // what the device writes
)

// cut makes a buffer of ones and n slices of it.
func (p *point) cut() (*buffer.Buffer[uint32], []*buffer.Buffer[uint32]) {
	b := p.buffer(p.n * sliceElements)
	parts := make([]*buffer.Buffer[uint32], p.n)
	for i := range parts {
		parts[i] = frame.Get(b.Slice(i*sliceElements, (i+1)*sliceElements))
	}
	return b, parts
}

// work fills the elements of a lease, unless the lease is for reading.
func work(s *hal.Stream, l buffer.Lease) error {
	if l.Mode() == coherence.Read {
		return nil
	}
	return s.Fill(l.Region(), hal.Pattern32(written))
}

// expect compares all elements.
func expect(got []uint32, want uint32) error {
	for i, v := range got {
		if v != want {
			return fmt.Errorf("element %d is %d, not %d", i, v, want)
		}
	}
	return nil
}

func parts(mode coherence.Mode) func(*point) {
	return func(p *point) {
		left := uint32(written) // the value of the elements after work
		if mode == coherence.Read {
			left = 1
		}
		b, parts := p.cut()
		var worst time.Duration
		p.all("acquire and release", func(i int) error {
			l, err := parts[i].TryAcquire(p.stream, mode)
			if err != nil {
				return err
			}
			err = work(p.stream, l)
			start := time.Now()
			if err := errors.Join(err, l.Release()); err != nil {
				return err
			}
			worst = max(worst, time.Since(start))
			if i%syncEvery == syncEvery-1 {
				return p.stream.Sync(p.ctx)
			}
			return nil
		})
		p.took("worst release", worst, 1)
		p.time("view of all, per slice", p.n, func() error {
			return b.View(p.ctx, func(got []uint32) error { return expect(got, left) })
		})
	}
}

// leases acquires all leases, and then releases them.
func leases(p *point) {
	_, parts := p.cut()
	p.oneByOne("acquire", "release", parts)
}

// oneByOne acquires a lease of each buffer, and then releases them.
func (p *point) oneByOne(acquire, release string, list []*buffer.Buffer[uint32]) {
	open := make([]buffer.Lease, p.n)
	p.all(acquire, func(i int) (err error) {
		open[i], err = list[i].TryAcquire(p.stream, coherence.ReadWrite)
		return err
	})
	p.all(release, func(i int) error { return open[i].Release() })
}

func several(p *point) {
	list, _ := p.crowd(p.n, 0)
	put := p.put
	p.put = func(sample) {} // the first time makes replicas, which is measured elsewhere
	p.oneByOne("", "", list)
	p.put = put
	p.oneByOne("acquire one by one", "release one by one", list)
	wants := make([]buffer.Want, len(list))
	for i, b := range list {
		wants[i] = b.Want(coherence.ReadWrite)
	}
	var leases buffer.Leases
	p.time("acquire all", p.n, func() (err error) {
		leases, err = buffer.AcquireAll(p.ctx, p.stream, wants...)
		return err
	})
	p.time("release all", p.n, func() error { return leases.Release() })
}

// exposed calls Bytes on n memories. After that every copy from host memory has to check whether its source is one of them.
func exposed(p *point) {
	list := make([]*hal.Memory, p.n)
	for i := range list {
		list[i] = frame.Get(p.dev.Alloc(hal.KindShared, 64, 0))
	}
	target := frame.Get(p.dev.Alloc(hal.KindDevice, 64, 0))
	p.later(target.Close)
	const copies = 1000
	src := make([]byte, 64)
	p.all("Bytes", func(i int) error {
		_, err := list[i].Bytes()
		return err
	})
	p.time("copy in beside them", copies, each(copies, func(int) error { return p.stream.CopyIn(target.All(), src) }))
	frame.Must(p.stream.Sync(p.ctx))
	p.all("Close", func(i int) error { return list[i].Close() })
}

// waiters makes goroutines wait for a lease of the host, and measures the time from its release until all have had their turn.
func waiters(p *point) {
	b := p.buffer(1)
	front := frame.Get(b.AcquireHost(p.ctx, coherence.ReadWrite))
	var begun, done sync.WaitGroup
	failed := make(chan error, p.n)
	for range p.n {
		begun.Add(1)
		done.Go(func() {
			begun.Done()
			failed <- b.Update(p.ctx, func(x []uint32) error { x[0]++; return nil })
		})
	}
	begun.Wait()
	for range 100 { // lets the goroutines run until they wait
		runtime.Gosched()
	}
	start := time.Now()
	frame.Must(front.Release())
	done.Wait()
	p.took("access", time.Since(start), p.n)
	for range p.n {
		frame.Must(<-failed)
	}
	frame.Must(b.View(p.ctx, func(x []uint32) error { return expect(x, uint32(p.n)+1) }))
}
