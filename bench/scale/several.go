package main

import (
	"errors"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
)

func severalPlans() []plan {
	return []plan{{"acquire one by one", 0}, {"release one by one", 0}, {"acquire all", 0}, {"release all", 0}}
}

func several(p *point) error {
	list, _, err := p.crowd(p.n, 0)
	if err != nil {
		return err
	}
	open := make([]buffer.Lease, p.n)
	acquire := func(i int) (err error) {
		open[i], err = list[i].TryAcquire(p.stream, coherence.ReadWrite)
		return err
	}
	release := func(i int) error { return open[i].Release() }
	// The first time makes replicas, which is measured elsewhere.
	err = errors.Join(each(p.n, acquire)(), each(p.n, release)(),
		p.time("acquire one by one", p.n, each(p.n, acquire)),
		p.time("release one by one", p.n, each(p.n, release)))
	if err != nil {
		return err
	}
	wants := make([]buffer.Want, len(list))
	for i, b := range list {
		wants[i] = b.Want(coherence.ReadWrite)
	}
	var leases buffer.Leases
	err = p.time("acquire all", p.n, func() (err error) {
		leases, err = buffer.AcquireAll(p.ctx, p.stream, wants...)
		return err
	})
	if err != nil {
		return err
	}
	return p.time("release all", p.n, func() error { return leases.Release() })
}
