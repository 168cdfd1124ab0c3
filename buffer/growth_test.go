package buffer_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// few and many are how often the tests of this file do something. They count what the buffer looks at, and never measure time.
const few = 100

// perOperation runs a scenario with few and with many operations, and compares the steps for each operation by phase. A search in a
// tree of n takes log n steps, so with many a phase may take log(many)/log(few) times as many for each as with few: twice. The trees
// are balanced by chance, and by chance work has ended or not when it is looked for, so that a wait looks once more: for that there are
// three times as many, and a few. What was linear in what was before took a hundred times as many.
func perOperation(t *testing.T, run func(t *testing.T, n int, phase func(name string, steps int))) {
	t.Helper()
	measure := func(n int) map[string]float64 {
		per := map[string]float64{}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			run(t, n, func(name string, steps int) { per[name] = float64(steps) / float64(n) })
		})
		return per
	}
	less, more := measure(few), measure(many)
	t.Log(less, more)
	factor := math.Log(many) / math.Log(few)
	for name, steps := range more {
		require.LessOrEqual(t, steps, 3*factor*less[name]+4, "steps for each operation of %q", name)
	}
}

// meter returns a function that tells what a buffer has looked at since it was last called.
func meter[T buffer.Element](b *buffer.Buffer[T]) func() int {
	last := buffer.Steps(b)
	return func() int {
		now := buffer.Steps(b)
		defer func() { last = now }()
		return now - last
	}
}

// untilCopied returns a context that ends as soon as something is copied or there is work to wait for: what it is given to has enqueued
// its copies, and gives up the wait for them.
func untilCopied(t *testing.T) context.Context {
	c, cancel := context.WithCancel(ctx)
	t.Cleanup(cancel)
	t.Cleanup(buffer.Observe(func(e buffer.Activity) {
		if e.Kind == buffer.ActivityCopy {
			cancel()
		}
	}))
	return c
}

func use[T buffer.Element](t *testing.T, b *buffer.Buffer[T], s *hal.Stream, mode coherence.Mode) {
	l, err := b.TryAcquire(s, mode)
	require.NoError(t, err)
	require.NoError(t, l.Release())
}

func cut(t *testing.T, b *buffer.Buffer[uint32], lo, hi int) *buffer.Buffer[uint32] {
	part, err := b.Slice(lo, hi)
	require.NoError(t, err)
	return part
}

// fresh32 is a buffer whose n elements are current on the stream's device.
func fresh32(t *testing.T, s *hal.Stream, n int) *buffer.Buffer[uint32] {
	b := newBuffer(t, make([]uint32, n))
	require.NoError(t, b.SyncTo(ctx, s.Device()))
	return b
}

func TestSlicesCostTheSameHoweverMany(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	for _, mode := range []coherence.Mode{coherence.Read, coherence.ReadWrite, coherence.Overwrite} {
		for _, held := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v held %t", mode, held), func(t *testing.T) {
				perOperation(t, func(t *testing.T, n int, phase func(string, int)) {
					s := newStream(t, d)
					b := fresh32(t, s, n)
					steps := meter(b)
					all := func(name string) {
						for i := range n {
							use(t, cut(t, b, i, i+1), s, mode)
							if !held && i%8 == 0 {
								require.NoError(t, s.Sync(ctx))
							}
						}
						phase(name, steps())
					}
					var g *hal.Gate
					if held {
						g = hold(t, s)
					}
					all("acquire")
					if held {
						if mode != coherence.Read {
							require.ErrorIs(t, b.View(untilCopied(t), nothing), context.Canceled)
							phase("view behind the gate", steps())
						}
						all("again")
						require.NoError(t, g.Signal())
					} else {
						require.Less(t, buffer.Works(b), 64, "what has ended is forgotten")
					}
					require.NoError(t, s.Sync(ctx))
					require.NoError(t, b.View(ctx, nothing))
					phase("view", steps())
					require.NoError(t, s.Sync(ctx))
					all("after that")
					require.NoError(t, s.Sync(ctx))
					require.NoError(t, b.Fill(ctx, 1))
					use(t, b, s, coherence.ReadWrite)
					require.Less(t, buffer.Works(b), 16, "all is done")
					phase("write", steps())
				})
			})
		}
	}
}

