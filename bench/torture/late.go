//go:build cuda && hip && opencl && linux

package main

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// late is scheduler on devices some of whose drivers' calls take up to a third of a millisecond longer than they need.
func late(r *run) {
	calls := atomic.Uint64{}
	slow := func(string, int) error {
		if h := (calls.Add(1) + r.seed) * 0x9e3779b97f4a7c15; h>>61 == 0 {
			time.Sleep(time.Duration(h>>32&0xff) * time.Microsecond)
			r.fault(1)
		}
		return nil
	}
	var devs []*hal.Device
	open := func(b driver.Backend, ordinal int) {
		d, err := hal.OpenWith(r.ctx, &hooked.Backend{Backend: b, Call: slow}, ordinal)
		r.must(err)
		devs = append(devs, d)
	}
	r.later(func() { closing(r.must, devs) })
	open(host.New(host.Options{Name: "far", Discrete: 1}), 1)
	for _, b := range driver.Backends() {
		if b.Name() == "host" {
			continue
		}
		infos, err := b.Devices(r.ctx)
		if !errors.Is(err, hal.ErrUnavailable) {
			r.must(err)
		}
		for _, i := range infos {
			open(b, i.Ordinal)
		}
	}
	models(r, devs)
}

// torn is a buffer that is always written as a whole, with one value.
type torn struct {
	b     *buffer.Buffer[uint32]
	maybe []uint32 // the values that its elements may have: several after a write that failed
	alone bool     // its bytes may be only on the device that goes away
	past  string
}

func (i *torn) did(err error, what string, args ...any) {
	i.past += "; " + fmt.Sprintf(what, args...)
	if err != nil {
		i.past += " failed"
	}
}

// lookAt reads the buffer. Only if the lost device had the bytes alone may it fail for good.
func (r *run) lookAt(i *torn) {
	for try := 0; ; try++ {
		err := i.b.View(r.ctx, func(got []uint32) error {
			bad, same := 0, true
			for _, v := range got {
				same = same && v == got[0]
				if !slices.Contains(i.maybe, v) {
					bad += 4
				}
			}
			r.wrong(bad, "%#x, which must be one of %#x, when a device may be lost (it may have had them alone: %t)", got[0], i.maybe, i.alone)
			if same {
				i.maybe = append(i.maybe[:0], got[0])
			}
			i.alone = false
			return nil
		})
		i.did(err, "view")
		if !r.explain(err) || i.alone {
			return
		}
		if try == 4 { // each try may find that a further copy has failed
			r.unexplained(fmt.Errorf("another place had it: %w%s; %v", err, i.past, i.b.State()))
			return
		}
	}
}

func lostInCopy(r *run) {
	const n = 512
	streams := r.streams(1, r.lossy()...)
	var all []*torn
	for range 6 {
		all = append(all, &torn{b: r.made(n), maybe: []uint32{0}})
	}
	r.must(r.w.sims[0].LostAt(0, uint64(1+r.rng.IntN(300))))
	r.fault(1)
	for k := range 80 {
		r.actions.Add(1)
		i := all[r.rng.IntN(len(all))]
		at := r.rng.IntN(len(streams))
		s, v := streams[at], uint32(r.seed)<<8|uint32(k+1)
		switch r.rng.IntN(5) {
		case 0, 1:
			began, failed := r.write(i.b, s, coherence.Overwrite, v)
			i.did(nil, "write at %s: it began: %t, it failed: %t", s.Device().Name(), began, failed)
			switch {
			case failed:
				i.maybe, i.alone = append(i.maybe, v), true
			case began:
				i.maybe, i.alone = append(i.maybe[:0], v), at == 0
			}
		case 2:
			err := r.prefetch(i.b, s)
			i.did(err, "prefetch to %s", s.Device().Name())
			r.explain(err)
		case 3:
			err := i.b.Evict(r.ctx, s.Device())
			i.did(err, "evict from %s", s.Device().Name())
			r.explain(err)
			i.alone = true // the other replica may be on the device that goes away
		case 4:
			r.lookAt(i)
		}
	}
	for _, i := range all {
		r.lookAt(i)
	}
}
