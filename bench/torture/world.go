//go:build cuda && hip && opencl && linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/simgpu"
)

// world is what all scenarios share: the simulated drivers, and the other devices, which stay open.
type world struct {
	sims   []*simgpu.Control
	always []*hal.Device
	names  []string
	once   sync.Once
	stuck  map[string]bool // what has hung and is not tried again
}

var simulated = []string{"cuda:0", "cuda:1", "hip:0"}

func newWorld() *world {
	cuda, hip, err := simgpu.Build(filepath.Join(os.TempDir(), "halyard-simgpu"))
	frame.Must(err)
	os.Setenv("HALYARD_CUDA_LIBRARY", cuda)
	os.Setenv("HALYARD_HIP_LIBRARY", hip)
	w := &world{stuck: map[string]bool{}, sims: []*simgpu.Control{frame.Get(simgpu.Attach(cuda)), frame.Get(simgpu.Attach(hip))}}
	ctx := context.Background()
	for _, r := range hal.List(ctx) {
		if r.Backend != "opencl" && r.Backend != "vulkan" {
			continue
		}
		if r.Err != nil {
			fmt.Fprintf(os.Stderr, "without %s: %v\n", r.Backend, r.Err)
		}
		for _, info := range r.Devices {
			w.always = append(w.always, frame.Get(hal.Open(ctx, info.Name())))
		}
	}
	w.always = append(w.always, frame.Get(hal.Open(ctx, "host:0")), frame.Get(hal.OpenWith(ctx, host.New(host.Options{Name: "far", Discrete: 1}), 1)))
	for _, d := range w.always {
		w.names = append(w.names, fmt.Sprintf("%s (%s, %s)", d.Name(), d.Info().Model, d.Info().Driver))
	}
	for _, name := range simulated {
		w.names = append(w.names, name+" (simulated)")
	}
	return w
}

func (w *world) close() {
	w.once.Do(func() {
		for _, d := range w.always {
			if err := d.Close(); err != nil {
				fmt.Fprintln(os.Stderr, "torture:", err)
			}
		}
	})
}

// scenario is one kind of work, with its faults.
type scenario struct {
	name, what string
	every      uint64        // the scenario runs with one of so many seeds; 0 means with each
	limit      time.Duration // for one run; 0 means patience
	do         func(r *run)

	// explained lists the kinds of error that the scenario's faults make.
	explained []error
}

// run is one scenario with one seed.
type run struct {
	*tally
	w       *world
	seed    uint64
	short   bool
	rng     *rand.Rand
	ctx     context.Context
	actions atomic.Uint64
	kinds   []error
	undo    []func() // what is called when the scenario ends

	hung     bool // a part of it did not end
	ended    atomic.Bool
	simulate bool // it has opened simulated devices
}

// tallies is held while a tally or run.hung changes. It is one for all, because what hangs may go on while other scenarios run.
var tallies sync.Mutex

// stopped ends a scenario whose check has failed.
type stopped struct{}

func (r *run) do(ctx context.Context, s scenario) {
	start := time.Now()
	r.rng = rand.New(rand.NewPCG(r.seed, 0x7047))
	r.kinds = s.explained
	r.ctx = ctx
	for _, c := range r.w.sims {
		r.must(c.Reset(r.seed))
	}
	limit := s.limit
	if limit == 0 {
		limit = patience
	}
	r.guard(func() {
		r.within(limit, "the scenario", func() {
			defer r.ended.Store(true)
			defer r.finish()
			s.do(r)
		})
	})
	for _, c := range r.w.sims {
		for _, v := range c.Violations() {
			r.count(&r.Violations, 1)
			r.fail("%s: %s", c.Name(), v)
		}
		for _, l := range c.Leaks() {
			r.count(&r.Leaks, 1)
			r.fail("%s: still alive: %s", c.Name(), l)
		}
	}
	tallies.Lock()
	defer tallies.Unlock()
	r.Runs++
	r.Actions += r.actions.Load()
	r.Seconds += time.Since(start).Seconds()
}

// count adds to a number of the tally.
func (r *run) count(sum *uint64, n uint64) {
	tallies.Lock()
	defer tallies.Unlock()
	if !r.hung {
		*sum += n
	}
}

// guard runs fn, and reports whether it has returned. A failed check ends fn, and a panic is a failure.
func (r *run) guard(fn func()) (ok bool) {
	defer func() {
		switch p := recover().(type) {
		case nil, stopped:
		default:
			r.fail("panic: %v\n%s", p, debug.Stack())
		}
	}()
	fn()
	return true
}

func (r *run) fail(format string, args ...any) {
	tallies.Lock()
	defer tallies.Unlock()
	if !r.hung && len(r.Failures) < 20 {
		r.Failures = append(r.Failures, fmt.Sprintf("seed %d: ", r.seed)+fmt.Sprintf(format, args...))
	}
}

// must ends the scenario if there is an error, and counts it as unexplained.
func (r *run) must(err error) {
	if err != nil {
		r.unexplained(err)
		panic(stopped{})
	}
}

func (r *run) unexplained(err error) {
	r.count(&r.Unexplained, 1)
	r.fail("unexplained: %v", err)
}

// explain reports whether there is an error, and counts it: as unexplained, unless the scenario's faults explain it.
func (r *run) explain(err error) bool {
	if err == nil {
		return false
	}
	i := slices.IndexFunc(r.kinds, func(kind error) bool { return errors.Is(err, kind) })
	if i < 0 {
		r.unexplained(err)
		return true
	}
	tallies.Lock()
	defer tallies.Unlock()
	if !r.hung {
		r.Errors[r.kinds[i].Error()]++
	}
	return true
}