func TestRangesCostTheSameHoweverMany(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	for _, mode := range []coherence.Mode{coherence.Read, coherence.ReadWrite, coherence.Overwrite} {
		for _, held := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v held %t", mode, held), func(t *testing.T) {
				perOperation(t, func(t *testing.T, n int, phase func(string, int)) {
					s := newStream(t, d)
					b := newBuffer(t, make([]uint32, 4*n))
					var rows []buffer.Range
					for i := range n {
						rows = append(rows, buffer.Range{Lo: 4 * i, Hi: 4*i + 2})
					}
					take := func() {
						l, err := b.AcquireRanges(ctx, s, mode, rows)
						require.NoError(t, err)
						require.NoError(t, l.Release())
						if !held {
							require.NoError(t, s.Sync(ctx))
						}
					}
					steps := meter(b)
					var g *hal.Gate
					if held {
						g = hold(t, s)
					}
					take()
					phase("acquire", steps())
					take()
					phase("again", steps())
					if held {
						if mode != coherence.Read {
							require.ErrorIs(t, b.AccessRanges(untilCopied(t), coherence.Read, rows, nothing), context.Canceled)
							phase("view behind the gate", steps())
						}
						require.NoError(t, g.Signal())
						require.NoError(t, s.Sync(ctx))
					}
					require.NoError(t, b.AccessRanges(ctx, coherence.Read, rows, nothing))
					phase("view of the ranges", steps())
					require.NoError(t, b.View(ctx, nothing))
					phase("view", steps())
					require.NoError(t, b.AccessRanges(ctx, mode, rows, nothing))
					phase("on the host", steps())
					take()
					phase("back", steps())
					require.NoError(t, s.Sync(ctx))
					require.NoError(t, b.Fill(ctx, 1))
					for range 16 {
						use(t, b, s, coherence.ReadWrite)
					}
					require.Less(t, buffer.Works(b), 16, "all is done")
				})
			})
		}
	}
}

func TestManyLeasesAtOnce(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	for name, part := range map[string]func(b *buffer.Buffer[uint32], i int) *buffer.Buffer[uint32]{
		"of all":    func(b *buffer.Buffer[uint32], i int) *buffer.Buffer[uint32] { return b },
		"of slices": func(b *buffer.Buffer[uint32], i int) *buffer.Buffer[uint32] { return cut(t, b, i, i+1) },
	} {
		t.Run(name, func(t *testing.T) {
			perOperation(t, func(t *testing.T, n int, phase func(string, int)) {
				s := newStream(t, d)
				b := fresh32(t, s, n)
				steps := meter(b)
				mode := coherence.Read
				if name == "of slices" {
					mode = coherence.ReadWrite
				}
				leases := make([]buffer.Lease, n)
				for i := range leases {
					var err error
					leases[i], err = part(b, i).TryAcquire(s, mode)
					require.NoError(t, err)
				}
				phase("acquire", steps())
				for i := range n { // each is refused by all the leases that it meets
					_, err := cut(t, b, i, n).TryAcquire(s, coherence.Overwrite)
					require.ErrorIs(t, err, coherence.ErrConflict)
				}
				phase("refuse", steps())
				for _, l := range leases {
					require.NoError(t, l.Release())
				}
				phase("release", steps())
				require.NoError(t, s.Sync(ctx))
				require.NoError(t, b.Fill(ctx, 1))
				for range n {
					use(t, b, s, coherence.ReadWrite)
				}
				require.Less(t, buffer.Works(b), 16)
				phase("after that", steps())
			})
		})
	}
}

