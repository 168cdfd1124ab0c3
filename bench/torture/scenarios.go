//go:build cuda && hip && opencl && linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/model"
	"github.com/go-halyard/halyard/internal/testing/faulty"
	"github.com/go-halyard/halyard/internal/testing/simgpu"
)

var scenarios = []scenario{
	{name: "scheduler", do: scheduler,
		what: "one buffer over all devices, random accesses against a plain slice; simulated devices run work in any order that streams and events allow"},
	{name: "failing calls, simulated", do: failingSimulated, explained: faults,
		what: "a program of accesses during which one call of the CUDA or HIP driver fails; a failed access leaves the old elements or those that it wrote"},
	{name: "pools", do: pools,
		what: "the scheduler's program with replicas from pools, which afterwards have all of their memory back"},
	{name: "failing calls, real", do: failingReal, explained: faults,
		what: "the same on the host backend and on OpenCL, with a layer between that makes the call fail"},
	{name: "out of memory", do: outOfMemory, explained: []error{hal.ErrOutOfMemory},
		what: "many goroutines with six times the memory that the simulated devices have, and allocations that fail"},
	{name: "lost device", do: lostDevice, explained: []error{hal.ErrDeviceLost},
		what: "a simulated device goes away in the middle of transfers; what another place holds stays readable and right"},
	{name: "lost in a copy", do: lostInCopy, explained: []error{hal.ErrDeviceLost},
		what: "a simulated device goes away at any call of the driver, between and within accesses; what is also elsewhere stays readable, and new writes are right"},
	{name: "late drivers", do: late,
		what: "the scheduler's program on drivers that return late from some calls"},
	{name: "closing", do: closingAtOnce, explained: []error{hal.ErrClosed, hal.ErrBusy},
		what: "buffers and streams are closed while others use them"},
	{name: "migration", do: migration,
		what: "a hundred goroutines that change threads, each with buffers of its own on several devices"},
	{name: "kernels", do: kernels,
		what: "kernels on slices of three buffers, on every device that can compile them, between accesses by the host, against plain Go"},
	{name: "failing launches", do: failingLaunches, explained: faults,
		what: "the same on simulated CUDA devices while one call of the driver fails"},
	{name: "ranks", do: ranks,
		what: "two to five ranks write parts of a divided buffer, on all devices, and exchange ghosts by messages that come late and in another order; messages also carry what work on streams has just written"},
	{name: "lost rank", do: lostRank, explained: []error{comm.ErrRankLost},
		what: "the same, and a rank goes away on the way: the others are told"},
	{name: "ranks of GPUs", do: ranksOfGPUs, explained: []error{comm.ErrEngine, comm.ErrRankLost, hal.ErrClosed, hal.ErrDriver},
		what: "two ranks with a simulated GPU each combine and exchange what streams write, by a simulated NCCL; sometimes one gives up"},
	{name: "many buffers", do: manyBuffers, every: 200,
		what: "100,000 buffers alive at once, written at one place and read at another"},
	{name: "children", do: children, every: 20,
		what: "processes are started while copies are under way"},
	{name: "signals", do: signals, every: 20,
		what: "SIGTERM in the middle of copies, to a program that cleans up and to one that does not care"},
}

// faults are the kinds of error that failing calls make.
var faults = []error{hal.ErrDriver, hal.ErrInvalidArgument, hal.ErrOutOfMemory}

func scheduler(r *run) { models(r, r.fleet()) }

// pools is scheduler on devices whose replicas come from pools of small chunks.
func pools(r *run) {
	devs := r.fleet()
	for _, d := range devs {
		p, err := pool.New(d, pool.WithChunk(64<<10), pool.WithLimit(32<<20), pool.WithMaxCached(uint64(r.rng.IntN(2))<<16))
		r.must(err)
		buffer.SetAllocator(d, p)
		r.later(func() {
			buffer.SetAllocator(d, nil)
			if s := p.Stats(); s.Blocks != 0 || s.Live != 0 || s.Asked != 0 || s.Failures != 0 || s.Reserved > s.Peak {
				r.fail("the pool of %s at the end: %+v", d.Name(), s)
			}
			r.closed(p.Close())
		})
	}
	models(r, devs)
}

