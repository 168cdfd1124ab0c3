package main

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
)

// waiters makes goroutines wait for a lease of the host, and measures the time from its release until all have had their turn.
func waiters(p *point) error {
	b, err := buffer.New[uint32](1)
	if err != nil {
		return err
	}
	p.later(b.Close)
	front, err := b.AcquireHost(p.ctx, coherence.ReadWrite)
	if err != nil {
		return err
	}
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
	if err := front.Release(); err != nil {
		return err
	}
	done.Wait()
	p.took("access", time.Since(start), p.n)
	close(failed)
	for e := range failed {
		err = errors.Join(err, e)
	}
	if err != nil {
		return err
	}
	return b.View(p.ctx, func(x []uint32) error {
		if x[0] != uint32(p.n) {
			return fmt.Errorf("%d updates of %d were seen", x[0], p.n)
		}
		return nil
	})
}