func TestManyWaiters(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	for _, mode := range []coherence.Mode{coherence.Read, coherence.ReadWrite} {
		t.Run(mode.String(), func(t *testing.T) {
			perOperation(t, func(t *testing.T, n int, phase func(string, int)) {
				s := newStream(t, d)
				b := fresh32(t, s, 4)
				l, err := b.TryAcquire(s, coherence.ReadWrite)
				require.NoError(t, err)
				stop, cancel := context.WithCancel(ctx)
				defer cancel()
				steps := meter(b)
				failed := make(chan error, 2*n)
				var all sync.WaitGroup
				for i := range 2 * n { // every other one gives up
					c := ctx
					if i%2 == 0 {
						c = stop
					}
					all.Go(func() {
						l, err := b.Acquire(c, s, mode)
						if err == nil {
							err = l.Release()
						}
						failed <- err
					})
				}
				require.Eventually(t, func() bool { return buffer.Waiting(b) == 2*n }, patience, tick)
				phase("wait", steps())
				cancel()
				for range n {
					require.ErrorIs(t, <-failed, context.Canceled)
				}
				phase("give up", steps())
				require.NoError(t, l.Release())
				all.Wait()
				for range n {
					require.NoError(t, <-failed)
				}
				phase("go on", steps())
				require.NoError(t, s.Sync(ctx))
				for range 16 {
					use(t, b, s, coherence.ReadWrite)
				}
				require.Less(t, buffer.Works(b), 16)
			})
		})
	}
}

func TestStreamsThatCameAndWent(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	perOperation(t, func(t *testing.T, n int, phase func(string, int)) {
		b := newBuffer(t, make([]uint32, 4))
		steps := meter(b)
		for range n {
			s, err := d.NewStream()
			require.NoError(t, err)
			use(t, b, s, coherence.Read)
			require.NoError(t, s.Sync(ctx))
			require.NoError(t, s.Close())
		}
		phase("read", steps())
		require.Less(t, buffer.Works(b), 16)
		require.NoError(t, b.Fill(ctx, 1))
		s := newStream(t, d)
		use(t, b, s, coherence.ReadWrite)
		require.Less(t, buffer.Works(b), 16)
		phase("write", steps())
	})
}

func TestManyReplicasUnderABudget(t *testing.T) {
	perOperation(t, func(t *testing.T, n int, phase func(string, int)) {
		d := openMany(t, "one", 1, 1)[0]
		s := newStream(t, d)
		last := 0
		looked := func(name string) {
			steps := buffer.ResidencySteps(d)
			phase(name, steps-last)
			last = steps
		}
		buffer.SetBudget(d, uint64(4*n))
		bs := make([]*buffer.Buffer[uint32], 3*n)
		for i := range bs {
			bs[i] = newBuffer(t, []uint32{uint32(i)})
		}
		for _, b := range bs[:n] {
			use(t, b, s, coherence.Read)
		}
		looked("fill")
		for _, b := range bs[n:] {
			use(t, b, s, coherence.Read)
		}
		looked("evict what is current elsewhere")
		for _, b := range bs[:n] {
			use(t, b, s, coherence.ReadWrite)
		}
		require.NoError(t, s.Sync(ctx))
		for _, b := range bs[n : 2*n] {
			l, err := b.Acquire(ctx, s, coherence.Read)
			require.NoError(t, err)
			require.NoError(t, l.Release())
		}
		looked("evict what must be copied")
		leases := make([]buffer.Lease, n)
		for i, b := range bs[n : 2*n] {
			var err error
			leases[i], err = b.TryAcquire(s, coherence.Read)
			require.NoError(t, err)
		}
		for _, b := range bs[:n] {
			_, err := b.TryAcquire(s, coherence.Read)
			require.ErrorIs(t, err, hal.ErrOutOfMemory)
		}
		looked("refuse, as all are leased")
		require.Equal(t, n, buffer.ResidencyOf(d).Replicas)
		for _, l := range leases {
			require.NoError(t, l.Release())
		}
		for _, b := range bs[:n] {
			use(t, b, s, coherence.Read)
		}
		looked("evict once they are not")
	})
}

// What looks at all accesses looks at those there are, and not at as many as there have been.
func TestManyLeasesInThePast(t *testing.T) {
	s := newStream(t, openMany(t, "one", 1, 1)[0])
	b := newBuffer(t, make([]uint32, 1000))
	var list []buffer.Lease
	for i := range 1000 {
		l, err := cut(t, b, i, i+1).TryAcquire(s, coherence.Read)
		require.NoError(t, err)
		list = append(list, l)
	}
	for _, l := range list {
		require.NoError(t, l.Release())
	}
	l, err := b.AcquireHost(ctx, coherence.Read)
	require.NoError(t, err)
	before := buffer.Steps(b)
	require.ErrorIs(t, b.Close(), hal.ErrBusy)
	require.LessOrEqual(t, buffer.Steps(b)-before, 2)
	require.NoError(t, l.Release())
}