// models runs a random program of one buffer over devices, and compares with a plain slice.
func models(r *run, devs []*hal.Device) {
	f := model.Fleet{Devices: devs}
	for _, d := range devs {
		f.Streams = append(f.Streams, r.streams(2, d))
	}
	elements, actions := 64, 60
	if r.seed%50 == 0 {
		elements, actions = 2000, 1000
	}
	p := model.Generate(func(label string, lo, hi int) int {
		switch label {
		case "kind":
			r.actions.Add(1)
		case "operations":
			return hi
		case "hi":
			if elements > 1000 {
				hi = min(hi, lo+16)
			}
		}
		return lo + r.rng.IntN(hi-lo+1)
	}, f, elements, actions)
	err := model.Run[uint16](r.ctx, f, p)
	if wrong := model.Mismatch(""); errors.As(err, &wrong) {
		r.wrong(1, "%v, in\n%s", err, p)
	} else {
		r.must(err)
	}
}

func failingSimulated(r *run) {
	c := r.w.sims[r.rng.IntN(len(r.w.sims))]
	names := []string{"cuda:0", "cuda:1"}
	if c == r.w.sims[1] {
		names = []string{"hip:0", "hip:1"}
	}
	n := uint64(1 + r.rng.IntN(250))
	code := []int{1, 2, 999}[r.rng.IntN(3)]
	devs := r.devices(names...)
	r.later(func() { c.FailCall(0, 0) })
	c.FailCall(n, code)
	r.fault(1)
	accesses(r, devs)
}

func failingReal(r *run) {
	var layers []*faulty.Backend
	var devs []*hal.Device
	open := func(b driver.Backend, ordinal int) {
		f := faulty.New(b)
		d, err := hal.OpenWith(r.ctx, f, ordinal)
		r.must(err)
		layers, devs = append(layers, f), append(devs, d)
	}
	open(host.New(host.Options{Name: "far", Discrete: 1}), 1)
	for _, b := range driver.Backends() {
		if b.Name() != "opencl" {
			continue
		}
		if infos, err := b.Devices(r.ctx); err == nil {
			for _, i := range infos {
				open(b, i.Ordinal)
			}
		}
	}
	kind := faults[r.rng.IntN(len(faults))]
	f := layers[r.rng.IntN(len(layers))]
	f.Fail(int64(1+r.rng.IntN(120)), kind)
	r.later(func() {
		closing(r.closed, devs)
		r.fault(f.Failed())
	})
	accesses(r, devs)
}

// accesses is a program that goes on after an error.
func accesses(r *run, devs []*hal.Device) {
	const n = 256
	streams := r.streams(1, devs...)
	u := &unsure{r.made(n), make([]uint32, n), make([]uint32, n)}
	if len(streams) == 0 {
		return
	}
	for k := range 16 {
		r.actions.Add(1)
		lo := r.rng.IntN(n)
		hi := lo + 1 + r.rng.IntN(n-lo)
		v := uint32(r.seed)<<8 | uint32(k)
		part := r.part(u.Buffer, lo, hi)
		s := streams[r.rng.IntN(len(streams))]
		look := false
		switch r.rng.IntN(6) {
		case 0:
			began, failed := r.update(part, v)
			if look = true; began {
				u.wrote(lo, hi, v, !failed)
			}
		case 1, 2:
			began, failed := r.write(part, s, coherence.ReadWrite, v)
			if look = failed; began {
				u.wrote(lo, hi, v, !failed)
			}
		case 3:
			r.explain(r.prefetch(part, s))
		case 4:
			r.evict(u.Buffer, s.Device())
		case 5:
			look = true
		}
		if look {
			r.look(u, "after a call that failed")
		}
	}
	r.look(u, "after a call that failed")
}

func outOfMemory(r *run) {
	const limit, hands = 1 << 20, 8
	for _, c := range r.w.sims {
		r.must(c.Set(simgpu.Memory, limit))
		r.must(c.Reset(r.seed))
	}
	r.later(func() {
		for _, c := range r.w.sims {
			r.must(c.Set(simgpu.Memory, 256<<20))
		}
	})
	devs := r.devices(simulated...)
	r.fault(1)
	r.hands(hands, func(rng *rand.Rand) { r.greedy(devs, rng) })
}

// greedy uses more memory than there is.
func (r *run) greedy(devs []*hal.Device, rng *rand.Rand) {
	const size, each = 32 << 10, 24
	var all []*buffer.Buffer[uint32]
	defer func() { closing(r.must, all) }()
	var streams []*hal.Stream
	for _, d := range devs {
		streams = append(streams, r.stream(d))
	}
	defer closing(r.must, streams)
	var want [each]uint32
	for range each {
		b, err := buffer.New[uint32](size / 4)
		r.must(err)
		all = append(all, b)
	}
	for k := range 60 {
		r.actions.Add(1)
		i := rng.IntN(each)
		s := streams[rng.IntN(len(streams))]
		if rng.IntN(20) == 0 {
			r.w.sims[rng.IntN(len(r.w.sims))].FailAlloc(uint64(1 + rng.IntN(3)))
			r.fault(1)
		}
		if rng.IntN(3) == 0 {
			r.same(all[i], want[i])
			continue
		}
		l, err := r.acquire(all[i], s, coherence.ReadWrite)
		if r.explain(err) {
			continue // leases of the others may hold all of it
		}
		r.must(s.Fill(l.Region(), hal.Pattern32(uint32(k+1))))
		want[i] = uint32(k + 1)
		r.must(l.Release())
	}
	for i, b := range all {
		r.same(b, want[i])
	}
}

