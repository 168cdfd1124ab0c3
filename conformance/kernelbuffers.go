package conformance

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

// addAtomic adds 1 to *p atomically.
func addAtomic(p *uint32) { (*atomic.Uint32)(unsafe.Pointer(p)).Add(1) }

type wordsBuffer = buffer.Buffer[uint32]

// buffered makes a buffer of n words that are all v at the host.
func (t *trial) buffered(n int, v uint32) *wordsBuffer {
	data := make([]uint32, n)
	for i := range data {
		data[i] = v
	}
	b, err := buffer.From(data)
	t.must(err, "new buffer")
	t.Cleanup(func() { t.must(b.Close(), "close buffer") })
	return b
}

// holds fails unless the buffer's words are all v.
func (t *trial) holds(b *wordsBuffer, v uint32, what string) {
	t.must(b.View(t.ctx, func(got []uint32) error {
		for i := range got {
			t.want(got[i] == v, "%s: word %d is %d, want %d", what, i, got[i], v)
		}
		return nil
	}), "view")
}

func (t *trial) launchAdd(p *kernel.Program, s *hal.Stream, x, y kernel.Arg, n, v int) error {
	return p.Kernel("add").Launch(t.ctx, s, hal.Over(n), x, y, kernel.Value(uint32(v)), kernel.Value(uint32(n)))
}

// step records launches that add 2 to x into y, and 3 to y into x.
func (t *trial) step(s *hal.Stream, x, y *wordsBuffer, n int) (*kernel.Step, error) {
	add := t.program().Kernel("add")
	return kernel.Record(t.ctx, s, func(r *kernel.Step) error {
		return errors.Join(
			add.Launch(t.ctx, r, hal.Over(n), kernel.In(x), kernel.InOut(y), kernel.Value(uint32(2)), kernel.Value(uint32(n))),
			add.Launch(t.ctx, r, hal.Over(n), kernel.In(y), kernel.InOut(x), kernel.Value(uint32(3)), kernel.Value(uint32(n))))
	})
}

func stepRepeats(t *trial) {
	const n = 300
	s := t.stream(t.dev)
	x, y, u, v := t.buffered(n, 1), t.buffered(n, 0), t.buffered(n, 1000), t.buffered(n, 0)
	first, err := t.step(s, x, y, n)
	t.must(err, "record")
	t.Cleanup(func() { t.must(first.Close(), "close a step") })
	second, err := t.step(s, u, v, n)
	t.must(err, "record")
	t.Cleanup(func() { t.must(second.Close(), "close a step") })
	for i := range 6 {
		var g *hal.Gate
		if i > 3 && t.dev.Caps().Has(hal.CapGate) {
			g = t.shut(s)
		}
		t.must(first.Run(t.ctx), "run %d", i)
		t.must(second.Run(t.ctx), "run %d of the other", i)
		if g != nil {
			t.busy(s, "a step behind a shut gate")
			t.letGo(g)
		}
		if i > 2 {
			t.must(t.recorded(s).Sync(t.ctx), "sync with an event")
			t.holds(x, uint32(1+5*(i+1)), "after the step")
			t.holds(y, uint32(3+5*i), "between the launches of the step")
			t.holds(u, uint32(1000+5*(i+1)), "after the other step")
		}
	}
}

func launchBrings(t *trial) {
	p, s := t.program(), t.stream(t.dev)
	const n = 1000
	x, y := t.buffered(n, 1), t.buffered(n, 0)
	moves := uint64(0)
	if !t.dev.Info().SharesHostMemory {
		moves = 4 * n
	}
	for i := range 4 {
		t.must(t.launchAdd(p, s, kernel.In(x), kernel.InOut(y), n, i), "launch")
		t.want(x.Stats().BytesCopied == moves, "%d launches copied %d bytes, want %d", i+1, x.Stats().BytesCopied, moves)
	}
	t.must(x.Update(t.ctx, func(v []uint32) error { v[3] = 70; return nil }), "update")
	t.must(t.launchAdd(p, s, kernel.In(x), kernel.InOut(y), n, 5), "launch")
	t.must(y.View(t.ctx, func(v []uint32) error {
		t.want(v[2] == 6 && v[3] == 75, "the kernel read %d and %d, want 1 and 70", v[2]-5, v[3]-5)
		return nil
	}), "view")
}

func readsBesideTheHost(t *trial) {
	p, s := t.program(), t.stream(t.dev)
	const n = 1000
	x, y := t.buffered(n, 1), t.buffered(n, 2)
	t.must(t.launchAdd(p, s, kernel.In(x), kernel.InOut(y), n, 5), "launch")
	on, err := x.Acquire(t.ctx, s, coherence.Read)
	t.must(err, "acquire for the device")
	host, err := x.AcquireHost(t.ctx, coherence.Read)
	t.must(err, "acquire for the host")
	t.must(t.launchAdd(p, s, kernel.In(x), kernel.InOut(y), n, 6), "launch while the host reads")
	t.must(host.Release(), "release the host's lease")
	t.must(on.Release(), "release the device's lease")
	t.holds(y, 7, "what the kernel wrote")
}

func launchMakesStale(t *trial) {
	p, s := t.program(), t.stream(t.dev)
	const n = 1000
	x, y := t.buffered(n, 1), t.buffered(n, 2)
	t.must(t.launchAdd(p, s, kernel.In(x), kernel.InOut(y), n, 5), "launch")
	if !t.dev.Info().SharesHostMemory {
		t.want(y.Version(nil) == -1, "the host's replica is current after a kernel wrote")
		t.want(y.Version(t.dev) >= 0, "the device's replica is stale after a kernel wrote it")
		t.want(x.Version(nil) >= 0 && x.Version(t.dev) >= 0, "reading made a replica stale")
	}
	t.holds(y, 6, "what the kernel wrote")
	t.holds(x, 1, "what the kernel read")
}

