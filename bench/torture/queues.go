//go:build cuda && hip && opencl && linux

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/small"
)

func init() {
	scenarios = append(scenarios,
		scenario{name: "queues of one stream", do: queuesOfOneStream, limit: 2 * time.Minute,
			what: "two to four queues share a stream; calls of some fail, among them kernels on the host; each queue reports its own failure and nobody else's, and the others have the right numbers"},
		scenario{name: "requests and a budget", do: budgets, limit: 2 * time.Minute,
			what: "goroutines want more memory together than the budget of a device has, but none wants more than that alone; each waits until the calls of others have ended, one holds leases meanwhile, and none fails"})
}

// tenant is a queue on a stream that others use too.
type tenant struct {
	q      *halyard.Queue
	x, y   *halyard.Buffer[float32]
	places *halyard.Buffer[int32]
	want   []float32 // of y
	fails  []string  // its failures; its error has the text of one, because kernels fail later than calls
}

// queuesOfOneStream fails as programs do: a kernel that leaves its slice on the host, whose work is under way when the call returns, and on all
// devices calls that are refused.
func queuesOfOneStream(r *run) {
	able := r.computing(r.fleet())
	for range 4 {
		r.share(able[r.rng.IntN(len(able))])
	}
}

// share lets queues use one stream of a device.
func (r *run) share(d *hal.Device) {
	s := r.stream(d)
	tenants := make([]*tenant, 2+r.rng.IntN(3))
	for i := range tenants {
		t := &tenant{q: halyard.On(r.ctx, s), want: make([]float32, 20+i)} // lengths of their own, by which errors are told apart
		for k := range t.want {
			t.want[k] = float32(k)
		}
		t.x, t.y = halyard.From(t.q, t.want), halyard.From(t.q, t.want)
		t.places = halyard.New[int32](t.q, len(t.want))
		tenants[i] = t
	}
	past := d.Name() + ":"
	for range 16 {
		r.actions.Add(1)
		i := r.rng.IntN(len(tenants))
		past += fmt.Sprintf(" %d ", i) + tenants[i].act(r, past, i, d.Info().Backend == "host" || d.Info().Backend == "far") + ","
	}
	for _, i := range r.rng.Perm(len(tenants)) {
		t := tenants[i]
		if len(t.fails) == 0 {
			t.look(r, past, i)
		}
		r.within(stuck, past+fmt.Sprintf(" Close of %d", i), func() {
			err := t.q.Close()
			switch {
			case len(t.fails) == 0 && err != nil:
				r.unexplained(fmt.Errorf("%s queue %d did nothing wrong: %w", past, i, err))
			case len(t.fails) > 0 && (err == nil || !slices.ContainsFunc(t.fails, func(s string) bool { return strings.Contains(err.Error(), s) })):
				r.fail("%s queue %d must say one of %q, and says: %v", past, i, t.fails, err)
			}
		})
	}
	_ = s.Sync(r.ctx) // the stream's error is that of a kernel
	_ = s.Close()
}

// act does something on a queue, and says what. Only on the host a kernel that leaves its slice fails.
func (t *tenant) act(r *run, past string, i int, onHost bool) string {
	n := len(t.want)
	switch k := r.rng.IntN(12); {
	case k == 0 && onHost:
		small.Number(t.q.Over(n+1), t.places)
		t.failed(r, fmt.Sprintf("index out of range [%d] with length %d", n, n))
		return "leaves its slice"
	case k == 1:
		t.y.At(n)
		t.failed(r, fmt.Sprintf("element %d of %d", n, n))
		return "asks for too much"
	case k == 2:
		t.look(r, past, i)
		return "looks"
	case k == 3:
		t.q.Sync()
		return "waits"
	}
	small.Saxpy(t.q, 2, t.x, t.y)
	for k := range t.want {
		t.want[k] += 2 * float32(k)
	}
	return "launches"
}

func (t *tenant) failed(r *run, says string) {
	r.fault(1)
	t.fails = append(t.fails, says)
}

// look compares y, if the queue has no failure.
func (t *tenant) look(r *run, past string, i int) {
	if got := t.y.Values(); len(t.fails) == 0 && !slices.Equal(got, t.want) {
		r.wrong(4, "%s queue %d (error: %v) has %v, want %v", past, i, t.q.Err(), got, t.want)
	}
}

func budgets(r *run) {
	const size, most, hands, own = 32 << 10, 4, 6, 3 // bytes, buffers in the budget, goroutines, buffers of each
	devs := slices.DeleteFunc(r.fleet(), func(d *hal.Device) bool { return d.Info().SharesHostMemory })
	able := r.computing(devs)
	d := devs[r.rng.IntN(len(devs))]
	launches := slices.Contains(able, d)
	var holds sync.Mutex // held with leases that the program ends: nobody waits for such leases, so they leave room for a launch
	buffer.SetBudget(d, most*size)
	defer buffer.SetBudget(d, 0)
	r.within(stuck, "requests on "+d.Name(), func() {
		r.hands(hands, func(rng *rand.Rand) {
			s := r.stream(d)
			defer func() { r.must(s.Close()) }()
			q := halyard.On(r.ctx, s)
			var all []*halyard.Buffer[float32]
			var want [own]float32
			for range own {
				all = append(all, halyard.New[float32](q, size/4))
			}
			for range 30 {
				r.actions.Add(1)
				i := rng.IntN(own)
				j := (i + 1) % own
				switch way := rng.IntN(4); {
				case way == 0:
					all[i].View(func(got []float32) { r.equal(got, want[i]) })
				case way == 1: // leases that last until the end of the work
					holds.Lock()
					l, err := buffer.AcquireAll(r.ctx, s, all[i].Want(coherence.Overwrite), all[j].Want(coherence.ReadWrite))
					if err != nil {
						holds.Unlock()
						r.unexplained(fmt.Errorf("on %s: %w", d.Name(), err))
						continue
					}
					r.must(s.Fill(l.At(0).Region(), hal.Pattern32(0)))
					want[i] = 0
					r.must(s.Sync(r.ctx))
					r.must(l.Release())
					holds.Unlock()
				case way == 2 && launches:
					small.Saxpy(q, 3, all[i], all[j])
					want[j] += 3 * want[i]
				default:
					want[i] = float32(rng.IntN(10))
					all[i].Fill(want[i])
				}
			}
			for i, b := range all {
				b.View(func(got []float32) { r.equal(got, want[i]) })
			}
			if err := q.Close(); err != nil {
				r.unexplained(errors.Join(fmt.Errorf("on %s", d.Name()), err))
			}
		})
	})
}

// equal checks that each element is v.
func (r *run) equal(got []float32, v float32) {
	if i := slices.IndexFunc(got, func(x float32) bool { return x != v }); i >= 0 {
		r.wrong(4, "element %d is %v, want %v", i, got[i], v)
	}
}
