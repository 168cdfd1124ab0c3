//go:build cuda && hip && opencl && linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/buffer/encode"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/testing/small"
	"github.com/go-halyard/halyard/kernel"
)

func init() {
	scenarios = append(scenarios, scenario{name: "functions that do not return", do: callbacks, limit: 5 * time.Minute,
		what: "functions of the program that Halyard calls (methods of arguments, observers, functions of View, Update, Record, OnDone and others) panic or call runtime.Goexit; the call ends in the same way, nothing stays held, and queues close"})
}

// ending is how a function of the program ends.
type ending int32

const (
	byReturn ending = iota
	byPanic
	byExit
)

func (e ending) String() string { return [...]string{"returns", "panics", "exits"}[e] }

// callee is a function of the program. It ends in its way at one of its calls; before and after that it returns.
type callee struct {
	how  ending
	left atomic.Int32 // calls until then
	did  atomic.Bool
}

func (c *callee) call() {
	if c.left.Add(-1) != 0 {
		return
	}
	c.did.Store(true)
	switch c.how {
	case byPanic:
		panic(errThrown)
	case byExit:
		runtime.Goexit()
	}
}

// gone reports whether the function has ended in another way than by returning: then a queue may say that a call of it did not end.
func (c *callee) gone() bool { return c.did.Load() && c.how != byReturn }

// operand is a buffer whose methods call the function.
type operand struct {
	*halyard.Buffer[float32]
	c *callee
}

func (o operand) Len() int         { o.c.call(); return o.Buffer.Len() }
func (o operand) Element() float32 { o.c.call(); return 0 }
func (o operand) Want(mode coherence.Mode) buffer.Want {
	o.c.call()
	return o.Buffer.Want(mode)
}

// allocator, file and source call the function first.
type allocator struct {
	pool.Allocator
	c *callee
}

func (a allocator) Alloc(s *hal.Stream, kind hal.Kind, n uint64) (pool.Block, error) {
	a.c.call()
	return a.Allocator.Alloc(s, kind, n)
}

type file struct{ c *callee }

func (f file) Write(p []byte) (int, error) { f.c.call(); return len(p), nil }

type source struct {
	io.Reader
	c *callee
}

func (s source) Read(p []byte) (int, error) { s.c.call(); return s.Reader.Read(p) }

// leaving is a kernel for the host that calls the function of the table.
var leaving = kernel.New(kernel.Source{Name: "leaving", Go: kernel.Functions{"leave": kernel.Go(func(b *kernel.Block) {
	if c, ok := callees.Load(kernel.Number[uint64](b, 1)); ok {
		c.(*callee).call()
	}
})}})

var (
	callees      sync.Map // of kernels, by number
	calleeNumber atomic.Uint64
)

// attempt is one call, on a queue and a stream of its own.
type attempt struct {
	*run
	*callee
	s    *hal.Stream
	q    *halyard.Queue
	x, y *halyard.Buffer[float32]
	want []float32 // of y
	more []float32 // which y may have too
}

const each = 64 // elements

// sets is what a function does to elements that it may write, before it leaves.
func (a *attempt) sets(p []float32) {
	for i := range p {
		p[i] = 7
	}
	a.want = slices.Repeat([]float32{7}, each)
	a.call()
}

// launched is what y has after a launch.
func (a *attempt) launched() []float32 {
	sum := slices.Clone(a.want)
	for i := range sum {
		sum[i] += 2 * float32(i)
	}
	return sum
}

// situation is a call of Halyard's that calls a function of the program.
type situation struct {
	name  string
	calls int  // at which call of the function it may leave, at most
	told  bool // a panic is an error of the call, or of a later one
	apart bool // the function has a goroutine of its own: if it ends that, the call panics
	do    func(a *attempt)
}

