//go:build cuda && hip && opencl && linux

package main

import (
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/part"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/hal"
	commdriver "github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/kernel"
)

// mix computes y = a*x + y + position, so that elements at a wrong place and elements that were computed twice are wrong.
var mix = kernel.New(kernel.Source{Name: "torture", Portable: `
KERNEL void blend(u32 a, const GLOBAL u32 *x, GLOBAL u32 *y, u32 n) {
	if (INDEX(0) < n) y[INDEX(0)] += a * x[INDEX(0)] + (u32)INDEX(0);
}`, Go: kernel.Functions{
	"blend": kernel.Go(func(b *kernel.Block) {
		a, x, y := kernel.Number[uint32](b, 0), kernel.Slice[uint32](b, 1), kernel.Slice[uint32](b, 2)
		from, to := kernel.Threads(b, 0, int(kernel.Number[uint32](b, 3)))
		mixed(y[from:to], a, x[from:to], from)
	}),
}})

// mixed is the kernel in plain Go, for elements that begin at a position.
func mixed(y []uint32, a uint32, x []uint32, position int) {
	for i := range y {
		y[i] += a*x[i] + uint32(position+i)
	}
}

// computing returns the devices on which the kernel can be loaded: all but those without a compiler.
func (r *run) computing(devs []*hal.Device) (able []*hal.Device) {
	for _, d := range devs {
		switch err := mix.Load(r.ctx, d); {
		case err == nil:
			able = append(able, d)
		case !errors.Is(err, hal.ErrUnavailable) && !errors.Is(err, hal.ErrUnsupported):
			r.explain(err)
		}
	}
	return able
}

// kernels launches on slices of three buffers, on any device and stream, between accesses by the host.
func kernels(r *run) { launches(r, r.computing(r.fleet())) }

// failingLaunches launches the same kernels while one call of a simulated driver fails.
func failingLaunches(r *run) {
	c := r.w.sims[0]
	devs := r.devices("cuda:0", "cuda:1")
	r.later(func() { c.FailCall(0, 0) })
	able := r.computing(devs)
	if len(able) == 0 {
		return
	}
	c.FailCall(uint64(1+r.rng.IntN(300)), []int{1, 2, 999}[r.rng.IntN(3)])
	r.fault(1)
	launches(r, able)
}

// launches is a program that goes on after an error, as accesses does.
func launches(r *run, devs []*hal.Device) {
	const n = 300
	streams := r.streams(2, devs...)
	if len(streams) == 0 {
		return
	}
	var all [3]*unsure
	for i := range all {
		all[i] = &unsure{want: make([]uint32, n)}
		for j := range n {
			all[i].want[j] = r.rng.Uint32()
		}
		all[i].other = slices.Clone(all[i].want)
		b, err := buffer.From(all[i].want)
		r.must(err)
		all[i].Buffer = b
		r.later(func() { r.closed(b.Close()) })
	}
	for range 24 {
		r.actions.Add(1)
		x, y := all[r.rng.IntN(len(all))], all[r.rng.IntN(len(all))]
		size := 1 + r.rng.IntN(n)
		from, to := r.rng.IntN(n-size+1), r.rng.IntN(n-size+1)
		s := streams[r.rng.IntN(len(streams))]
		switch r.rng.IntN(8) {
		case 0:
			r.look(x, "before a launch")
		case 1:
			v := r.rng.Uint32()
			began, failed := r.update(r.part(x.Buffer, from, from+size), v)
			if began {
				x.wrote(from, from+size, v, !failed)
			}
			if failed {
				r.look(x, "after an update that failed")
			}
		case 2:
			r.explain(r.prefetch(x.Buffer, s))
		case 3:
			r.evict(x.Buffer, s.Device())
		default:
			if x != y || from == to { // else a thread could read an element that another one writes
				r.blend(s, x, y, from, to, size)
			}
		}
	}
	for _, u := range all {
		r.look(u, "after launches")
	}
}

// blend launches the kernel on elements of two buffers.
func (r *run) blend(s *hal.Stream, x, y *unsure, from, to, size int) {
	a := r.rng.Uint32()
	failed := r.explain(mix.Kernel("blend").Launch(r.ctx, s, hal.Over(size).Of(1<<r.rng.IntN(6)),
		kernel.Value(a), kernel.In(r.part(x.Buffer, from, from+size)), kernel.InOut(r.part(y.Buffer, to, to+size)), kernel.Value(uint32(size))))
	mixed(y.other[to:to+size], a, slices.Clone(x.want[from:from+size]), 0)
	if !failed {
		copy(y.want, y.other)
	}
	if failed || len(r.kinds) > 0 { // else a later failure could leave a third value
		r.look(y, "after a launch")
	}
}