func outCopiesNothing(t *trial) {
	p, s := t.program(), t.stream(t.dev)
	const n = 1000
	y := t.buffered(n, 2)
	t.must(p.Kernel("put").Launch(t.ctx, s, hal.Over(n), kernel.Out(y), kernel.Value(uint32(7)), kernel.Value(uint32(n))), "launch")
	t.want(y.Stats().BytesCopied == 0, "%d bytes were copied for a buffer passed with Out", y.Stats().BytesCopied)
	t.holds(y, 7, "what the kernel wrote")
}

func sameBufferTwice(t *trial) {
	p, s := t.program(), t.stream(t.dev)
	x := t.buffered(1000, 1)
	for range 3 {
		t.must(t.launchAdd(p, s, kernel.In(x), kernel.InOut(x), 1000, 10), "launch")
	}
	t.holds(x, 31, "a buffer that is read and written")
}

func overlappingSlices(t *trial) {
	p, s := t.program(), t.stream(t.dev)
	const n = 8192
	x := t.buffered(2*n, 1)
	all, err := x.Slice(0, 2*n)
	t.must(err, "slice")
	low, err := x.Slice(0, n)
	t.must(err, "slice")
	t.must(t.launchAdd(p, s, kernel.In(all), kernel.InOut(low), n, 10), "launch")
	t.must(x.View(t.ctx, func(v []uint32) error {
		t.want(v[0] == 11 && v[n-1] == 11 && v[n] == 1 && v[2*n-1] == 1, "%d and %d in the part that was written, %d and %d beyond it", v[0], v[n-1], v[n], v[2*n-1])
		return nil
	}), "view")
}

func refusedKeeps(t *trial) {
	p, s := t.program(), t.stream(t.dev)
	const n = 1000
	x, y := t.buffered(n, 1), t.buffered(n, 2)
	closed := t.stream(t.dev)
	t.must(closed.Close(), "close a stream")
	for what, launch := range map[string]func() error{
		"too few arguments": func() error { return p.Kernel("add").Launch(t.ctx, s, hal.Over(n), kernel.In(x), kernel.Out(y)) },
		"a block too large": func() error {
			return p.Kernel("add").Launch(t.ctx, s, hal.Over(n).Of(1<<30), kernel.In(x), kernel.Out(y), kernel.Value(uint32(1)), kernel.Value(uint32(n)))
		},
		"an unknown kernel": func() error { return p.Kernel("none").Launch(t.ctx, s, hal.Over(n), kernel.Out(y)) },
		"a closed stream":   func() error { return t.launchAdd(p, closed, kernel.In(x), kernel.Out(y), n, 1) },
		"no buffer":         func() error { return t.launchAdd(p, s, kernel.In(nil), kernel.Out(y), n, 1) },
	} {
		version := y.State().Version
		t.want(launch() != nil, "%s: not refused", what)
		t.want(y.State().Version == version && y.Version(nil) >= 0, "%s: the host's replica is no longer current", what)
	}
	t.must(t.launchAdd(p, s, kernel.In(x), kernel.InOut(y), 0, 1), "an empty launch")
	t.holds(y, 2, "after refused launches")
	t.must(y.Update(t.ctx, func([]uint32) error { return nil }), "an access after refused launches")
}

func failedKernel(t *trial) {
	if !slices.Contains(t.dev.Formats(), hal.FormatGo) {
		t.Skipf("the device runs no Go functions, and the failure of another kernel could break it")
	}
	p := kernel.New(kernel.Source{Go: kernel.Functions{"fails": kernel.Go(func(*kernel.Block) { panic("as it should") })}})
	t.Cleanup(func() { t.must(p.Close(), "close the program") })
	s := t.stream(t.dev)
	x, y := t.buffered(64, 1), t.buffered(64, 2)
	t.must(p.Kernel("fails").Launch(t.ctx, s, hal.Over(64), kernel.In(x), kernel.InOut(y)), "launch")
	err := y.View(t.ctx, func(v []uint32) error { return nil })
	t.want(err != nil && strings.Contains(err.Error(), "kernel fails"), "a view of what a failed kernel wrote: %v", err)
	t.holds(x, 1, "what the failed kernel read")
	t.want(s.Sync(t.ctx) != nil, "Sync of the stream does not report that a kernel failed")
	t.must(s.Sync(t.ctx), "Sync of the stream reports the failure twice")
	t.must(y.Overwrite(t.ctx, func(v []uint32) error { clear(v); return nil }), "overwrite")
	t.holds(y, 0, "after it was overwritten")
}

func opposedLaunches(t *trial) {
	p := t.program()
	const n = 64
	x, y := t.buffered(n, 0), t.buffered(n, 0)
	streams := []*hal.Stream{t.stream(t.dev), t.stream(t.dev)}
	rounds := t.Size(200, 50)
	t.together(4, func(i int) {
		a, b := x, y
		if i%2 == 1 {
			a, b = y, x
		}
		for range rounds {
			t.must(t.launchAdd(p, streams[i/2], kernel.In(a), kernel.InOut(b), n, 0), "launch")
		}
	})
	t.holds(x, 0, "after opposed launches")
}