var situations = []situation{
	{name: "an argument of a launcher", calls: 8, do: func(a *attempt) {
		small.Saxpy(a.q, 2, operand{a.x, a.callee}, operand{a.y, a.callee})
		a.want = a.launched()
	}},
	{name: "an argument of a launch", calls: 8, do: func(a *attempt) {
		a.must(small.SaxpyOn(a.ctx, a.s, hal.Over(each), 2, operand{a.x, a.callee}, operand{a.y, a.callee}))
		a.want = a.launched()
	}},
	{name: "an argument of a divided launch", calls: 8, do: func(a *attempt) {
		names := a.openable()
		if len(names) < 2 {
			return
		}
		q := halyard.Open(a.ctx, names...)
		defer func() {
			if err := q.Close(); err != nil && !(a.gone() && errors.Is(err, kernel.ErrUnfinished)) {
				a.unexplained(err)
			}
		}()
		small.Saxpy(q, 2, operand{a.x, a.callee}, operand{a.y, a.callee})
		if q.Err() == nil {
			a.want = a.launched()
		}
	}},
	{name: "an argument of a recorded launch", calls: 8, do: func(a *attempt) {
		step := a.q.Record(func(q *halyard.Queue) { small.Saxpy(q, 2, operand{a.x, a.callee}, operand{a.y, a.callee}) })
		a.more = a.launched()
		step.Run()
		a.want = a.more
	}},
	{name: "the function of Record", calls: 1, do: func(a *attempt) {
		a.q.Record(func(q *halyard.Queue) {
			small.Saxpy(q, 2, a.x, a.y)
			a.call()
		})
	}},
	{name: "the function of View", calls: 1, do: func(a *attempt) { a.y.View(func([]float32) { a.call() }) }},
	{name: "the function of Update", calls: 1, do: func(a *attempt) { a.y.Update(a.sets) }},
	{name: "the function of View2", calls: 1, do: func(a *attempt) { halyard.View2(a.x, a.y, func(_, _ []float32) { a.call() }) }},
	{name: "the function of Overwrite", calls: 1, do: func(a *attempt) {
		a.must(a.y.Buffer().Overwrite(a.ctx, func(p []float32) error { a.sets(p); return nil }))
	}},
	{name: "the function of AccessRanges", calls: 1, do: func(a *attempt) {
		a.must(a.y.Buffer().AccessRanges(a.ctx, coherence.ReadWrite, []buffer.Range{{Lo: 0, Hi: 8}, {Lo: 8, Hi: each}}, func(p []float32) error {
			a.sets(p)
			return nil
		}))
	}},
	{name: "the function of an array's Update", calls: 1, do: func(a *attempt) {
		m, err := array.FromBuffer(a.y.Buffer(), 8, each/8)
		a.must(err)
		a.must(m.Update(a.ctx, func(array.Accessor[float32]) error { a.call(); return nil }))
	}},
	{name: "an observer of a launch", calls: 12, apart: true, do: func(a *attempt) {
		a.more = a.launched()
		defer buffer.Observe(func(buffer.Activity) { a.call() })()
		small.Saxpy(a.q, 2, a.x, a.y)
		a.want = a.more
	}},
	{name: "an observer of an access", calls: 4, apart: true, do: func(a *attempt) {
		defer buffer.Observe(func(buffer.Activity) { a.call() })()
		a.y.View(func([]float32) {})
	}},
	{name: "an observer of a write", calls: 4, apart: true, do: func(a *attempt) {
		a.more = slices.Repeat([]float32{9}, each)
		defer buffer.Observe(func(buffer.Activity) { a.call() })()
		a.y.SetValues(a.more)
		a.want = a.more
	}},
	{name: "a check of ReleaseChecked", calls: 1, told: true, do: func(a *attempt) {
		l, err := a.y.Buffer().Acquire(a.ctx, a.s, coherence.Overwrite)
		a.must(err)
		a.must(a.s.Fill(l.Region(), hal.Pattern32(0)))
		a.must(l.ReleaseChecked(func() error { a.call(); return nil }))
		a.want = make([]float32, each)
		a.lost(a.how != byReturn)
	}},
	{name: "the function of AdoptSlice", calls: 1, do: func(a *attempt) {
		b, err := buffer.AdoptSlice(make([]float32, each), a.call)
		a.must(err)
		a.must(b.Close())
	}},
	{name: "an allocator", calls: 1, do: func(a *attempt) {
		d := a.s.Device()
		b, err := buffer.From(make([]float32, each), buffer.WithAllocator(d, allocator{pool.Direct(d), a.callee}))
		a.must(err)
		defer func() { a.must(b.Close()) }()
		a.must(b.SyncTo(a.ctx, d))
	}},
	{name: "a kernel", calls: 1, told: true, do: func(a *attempt) {
		if a.s.Device().Info().Backend != "host" && a.s.Device().Info().Backend != "far" {
			return
		}
		n := calleeNumber.Add(1)
		callees.Store(n, a.callee)
		defer callees.Delete(n)
		s := a.stream(a.s.Device()) // whose work fails
		a.must(leaving.Kernel("leave").Launch(a.ctx, s, hal.Over(1), kernel.InOut(a.y), kernel.Value(n)))
		a.lost(a.how != byReturn)
		_ = s.Sync(a.ctx)
		_ = s.Close()
	}},
	{name: "a writer", calls: 2, do: func(a *attempt) {
		_, err := encode.Of(a.ctx, a.y.Buffer()).WriteTo(file{a.callee})
		a.must(err)
	}},
	{name: "a reader", calls: 2, do: func(a *attempt) {
		_, err := encode.Of(a.ctx, a.y.Buffer()).ReadFrom(source{bytes.NewReader(make([]byte, 4*each)), a.callee})
		a.must(err)
		a.want = make([]float32, each)
	}},
}

