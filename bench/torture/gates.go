//go:build cuda && hip && opencl && linux

package main

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

func init() {
	scenarios = append(scenarios,
		scenario{name: "gates", do: gates,
			what: "goroutines hold streams of several backends by gates and let others wait for them, while memory whose free waits for the device is freed"},
		scenario{name: "guards", do: guards, explained: faults,
			what: "accesses of guarded buffers on simulated devices while calls of the driver fail, questions about unfinished copies among them"})
}

// stuck is how long a scenario may take that never waits for long.
const stuck = time.Minute

func gates(r *run) {
	devs := r.devices("cuda:0", "hip:0")
	hosts := r.w.always[len(r.w.always)-2:]
	r.within(stuck, "gates and frees", func() {
		var all sync.WaitGroup
		for i, d := range devs {
			seed := r.rng.Uint64()
			all.Go(func() { r.guard(func() { frees(r, d, rand.New(rand.NewPCG(seed, 1))) }) })
			all.Go(func() { r.guard(func() { holds(r, d, hosts[i], rand.New(rand.NewPCG(seed, 2))) }) })
		}
		all.Wait()
	})
	for _, d := range devs {
		r.must(d.Reclaim(r.ctx))
	}
}

// frees keeps the device busy and frees memory meanwhile.
func frees(r *run, d *hal.Device, rng *rand.Rand) {
	s := r.stream(d)
	for range 30 {
		r.actions.Add(1)
		kind := []hal.Kind{hal.KindDevice, hal.KindHost}[rng.IntN(2)]
		used, err := d.Alloc(kind, 1<<16, 0)
		r.must(err)
		idle, err := d.Alloc(kind, 4096, 0)
		r.must(err)
		for range 4 {
			r.must(s.Fill(used.All(), hal.Pattern8(1)))
		}
		r.must(idle.Close())
		r.must(used.Close())
	}
	r.must(s.Sync(r.ctx))
	r.must(s.Close())
}

// holds shuts a gate on the host, lets a stream of d wait for it, shuts a second one, and opens both.
func holds(r *run, d, host *hal.Device, rng *rand.Rand) {
	s, u, v := r.stream(d), r.stream(host), r.stream(d)
	for range 30 {
		r.actions.Add(1)
		first, err := u.Gate()
		r.must(err)
		r.must(s.WaitStream(u))
		on := []*hal.Stream{v, u}[rng.IntN(2)]
		second, err := on.Gate()
		r.must(err)
		r.must(errors.Join(first.Signal(), second.Signal()))
	}
	for _, t := range []*hal.Stream{s, u, v} {
		r.must(t.Sync(r.ctx))
		r.must(t.Close())
	}
}

func guards(r *run) {
	c, name := r.w.sims[0], "cuda:0"
	if r.rng.IntN(2) == 1 {
		c, name = r.w.sims[1], "hip:0"
	}
	s := r.streams(1, r.devices(name)...)[0]
	b, err := buffer.New[uint32](1<<18, buffer.WithGuard())
	r.must(err)
	var failing sync.WaitGroup
	stop := make(chan struct{})
	rng := rand.New(rand.NewPCG(r.seed, 1))
	failing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				c.FailCall(1, 999)
				r.fault(1)
				pause := 20 * time.Microsecond
				if rng.IntN(4) == 0 {
					pause = 3 * time.Millisecond // a driver that answers nothing for a second counts as lost
				}
				time.Sleep(pause)
			}
		}
	})
	for range 20 {
		r.actions.Add(1)
		r.explain(b.Update(r.ctx, func(x []uint32) error { x[0]++; return nil }))
		if began, _ := r.write(b, s, coherence.ReadWrite, uint32(r.seed)); began {
			r.explain(b.View(r.ctx, func([]uint32) error { return nil }))
		}
	}
	close(stop)
	failing.Wait()
	c.FailCall(0, 0)
	r.explain(s.Sync(r.ctx))
	r.must(b.Close())
}
