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
		what: "a program of accesses during which one call of the CUDA or HIP driver fails; what a failed access leaves is what was there before or what it wrote"},
	{name: "pools", do: pools,
		what: "the scheduler's program with replicas from pools, which afterwards have all of their memory back"},
	{name: "failing calls, real", do: failingReal, explained: faults,
		what: "the same on the host backend and on OpenCL, with a layer between that makes the call fail"},
	{name: "out of memory", do: outOfMemory, explained: []error{hal.ErrOutOfMemory},
		what: "many goroutines with six times the memory that the simulated devices have, and allocations that fail"},
	{name: "lost device", do: lostDevice, explained: []error{hal.ErrDeviceLost},
		what: "a simulated device goes away in the middle of transfers; what another place holds stays readable and right"},
	{name: "lost in a copy", do: lostInCopy, explained: []error{hal.ErrDeviceLost},
		what: "a simulated device goes away at any call of the driver, between and within accesses; what another place has too stays readable, and what is written anew is right"},
	{name: "late drivers", do: late,
		what: "the scheduler's program on drivers of whose calls some return late"},
	{name: "closing", do: closing, explained: []error{hal.ErrClosed, hal.ErrBusy},
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

func scheduler(r *run) {
	devs, done := r.fleet()
	defer done()
	models(r, devs)
}

// pools is scheduler on devices whose replicas come from pools of small chunks.
func pools(r *run) {
	devs, done := r.fleet()
	defer done()
	for _, d := range devs {
		p, err := pool.New(d, pool.WithChunk(64<<10), pool.WithLimit(32<<20), pool.WithMaxCached(uint64(r.rng.IntN(2))<<16))
		r.must(err)
		buffer.SetAllocator(d, p)
		defer func() {
			buffer.SetAllocator(d, nil)
			if s := p.Stats(); s.Blocks != 0 || s.Live != 0 || s.Asked != 0 || s.Failures != 0 || s.Reserved > s.Peak {
				r.fail("the pool of %s at the end: %+v", d.Name(), s)
			}
			if err := p.Close(); err != nil {
				r.unexplained(err)
			}
		}()
	}
	models(r, devs)
}

// models runs a random program of one buffer over devices, and compares with a plain slice.
func models(r *run, devs []*hal.Device) {
	f := model.Fleet{Devices: devs}
	for _, d := range devs {
		f.Streams = append(f.Streams, []*hal.Stream{r.stream(d), r.stream(d)})
	}
	defer func() {
		for _, pair := range f.Streams {
			for _, s := range pair {
				r.must(s.Close())
			}
		}
	}()
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
	var devs []*hal.Device
	for _, name := range names {
		devs = append(devs, r.open(name))
	}
	defer func() {
		c.FailCall(0, 0)
		for _, d := range devs {
			r.explain(d.Close())
		}
	}()
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
	defer func() {
		for _, d := range devs {
			r.explain(d.Close())
		}
		r.fault(f.Failed())
	}()
	accesses(r, devs)
}

// accesses is a program that goes on after an error. It keeps for every element the values that may be there: one, or two after
// a write that failed.
func accesses(r *run, devs []*hal.Device) {
	const n = 256
	b, err := buffer.New[uint32](n)
	r.must(err)
	var streams []*hal.Stream
	for _, d := range devs {
		s, err := d.NewStream()
		if r.explain(err) {
			continue
		}
		streams = append(streams, s)
	}
	defer func() {
		for _, s := range streams {
			r.explain(s.Close())
		}
	}()
	defer func() { r.explain(b.Close()) }()
	if len(streams) == 0 {
		return
	}
	var want, other [n]uint32
	wrote := func(lo, hi int, v uint32, sure bool) {
		for i := lo; i < hi; i++ {
			if sure {
				want[i], other[i] = v, v
			} else {
				other[i] = v // want is certain here: after a failed write, look finds the value before the next write
			}
		}
	}
	look := func() {
		for try := 0; ; try++ {
			err := b.View(r.ctx, func(got []uint32) error {
				bad := 0
				for i, v := range got {
					if v != want[i] && v != other[i] {
						bad += 4
					}
					want[i], other[i] = v, v
				}
				r.wrong(bad, "after a call that failed")
				return nil
			})
			if !r.explain(err) {
				return
			}
			if try == 3 { // the fault came once
				r.unexplained(fmt.Errorf("again and again: %w", err))
				return
			}
		}
	}
	for k := range 16 {
		r.actions.Add(1)
		lo := r.rng.IntN(n)
		hi := lo + 1 + r.rng.IntN(n-lo)
		v := uint32(r.seed)<<8 | uint32(k)
		part, err := b.Slice(lo, hi)
		r.must(err)
		s := streams[r.rng.IntN(len(streams))]
		switch r.rng.IntN(6) {
		case 0:
			ran := false
			err := part.Update(r.ctx, func(p []uint32) error {
				ran = true
				for i := range p {
					p[i] = v
				}
				return nil
			})
			if failed := r.explain(err); ran {
				wrote(lo, hi, v, !failed)
			}
			look()
		case 1, 2:
			l, err := r.acquire(part, s, coherence.ReadWrite)
			if r.explain(err) {
				continue
			}
			failed := r.explain(s.Fill(l.Region(), hal.Pattern32(v)))
			failed = r.explain(l.Release()) || failed
			wrote(lo, hi, v, !failed)
			if failed {
				look()
			}
		case 3:
			r.explain(r.prefetch(part, s))
		case 4:
			if !s.Device().Info().SharesHostMemory { // a unified device's replica is the host's
				r.explain(b.Evict(r.ctx, s.Device()))
			}
		case 5:
			look()
		}
	}
	look()
}

func outOfMemory(r *run) {
	const limit, size, each, hands = 1 << 20, 32 << 10, 24, 8
	for _, c := range r.w.sims {
		r.must(c.Set(simgpu.Memory, limit))
		r.must(c.Reset(r.seed))
	}
	defer func() {
		for _, c := range r.w.sims {
			r.must(c.Set(simgpu.Memory, 256<<20))
		}
	}()
	var devs []*hal.Device
	for _, name := range simulated {
		devs = append(devs, r.open(name))
	}
	defer func() {
		for _, d := range devs {
			r.must(d.Close())
		}
	}()
	r.fault(1)
	r.hands(hands, func(rng *rand.Rand) {
		var all []*buffer.Buffer[uint32]
		defer func() {
			for _, b := range all {
				r.must(b.Close())
			}
		}()
		var streams []*hal.Stream
		for _, d := range devs {
			streams = append(streams, r.stream(d))
		}
		defer func() {
			for _, s := range streams {
				r.must(s.Close())
			}
		}()
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
	})
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

func lostDevice(r *run) {
	const n = 1024
	devs, done := r.lossy()
	defer done()
	var streams []*hal.Stream
	for _, d := range devs {
		streams = append(streams, r.stream(d))
	}
	defer func() {
		for _, s := range streams {
			r.explain(s.Close())
		}
	}()
	type item struct {
		b     *buffer.Buffer[uint32]
		want  uint32
		alone bool // its only valid replica is on the first device
	}
	var all []item
	defer func() {
		for _, i := range all {
			r.explain(i.b.Close())
		}
	}()
	for k := range 24 {
		r.actions.Add(2)
		b, err := buffer.New[uint32](n)
		r.must(err)
		v := uint32(r.seed)<<8 | uint32(k+1)
		at := r.rng.IntN(len(streams))
		l, err := r.acquire(b, streams[at], coherence.Overwrite)
		r.must(err)
		r.must(streams[at].Fill(l.Region(), hal.Pattern32(v)))
		r.must(l.Release())
		i := item{b: b, want: v, alone: at == 0}
		switch r.rng.IntN(3) {
		case 0:
			r.same(b, v)
			i.alone = false
		case 1:
			// The transfer may be under way when the device goes: then the bytes may be lost.
			r.must(r.prefetch(b, streams[r.rng.IntN(len(streams))]))
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
		if !i.alone {
			// Another place has the bytes. The access that finds the other replica lost may fail, but a later one must succeed.
			for try := 0; ; try++ {
				err := i.b.View(r.ctx, func(got []uint32) error {
					bad := 0
					for _, g := range got {
						if g != i.want {
							bad += 4
						}
					}
					r.wrong(bad, "after the loss of a device that did not have the only copy")
					return nil
				})
				if !r.explain(err) {
					break
				}
				if try == 2 {
					r.unexplained(fmt.Errorf("another place had it: %w", err))
					break
				}
			}
			continue
		}
		r.same(i.b, i.want)
	}
	// The simulated driver drops the lost context's work late. Violations that it reports for that work do not count.
	r.w.sims[0].Clear()
}

// lossy opens the simulated devices. done closes them, and accepts an error that says that one is lost.
func (r *run) lossy() (devs []*hal.Device, done func()) {
	for _, name := range simulated {
		devs = append(devs, r.open(name))
	}
	return devs, func() {
		for _, d := range devs {
			r.explain(d.Close())
		}
		r.w.sims[0].Clear()
	}
}

func closing(r *run) {
	devs, done := r.fleet()
	defer done()
	var streams []*hal.Stream
	for _, d := range devs {
		streams = append(streams, r.stream(d))
	}
	b, err := buffer.New[uint32](512)
	r.must(err)
	var next sync.Mutex
	value := uint32(0)
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
					next.Lock()
					value++
					v := value
					next.Unlock()
					switch s := streams[rng.IntN(len(streams))]; rng.IntN(5) {
					case 0:
						r.explain(b.Update(r.ctx, func(p []uint32) error {
							for i := range p {
								p[i] = v
							}
							return nil
						}))
					case 1:
						l, err := r.acquire(b, s, coherence.ReadWrite)
						if r.explain(err) {
							continue
						}
						r.explain(s.Fill(l.Region(), hal.Pattern32(v)))
						r.explain(l.Release())
					case 2:
						r.explain(r.prefetch(b, s))
					case 3:
						if !s.Device().Info().SharesHostMemory { // a unified device's replica is the host's
							r.explain(b.Evict(r.ctx, s.Device()))
						}
					case 4:
						r.explain(b.View(r.ctx, func(p []uint32) error {
							bad := 0
							for i := range p {
								if p[i] != p[0] {
									bad += 4
								}
							}
							r.wrong(bad, "a write was seen half done")
							return nil
						}))
					}
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
	for _, s := range streams {
		r.explain(s.Close())
	}
	for range 4 {
		r.afterlife(devs[r.rng.IntN(len(devs))], devs[r.rng.IntN(len(devs))])
	}
}

// afterlife closes a buffer while its last write, on one device, is held by a gate. It checks that this write does not reach a new buffer,
// which may get the memory that the closed buffer had on another device.
func (r *run) afterlife(first, last *hal.Device) {
	s, t := r.stream(first), r.stream(last)
	defer func() {
		r.must(s.Close())
		r.must(t.Close())
	}()
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
	devs, done := r.fleet()
	defer done()
	r.hands(hands, func(rng *rand.Rand) {
		locked := rng.IntN(4) == 0
		if locked {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
		}
		b, err := buffer.New[uint32](16 + rng.IntN(64))
		r.must(err)
		defer func() { r.must(b.Close()) }()
		var streams []*hal.Stream
		for range 2 {
			streams = append(streams, r.stream(devs[rng.IntN(len(devs))]))
		}
		defer func() {
			for _, s := range streams {
				r.must(s.Close())
			}
		}()
		want := uint32(0)
		past := fmt.Sprintf("%d elements on %s and %s, on one thread: %t; filled with", b.Len(), streams[0].Device().Name(), streams[1].Device().Name(), locked)
		look := func() {
			bad, first := 0, []uint32(nil)
			r.explain(b.View(r.ctx, func(got []uint32) error {
				bad, first = differing(got, want), slices.Clone(got)
				return nil
			}))
			past += ", viewed"
			if bad == 0 {
				return
			}
			for _, s := range streams { // if the bytes are right once all work is done, View did not wait for it
				r.explain(s.Sync(r.ctx))
			}
			later := 0
			r.explain(b.View(r.ctx, func(got []uint32) error {
				later = differing(got, want)
				return nil
			}))
			r.wrong(bad, "%s: got %#x; %d bytes wrong once the streams are idle; %+v, %+v", past, first, later, b.State(), b.Stats())
		}
		for k := range 12 {
			r.actions.Add(1)
			s := streams[k%2]
			l, err := r.acquire(b, s, coherence.ReadWrite)
			r.must(err)
			want = rng.Uint32()
			past += fmt.Sprintf(" %#x at %#x", want, l.Pointer())
			r.must(s.Fill(l.Region(), hal.Pattern32(want)))
			runtime.Gosched()
			r.must(l.Release())
			if rng.IntN(4) == 0 {
				look()
			}
		}
		look()
	})
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
	devs, done := r.fleet()
	defer done()
	var streams []*hal.Stream
	for _, d := range devs {
		streams = append(streams, r.stream(d))
	}
	defer func() {
		for _, s := range streams {
			r.must(s.Close())
		}
	}()
	all := make([]*buffer.Buffer[uint32], n)
	for i := range all {
		r.actions.Add(1)
		b, err := buffer.New[uint32](4)
		r.must(err)
		all[i] = b
		s := streams[r.rng.IntN(len(streams))]
		l, err := r.acquire(b, s, coherence.Overwrite)
		r.must(err)
		r.must(s.Fill(l.Region(), hal.Pattern32(uint32(i))))
		r.must(l.Release())
	}
	for i, b := range all {
		r.actions.Add(1)
		r.must(r.prefetch(b, streams[r.rng.IntN(len(streams))]))
		r.same(b, uint32(i))
	}
	for _, b := range all {
		r.must(b.Close())
	}
}

var background = context.Background()
