package main

import (
	"context"
	"errors"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// acquireAll acquires all buffers for one piece of work and returns what ends that. It is nil as long as package buffer has
// no such call; set here, it is measured beside leases that are taken one by one.
var acquireAll func(ctx context.Context, s *hal.Stream, mode coherence.Action, list []*buffer.Buffer[uint32]) (release func() error, err error)

func severalPlans() []plan {
	plans := []plan{{"acquire one by one", 0}, {"release one by one", 0}}
	if acquireAll != nil {
		plans = append(plans, plan{"acquire all", 0}, plan{"release all", 0})
	}
	return plans
}

func several(p *point) error {
	list, _, err := p.crowd(p.n, 0)
	if err != nil {
		return err
	}
	open := make([]buffer.Lease, p.n)
	acquire := func(i int) (err error) {
		open[i], err = list[i].Acquire(p.stream, coherence.ReadWrite)
		return err
	}
	release := func(i int) error { return open[i].Release() }
	// The first time makes replicas, which is measured elsewhere.
	err = errors.Join(each(p.n, acquire)(), each(p.n, release)(),
		p.time("acquire one by one", p.n, each(p.n, acquire)),
		p.time("release one by one", p.n, each(p.n, release)))
	if err != nil || acquireAll == nil {
		return err
	}
	var end func() error
	err = p.time("acquire all", p.n, func() (err error) {
		end, err = acquireAll(p.ctx, p.stream, coherence.ReadWrite, list)
		return err
	})
	if err != nil {
		return err
	}
	return p.time("release all", p.n, func() error { return end() })
}