// same checks that every element of b is v. Only an explained error is allowed.
func (r *run) same(b *buffer.Buffer[uint32], v uint32) {
	err := b.View(r.ctx, func(got []uint32) error {
		r.wrong(differing(got, v), "want %#x everywhere, the first is %#x", v, got[0])
		return nil
	})
	r.explain(err)
}

// hands runs fn on n goroutines, each with its own random numbers.
func (r *run) hands(n int, fn func(rng *rand.Rand)) {
	var wg sync.WaitGroup
	for i := range n {
		rng := rand.New(rand.NewPCG(r.seed, uint64(i)+1))
		wg.Go(func() { r.guard(func() { fn(rng) }) })
	}
	wg.Wait()
}

// lossy opens the simulated devices, of which the first may be lost. The simulated driver drops the lost context's work late: violations that it
// reports for that work do not count.
func (r *run) lossy() []*hal.Device {
	r.later(r.w.sims[0].Clear)
	devs := r.devices(simulated...)
	r.later(r.w.sims[0].Clear)
	return devs
}

func lostDevice(r *run) {
	const n = 1024
	streams := r.streams(1, r.lossy()...)
	var all []*torn
	for k := range 24 {
		r.actions.Add(2)
		v, at := uint32(r.seed)<<8|uint32(k+1), r.rng.IntN(len(streams))
		i := &torn{b: r.made(n), maybe: []uint32{v}, alone: at == 0}
		r.write(i.b, streams[at], coherence.Overwrite, v)
		switch r.rng.IntN(3) {
		case 0:
			r.same(i.b, v)
			i.alone = false
		case 1:
			// The transfer may be under way when the device goes: then the bytes may be lost.
			r.must(r.prefetch(i.b, streams[r.rng.IntN(len(streams))]))
		}
		all = append(all, i)
	}
	if r.rng.IntN(2) == 0 {
		r.must(r.w.sims[0].StickyOn(0, 700))
	} else {
		r.must(r.w.sims[0].Lost(0))
	}
	r.fault(1)
	for _, i := range all {
		r.actions.Add(1)
		r.lookAt(i)
	}
}

func closingAtOnce(r *run) {
	devs := r.fleet()
	streams := r.streams(1, devs...)
	b, err := buffer.New[uint32](512)
	r.must(err)
	var value atomic.Uint32
	stop, acted := make(chan struct{}), make(chan struct{})
	// some waits until the others have acted a random number of times, less than most.
	some := func(most int) {
		for range r.rng.IntN(most) {
			select {
			case <-acted:
			case <-r.ctx.Done():
			}
		}
	}
	var wg sync.WaitGroup
	for i := range 4 {
		rng := rand.New(rand.NewPCG(r.seed, uint64(i)+1))
		wg.Go(func() {
			r.guard(func() {
				for {
					select {
					case <-stop:
						return
					case acted <- struct{}{}:
					default:
					}
					r.actions.Add(1)
					r.act(rng, b, streams[rng.IntN(len(streams))], value.Add(1))
				}
			})
		})
	}
	some(60)
	if r.rng.IntN(2) == 0 {
		i := r.rng.IntN(len(streams))
		r.explain(streams[i].Close())
	}
	some(40)
	for !errors.Is(r.closes(b), nil) { // while another goroutine has a lease, the buffer is busy
		runtime.Gosched()
	}
	some(20)
	close(stop)
	wg.Wait()
	r.fault(2)
	for range 4 {
		r.afterlife(devs[r.rng.IntN(len(devs))], devs[r.rng.IntN(len(devs))])
	}
}

// act uses a buffer that is always written as a whole, in one of several ways.
func (r *run) act(rng *rand.Rand, b *buffer.Buffer[uint32], s *hal.Stream, v uint32) {
	switch rng.IntN(5) {
	case 0:
		r.update(b, v)
	case 1:
		r.write(b, s, coherence.ReadWrite, v)
	case 2:
		r.explain(r.prefetch(b, s))
	case 3:
		r.evict(b, s.Device())
	case 4:
		r.explain(b.View(r.ctx, func(p []uint32) error {
			r.wrong(differing(p, p[0]), "a write was seen half done")
			return nil
		}))
	}
}