// wrong counts bytes that are not what they must be.
func (r *run) wrong(n int, format string, args ...any) {
	if n > 0 {
		r.count(&r.WrongBytes, uint64(n))
		r.fail("%d wrong bytes: %s", n, fmt.Sprintf(format, args...))
	}
}

func (r *run) fault(n uint64) { r.count(&r.Faults, n) }

// open opens a device, which the scenario closes.
func (r *run) open(name string) *hal.Device {
	r.simulate = r.simulate || slices.Contains(simulated, name)
	d, err := hal.Open(context.Background(), name)
	r.must(err)
	return d
}

// devices opens devices, which are closed when the scenario ends.
func (r *run) devices(names ...string) (devs []*hal.Device) {
	for _, name := range names {
		devs = append(devs, r.open(name))
	}
	r.later(func() { closing(r.closed, devs) })
	return devs
}

// fleet returns all devices. The simulated ones are opened for the scenario.
func (r *run) fleet() []*hal.Device {
	return append(slices.Clone(r.w.always), r.devices(simulated...)...)
}

// later calls fn when the scenario ends. What was given last is called first.
func (r *run) later(fn func()) { r.undo = append(r.undo, fn) }

func (r *run) finish() {
	for len(r.undo) > 0 {
		last := len(r.undo) - 1
		fn := r.undo[last]
		r.undo = r.undo[:last]
		r.guard(fn)
	}
}

// closed looks at the error of closing something: the scenario's faults may explain it, if they are not about memory.
func (r *run) closed(err error) {
	if err != nil && slices.Contains(r.kinds, hal.ErrOutOfMemory) && len(r.kinds) == 1 {
		r.unexplained(err)
		return
	}
	r.explain(err)
}

// closing closes all of a list.
func closing[T io.Closer](check func(error), list []T) {
	for _, x := range list {
		check(x.Close())
	}
}

func (r *run) stream(d *hal.Device) *hal.Stream {
	s, err := d.NewStream()
	r.must(err)
	return s
}

// streams returns n streams of each device, which are closed when the scenario ends. Where one cannot be made because of the faults, it is left out.
func (r *run) streams(n int, devs ...*hal.Device) (list []*hal.Stream) {
	for _, d := range devs {
		for range n {
			if s, err := d.NewStream(); !r.explain(err) {
				list = append(list, s)
			}
		}
	}
	r.later(func() { closing(r.closed, list) })
	return list
}

// made is a new buffer, which is closed when the scenario ends.
func (r *run) made(n int) *buffer.Buffer[uint32] {
	b, err := buffer.New[uint32](n)
	r.must(err)
	r.later(func() { r.closed(b.Close()) })
	return b
}

// part is a slice of a buffer.
func (r *run) part(b *buffer.Buffer[uint32], lo, hi int) *buffer.Buffer[uint32] {
	p, err := b.Slice(lo, hi)
	r.must(err)
	return p
}

// write fills a buffer on a stream. It reports whether the write has begun, and whether it failed after that.
func (r *run) write(b *buffer.Buffer[uint32], s *hal.Stream, mode coherence.Mode, v uint32) (began, failed bool) {
	l, err := r.acquire(b, s, mode)
	if r.explain(err) {
		return false, false
	}
	failed = r.explain(s.Fill(l.Region(), hal.Pattern32(v)))
	return true, r.explain(l.Release()) || failed
}

// update writes a value to all elements, on the host. It reports whether the function that writes was called, and whether the call failed.
func (r *run) update(b *buffer.Buffer[uint32], v uint32) (began, failed bool) {
	failed = r.explain(b.Update(r.ctx, func(p []uint32) error {
		began = true
		set(p, v)
		return nil
	}))
	return began, failed
}

// evict evicts a buffer from a device whose replica is not the host's.
func (r *run) evict(b *buffer.Buffer[uint32], d *hal.Device) {
	if !d.Info().SharesHostMemory {
		r.explain(b.Evict(r.ctx, d))
	}
}

// unsure are the values that the elements of a buffer may have: one, or two after a write that failed.
type unsure struct {
	*buffer.Buffer[uint32]
	want, other []uint32
}

// wrote notes a write of elements from lo up to hi. If it is not sure, look finds the values before the next write.
func (u *unsure) wrote(lo, hi int, v uint32, sure bool) {
	set(u.other[lo:hi], v)
	if sure {
		set(u.want[lo:hi], v)
	}
}

// look compares, and is then sure of the values.
func (r *run) look(u *unsure, what string) {
	for try := 0; ; try++ {
		err := u.View(r.ctx, func(got []uint32) error {
			bad := 0
			for i, v := range got {
				if v != u.want[i] && v != u.other[i] {
					bad += 4
				}
				u.want[i], u.other[i] = v, v
			}
			r.wrong(bad, "%s", what)
			return nil
		})
		if !r.explain(err) {
			return
		}
		if try == 4 { // the fault came once; each try may find that a further copy has failed
			r.unexplained(fmt.Errorf("again and again: %w", err))
			return
		}
	}
}

// acquire acquires without waiting, and only where the host has to wait for work on its replica first, which a device that shares it then does, by waiting.
func (r *run) acquire(b *buffer.Buffer[uint32], s *hal.Stream, mode coherence.Mode) (buffer.Lease, error) {
	l, err := b.TryAcquire(s, mode)
	if errors.Is(err, hal.ErrNotReady) {
		return b.Acquire(r.ctx, s, mode)
	}
	return l, err
}

// prefetch is acquire for reading and nothing else.
func (r *run) prefetch(b *buffer.Buffer[uint32], s *hal.Stream) error {
	err := b.Prefetch(s)
	if errors.Is(err, hal.ErrNotReady) {
		var l buffer.Lease
		if l, err = b.Acquire(r.ctx, s, coherence.Read); err == nil {
			err = l.Release()
		}
	}
	return err
}
