package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-halyard/halyard/bench/internal/frame"
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
func (p *point) crowd(n, more int) (in, out []*buffer.Buffer[uint32]) {
	buffer.SetBudget(p.dev, uint64(n)*smallBytes)
	list := make([]*buffer.Buffer[uint32], n+more)
	for i := range list {
		list[i] = p.buffer(smallElements)
	}
	return list[:n], list[n:]
}

func eviction(mode coherence.Mode) func(*point) {
	return func(p *point) {
		in, out := p.crowd(p.n, evicted)
		use := func(list []*buffer.Buffer[uint32]) func(int) error {
			return func(i int) error {
				l, err := list[i].Acquire(p.ctx, p.stream, mode)
				if err != nil {
					return err
				}
				return errors.Join(work(p.stream, l), l.Release())
			}
		}
		frame.Must(each(len(in), use(in))())
		frame.Must(p.stream.Sync(p.ctx))
		p.time("acquire", len(out), each(len(out), use(out)))
		if got := buffer.ResidencyOf(p.dev).Evictions; got != evicted {
			frame.Must(fmt.Errorf("%d replicas were evicted, not %d", got, evicted))
		}
	}
}

// refused acquires a buffer while leased replicas fill the budget.
func refused(p *point) {
	in, out := p.crowd(p.n, 1)
	for _, b := range in {
		p.later(frame.Get(b.TryAcquire(p.stream, coherence.Read)).Release)
	}
	const deadline = 100 * time.Millisecond
	ctx, cancel := context.WithTimeout(p.ctx, deadline)
	defer cancel()
	start := time.Now()
	_, err := out[0].Acquire(ctx, p.stream, coherence.Read)
	took := time.Since(start)
	if err == nil {
		frame.Must(errors.New("there was room"))
	}
	p.took("call", took, 1)
	if took > 2*deadline {
		p.put(sample{Note: fmt.Sprintf("it returned after %s, with a deadline of %s", took.Round(time.Millisecond), deadline)})
	}
}