// lost checks whether the elements of y are lost, and writes them again.
func (a *attempt) lost(lost bool) {
	err := a.y.Buffer().View(a.ctx, func([]float32) error { return nil })
	if (err != nil) != lost {
		a.fail("lost: %t, and reading them gives %v", lost, err)
	}
	a.want = slices.Repeat([]float32{5}, each)
	a.must(a.y.Buffer().CopyIn(a.ctx, a.want))
}

func callbacks(r *run) {
	devs := slices.Clone(r.w.always)
	if r.rng.IntN(4) == 0 {
		devs = r.fleet()
	}
	able := r.computing(devs)
	for _, i := range r.rng.Perm(len(situations)) {
		if s := &situations[i]; !r.w.stuck[s.name] && r.ctx.Err() == nil {
			r.actions.Add(1)
			r.attempt(s, able[r.rng.IntN(len(able))])
		}
	}
}

// attempt makes one call whose function leaves, and sees whether everything that it used can be used further.
func (r *run) attempt(in *situation, d *hal.Device) {
	c := &callee{how: ending(r.rng.IntN(3))}
	c.left.Store(int32(1 + r.rng.IntN(in.calls)))
	what := fmt.Sprintf("%s that %s at call %d, on %s", in.name, c.how, c.left.Load(), d.Name())
	const limit = 30 * time.Second
	step := func(fn func()) bool {
		if r.ends(limit, what, fn) {
			return true
		}
		r.w.stuck[in.name] = true
		if slices.Contains(simulated, d.Name()) {
			r.giveUp() // the device stays open
		}
		return false
	}
	a := &attempt{run: r, callee: c, s: r.stream(d)}
	a.q = halyard.On(r.ctx, a.s)
	a.want = make([]float32, each)
	for i := range a.want {
		a.want[i] = float32(i)
	}
	a.x, a.y = halyard.From(a.q, a.want), halyard.From(a.q, a.want)
	if r.rng.IntN(2) == 0 {
		r.must(a.y.Buffer().SyncTo(r.ctx, d))
	}
	r.must(a.q.Err())
	var how ending
	if !step(func() { a.leaves(in, &how) }) {
		return
	}
	expect := byReturn
	if c.did.Load() && !in.told {
		expect = c.how
	}
	if c.gone() {
		r.fault(1)
	}
	if how != expect && !(in.told && how == c.how && how == byExit) { // what runs on this goroutine may end it
		r.fail("%s: the call %s", what, how)
	}
	if !step(func() { a.afterwards(what) }) {
		return
	}
	if step(func() {
		if err := a.q.Close(); err != nil && !(c.gone() && errors.Is(err, kernel.ErrUnfinished)) {
			r.unexplained(fmt.Errorf("%s: %w", what, err))
		}
	}) {
		r.must(a.s.Close())
	}
}

// leaves does what is attempted, and says how that ended.
func (a *attempt) leaves(in *situation, how *ending) {
	*how = byExit
	defer func() {
		if p := recover(); p != nil {
			*how = byPanic
			err, _ := p.(error)
			switch {
			case errors.Is(err, errThrown):
			case in.apart && err != nil && strings.Contains(err.Error(), "it ended its goroutine"):
				*how = byExit
			default:
				panic(p)
			}
		}
	}()
	in.do(a)
	*how = byReturn
}

// afterwards reads, writes and launches, by package buffer, because the queue may keep an error.
func (a *attempt) afterwards(what string) {
	x, y := a.x.Buffer(), a.y.Buffer()
	a.must(y.View(a.ctx, func(got []float32) error {
		if !slices.Equal(got, a.want) && !(a.did.Load() && slices.Equal(got, a.more)) {
			a.wrong(4, "%s: %v, want %v", what, got, a.want)
		}
		a.want = slices.Clone(got)
		return nil
	}))
	a.must(small.SaxpyOn(a.ctx, a.s, hal.Over(each), 2, x, y))
	a.want = a.launched()
	a.must(y.Update(a.ctx, func(got []float32) error {
		if !slices.Equal(got, a.want) {
			a.wrong(4, "%s, and a launch after it: %v, want %v", what, got, a.want)
		}
		return nil
	}))
}