// ranks runs a job whose ranks are goroutines and whose messages come late and in another order. Each step writes parts of a divided
// buffer, on devices and on the host, exchanges ghosts and compares them with the whole.
func ranks(r *run) {
	r.job(2+r.rng.IntN(4), -1)
}

// lostRank runs the same job, and loses one rank before a random step.
func lostRank(r *run) {
	n := 2 + r.rng.IntN(3)
	r.fault(1)
	r.job(n, r.rng.IntN(n))
}

func (r *run) job(n, victim int) {
	devs := r.fleet()
	size, width, steps := n*(4+r.rng.IntN(30))+r.rng.IntN(n), 1+r.rng.IntN(3), 4+r.rng.IntN(6)
	last := r.rng.IntN(steps)
	job := commtest.New(n, commtest.Adversary(r.seed), commtest.EagerLimit(uint64(r.rng.IntN(200))))
	err := job.Run(func(e commdriver.Engine) error {
		return frame.Do(func() {
			defer func() { // a failed check ends the rank
				p := recover()
				if _, failed := p.(stopped); failed {
					frame.Must(errors.New("stopped"))
				}
				frame.Then(p, nil)
			}()
			r.rank(comm.New(e), devs, size, width, steps, func(step, rank int) {
				if step == last && rank == victim {
					job.Lose(rank)
				}
			})
		})
	})
	r.explain(err)
	if victim < 0 {
		for _, l := range job.Leftovers() {
			r.count(&r.Leaks, 1)
			r.fail("ranks: left over: %s", l)
		}
	}
	job.Close()
}

// rank is what one rank does. All ranks draw the same random numbers, so each knows what the others write.
func (r *run) rank(c *comm.Comm, devs []*hal.Device, size, width, steps int, begin func(step, rank int)) {
	defer frame.Close(c)
	rng := rand.New(rand.NewPCG(r.seed, 0x4a7c))
	s := r.stream(devs[(c.Rank()+int(r.seed))%len(devs)])
	defer frame.Close(s)
	u := frame.Get(part.New[uint32](r.ctx, c, part.Block(size), part.Halo{Lo: []int{width}, Hi: []int{width}, Periodic: []bool{true}}))
	defer frame.Close(u)
	w := &divided{r, c, s, rng, u, make([]uint32, size), width}
	for step := range steps {
		begin(step, c.Rank())
		r.actions.Add(1)
		v := w.writes()
		if rng.IntN(4) == 0 { // reading ghosts that are older than this step must be refused
			err := u.Local().View(r.ctx, func([]uint32) error {
				r.wrong(4, "step %d on rank %d of %d: stale ghosts were shown", step, c.Rank(), c.Size())
				return nil
			})
			if !errors.Is(err, part.ErrStale) {
				frame.Must(err)
				return
			}
			continue
		}
		w.exchanges()
		w.compares(step)
		w.adds(step)
		r.around(c, s, 1+rng.IntN(400), v)
		r.collective(c, s, v>>8)
	}
}

// divided is a rank's part of a buffer, and what all ranks have written.
type divided struct {
	*run
	c     *comm.Comm
	s     *hal.Stream
	rng   *rand.Rand
	u     *part.Buffer[uint32]
	whole []uint32
	width int // of the ghosts
}

// bounds are those of the rank's own elements.
func (w *divided) bounds() (lo, hi int) {
	from, to := w.u.Box()
	return from[0], to[0]
}

// writes writes a value to random elements, of which each rank writes its own.
func (w *divided) writes() uint32 {
	lo, hi := w.bounds()
	from := w.rng.IntN(len(w.whole))
	to, v, onHost := from+1+w.rng.IntN(len(w.whole)-from), w.rng.Uint32(), w.rng.IntN(3) == 0
	set(w.whole[from:to], v)
	a, b := max(from, lo), min(to, hi)
	if a >= b {
		w.u.Expire()
		return v
	}
	own := frame.Get(w.u.Owned().Slice(a-lo, b-lo))
	if onHost {
		frame.Must(own.Fill(w.ctx, v))
	} else {
		frame.Must(w.fill(own, w.s, v))
	}
	return v
}