// afterlife closes a buffer while its last write, on one device, is held by a gate. It checks that this write does not reach a new buffer,
// which may get the memory that the closed buffer had on another device.
func (r *run) afterlife(first, last *hal.Device) {
	s, t := r.stream(first), r.stream(last)
	defer closing(r.must, []*hal.Stream{s, t})
	fill := func(b *buffer.Buffer[uint32], s *hal.Stream, v uint32) {
		r.actions.Add(1)
		l, err := r.acquire(b, s, coherence.ReadWrite)
		r.must(err)
		r.must(s.Fill(l.Region(), hal.Pattern32(v)))
		r.must(l.Release())
	}
	old, err := buffer.New[uint32](512)
	r.must(err)
	fill(old, s, 1)
	g, err := t.Gate()
	r.must(err)
	fill(old, t, 2)
	r.must(old.Close())
	fresh, err := buffer.New[uint32](512)
	r.must(err)
	defer func() { r.must(fresh.Close()) }()
	fill(fresh, s, 3)
	r.must(g.Signal())
	r.must(t.Sync(background))
	r.same(fresh, 3)
}

func (r *run) closes(b *buffer.Buffer[uint32]) error {
	err := b.Close()
	if errors.Is(err, hal.ErrBusy) {
		return err
	}
	r.explain(err)
	return nil
}

func migration(r *run) {
	hands := 100
	if r.short {
		hands = 30
	}
	devs := r.fleet()
	r.hands(hands, func(rng *rand.Rand) {
		locked := rng.IntN(4) == 0
		if locked {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
		}
		b, err := buffer.New[uint32](16 + rng.IntN(64))
		r.must(err)
		defer func() { r.must(b.Close()) }()
		streams := []*hal.Stream{r.stream(devs[rng.IntN(len(devs))]), r.stream(devs[rng.IntN(len(devs))])}
		defer closing(r.must, streams)
		m := migrant{r, b, streams, 0, fmt.Sprintf("%d elements on %s and %s, on one thread: %t; filled with", b.Len(), streams[0].Device().Name(),
			streams[1].Device().Name(), locked)}
		for k := range 12 {
			r.actions.Add(1)
			s := streams[k%2]
			l, err := r.acquire(b, s, coherence.ReadWrite)
			r.must(err)
			m.want = rng.Uint32()
			m.past += fmt.Sprintf(" %#x at %#x", m.want, l.Pointer())
			r.must(s.Fill(l.Region(), hal.Pattern32(m.want)))
			runtime.Gosched()
			r.must(l.Release())
			if rng.IntN(4) == 0 {
				m.look()
			}
		}
		m.look()
	})
}

// migrant is a buffer that goes from device to device, and what has been done with it.
type migrant struct {
	*run
	b       *buffer.Buffer[uint32]
	streams []*hal.Stream
	want    uint32
	past    string
}

// look compares. If bytes are wrong, it says whether they are right once all work is done: then View did not wait for it.
func (m *migrant) look() {
	view := func() (bad int, first []uint32) {
		m.explain(m.b.View(m.ctx, func(got []uint32) error {
			bad, first = differing(got, m.want), slices.Clone(got)
			return nil
		}))
		return bad, first
	}
	bad, first := view()
	if m.past += ", viewed"; bad == 0 {
		return
	}
	for _, s := range m.streams {
		m.explain(s.Sync(m.ctx))
	}
	later, _ := view()
	m.wrong(bad, "%s: got %#x; %d bytes wrong once the streams are idle; %+v, %+v", m.past, first, later, m.b.State(), m.b.Stats())
}

// differing counts the bytes of elements that are not v.
func differing(list []uint32, v uint32) (n int) {
	for _, x := range list {
		if x != v {
			n += 4
		}
	}
	return n
}

func manyBuffers(r *run) {
	n := 100_000
	if r.short {
		n = 2000
	}
	streams := r.streams(1, r.fleet()...)
	all := make([]*buffer.Buffer[uint32], n)
	for i := range all {
		r.actions.Add(1)
		all[i] = r.made(4)
		r.write(all[i], streams[r.rng.IntN(len(streams))], coherence.Overwrite, uint32(i))
	}
	for i, b := range all {
		r.actions.Add(1)
		r.must(r.prefetch(b, streams[r.rng.IntN(len(streams))]))
		r.same(b, uint32(i))
	}
}

var background = context.Background()
