package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
)

// The size of a small buffer, and how many replicas are evicted at each point.
const (
	smallElements = 64
	smallBytes    = smallElements * 4
	evicted       = 64
)

// crowd makes n buffers whose replicas fill the device's budget, and more buffers without a replica.
func (p *point) crowd(n, more int) (in, out []*buffer.Buffer[uint32], err error) {
	buffer.SetBudget(p.dev, uint64(n)*smallBytes)
	data := make([]uint32, smallElements)
	list := make([]*buffer.Buffer[uint32], n+more)
	for i := range list {
		if list[i], err = buffer.From(data); err != nil {
			return nil, nil, err
		}
		p.later(list[i].Close)
	}
	return list[:n], list[n:], nil
}

func eviction(mode coherence.Mode) func(*point) error {
	return func(p *point) error {
		in, out, err := p.crowd(p.n, evicted)
		if err != nil {
			return err
		}
		use := func(list []*buffer.Buffer[uint32]) func(int) error {
			return func(i int) error {
				l, err := list[i].Acquire(p.ctx, p.stream, mode)
				if err != nil {
					return err
				}
				return errors.Join(work(p.stream, l), l.Release())
			}
		}
		if err := each(len(in), use(in))(); err != nil {
			return err
		}
		if err := p.stream.Sync(p.ctx); err != nil {
			return err
		}
		if err := p.time("acquire", len(out), each(len(out), use(out))); err != nil {
			return err
		}
		if got := buffer.ResidencyOf(p.dev).Evictions; got != evicted {
			return fmt.Errorf("%d replicas were evicted, not %d", got, evicted)
		}
		return nil
	}
}

// refused acquires a buffer while leased replicas fill the budget.
func refused(p *point) error {
	in, out, err := p.crowd(p.n, 1)
	if err != nil {
		return err
	}
	for _, b := range in {
		l, err := b.TryAcquire(p.stream, coherence.Read)
		if err != nil {
			return err
		}
		p.later(l.Release)
	}
	const deadline = 100 * time.Millisecond
	ctx, cancel := context.WithTimeout(p.ctx, deadline)
	defer cancel()
	start := time.Now()
	_, err = out[0].Acquire(ctx, p.stream, coherence.Read)
	took := time.Since(start)
	if err == nil {
		return errors.New("there was room")
	}
	p.took("call", took, 1)
	if took > 2*deadline {
		p.put(sample{Note: fmt.Sprintf("it returned after %s, with a deadline of %s", took.Round(time.Millisecond), deadline)})
	}
	return nil
}