func (w *divided) exchanges() {
	if w.rng.IntN(2) == 0 {
		frame.Get(frame.Get(w.u.Begin(w.ctx)).End(w.ctx))
	} else {
		frame.Get(w.u.Exchange(w.ctx))
	}
}

// compares looks at the rank's elements and its ghosts.
func (w *divided) compares(step int) {
	lo, _ := w.bounds()
	size := len(w.whole)
	w.compare(w.u.Local(), func(i int) uint32 { return w.whole[((lo-w.width+i)%size+size)%size] },
		"step %d on rank %d of %d: %d elements, %d ghosts on each side", step, w.c.Rank(), w.c.Size(), size, w.width)
}

// adds compares a sum over ranks.
func (w *divided) adds(step int) {
	lo, hi := w.bounds()
	sum := []uint32{0}
	for _, x := range w.whole[lo:hi] {
		sum[0] += x
	}
	frame.Must(comm.AllreduceSlice(w.ctx, w.c, sum, comm.Sum))
	for _, x := range w.whole {
		sum[0] -= x
	}
	if sum[0] != 0 {
		w.wrong(4, "a sum over ranks, at step %d", step)
	}
}

// compare counts the bytes of elements that are not as wanted.
func (r *run) compare(b *buffer.Buffer[uint32], want func(i int) uint32, what string, args ...any) {
	frame.Must(b.View(r.ctx, func(got []uint32) error {
		bad := 0
		for i, x := range got {
			if x != want(i) {
				bad += 4
			}
		}
		r.wrong(bad, what, args...)
		return nil
	}))
}

// around sends three messages that the stream writes to the next rank, and receives three.
func (r *run) around(c *comm.Comm, s *hal.Stream, n int, v uint32) {
	right, left := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
	mine, got := frame.Get(buffer.New[uint32](n)), frame.Get(buffer.New[uint32](n))
	defer frame.Close(mine)
	defer frame.Close(got)
	for i := range 3 {
		frame.Must(r.fill(mine, s, v+uint32(8*c.Rank()+i)))
		frame.Get(comm.Sendrecv(r.ctx, c, mine, right, 7, got, left, 7))
		r.compare(got, func(int) uint32 { return v + uint32(8*left+i) }, "message %d of %d elements", i, n)
	}
}

// collective makes each collective operation on buffers once, among all ranks and then among those with odd or even numbers.
func (r *run) collective(c *comm.Comm, s *hal.Stream, v uint32) {
	r.among(c, s, v)
	half := frame.Get(c.Split(r.ctx, c.Rank()%2, c.Rank()))
	defer frame.Close(half)
	r.among(half, s, v)
}

// among makes each with a value of each rank, which the stream writes: v plus the rank's number.
func (r *run) among(c *comm.Comm, s *hal.Stream, v uint32) {
	n, me, root := c.Size(), uint32(c.Rank()), int(v)%c.Size()
	one, all, out := frame.Get(buffer.New[uint32](1)), frame.Get(buffer.New[uint32](n)), frame.Get(buffer.New[uint32](n))
	defer func() { frame.Then(recover(), hal.CloseAll(one, all, out)) }()
	ranks, mine := func(i int) uint32 { return v + uint32(i) }, func(int) uint32 { return v + me }
	frame.Must(r.fill(one, s, v+me))
	frame.Must(comm.Gather(r.ctx, c, one, all, root))
	frame.Must(comm.Bcast(r.ctx, c, all, root))
	r.compare(all, ranks, "Bcast among %d ranks", n)
	frame.Must(comm.Allgather(r.ctx, c, one, out))
	r.compare(out, ranks, "Allgather among %d ranks", n)
	frame.Must(comm.Alltoall(r.ctx, c, all, out))
	r.compare(out, mine, "Alltoall among %d ranks", n)
	frame.Must(comm.Scatter(r.ctx, c, all, one, root))
	r.compare(one, mine, "Scatter among %d ranks", n)
	frame.Must(comm.Reduce(r.ctx, c, all, out, comm.Max, root))
	frame.Must(comm.Bcast(r.ctx, c, out, root))
	r.compare(out, ranks, "Bcast of a maximum among %d ranks", n)
}

// fill writes a value on the stream's device.
func (r *run) fill(b *buffer.Buffer[uint32], s *hal.Stream, v uint32) error {
	l, err := b.Acquire(r.ctx, s, coherence.Overwrite)
	if err != nil {
		return err
	}
	return errors.Join(s.Fill(l.Region(), hal.Pattern32(v)), l.Release())
}
