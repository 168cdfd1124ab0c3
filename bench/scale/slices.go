package main

import (
	"fmt"
	"time"

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
func (p *point) cut(n int) (*buffer.Buffer[uint32], []*buffer.Buffer[uint32], error) {
	data := make([]uint32, n*sliceElements)
	for i := range data {
		data[i] = 1
	}
	b, err := buffer.From(data)
	if err != nil {
		return nil, nil, err
	}
	p.later(b.Close)
	parts := make([]*buffer.Buffer[uint32], n)
	for i := range parts {
		if parts[i], err = b.Slice(i*sliceElements, (i+1)*sliceElements); err != nil {
			return nil, nil, err
		}
	}
	return b, parts, nil
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

// left is the value of the elements after work.
func left(mode coherence.Mode) uint32 {
	if mode == coherence.Read {
		return 1
	}
	return written
}

func slices(mode coherence.Mode) func(*point) error {
	return func(p *point) error {
		b, parts, err := p.cut(p.n)
		if err != nil {
			return err
		}
		var worst time.Duration
		err = p.time("acquire and release", p.n, each(p.n, func(i int) error {
			l, err := parts[i].TryAcquire(p.stream, mode)
			if err != nil {
				return err
			}
			if err := work(p.stream, l); err != nil {
				return err
			}
			start := time.Now()
			if err := l.Release(); err != nil {
				return err
			}
			worst = max(worst, time.Since(start))
			if i%syncEvery == syncEvery-1 {
				return p.stream.Sync(p.ctx)
			}
			return nil
		}))
		if err != nil {
			return err
		}
		p.took("worst release", worst, 1)
		return p.time("view of all, per slice", p.n, func() error {
			return b.View(p.ctx, func(got []uint32) error { return expect(got, left(mode)) })
		})
	}
}

// leases acquires all leases, and then releases them.
func leases(p *point) error {
	_, parts, err := p.cut(p.n)
	if err != nil {
		return err
	}
	open := make([]buffer.Lease, p.n)
	err = p.time("acquire", p.n, each(p.n, func(i int) (err error) {
		open[i], err = parts[i].TryAcquire(p.stream, coherence.ReadWrite)
		return err
	}))
	if err != nil {
		return err
	}
	return p.time("release", p.n, each(p.n, func(i int) error { return open[i].Release() }))
}
