package hal_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// end is a device with a stream and memory on it, which only close closes.
type end struct {
	d *hal.Device
	s *hal.Stream
	m *hal.Memory
}

func newEnd(tb testing.TB, x driver.Backend, ordinal int, n uint64) *end {
	tb.Helper()
	d, err := hal.OpenWith(ctx, x, ordinal)
	require.NoError(tb, err)
	s, err := d.NewStream()
	require.NoError(tb, err)
	m, err := d.Alloc(hal.KindDevice, n, 0)
	require.NoError(tb, err)
	return &end{d, s, m}
}

func (e *end) close(tb testing.TB) {
	tb.Helper()
	require.NoError(tb, e.s.Close())
	require.NoError(tb, e.m.Close())
	require.NoError(tb, e.d.Close())
}

func (e *end) put(tb testing.TB, b byte) {
	tb.Helper()
	require.NoError(tb, e.s.Fill(e.m.All(), hal.Pattern8(b)))
}

// all requires that every byte of the memory is want once the stream has come to its end.
func (e *end) all(tb testing.TB, want byte, label ...any) {
	tb.Helper()
	got := make([]byte, e.m.Size())
	require.NoError(tb, e.s.CopyOut(got, e.m.All()))
	require.NoError(tb, e.s.Sync(ctx))
	require.Equal(tb, len(got), bytes.Count(got, []byte{want}), label...)
}

func hostNamed(name string) driver.Backend { return host.New(host.Options{Name: name, Discrete: 2}) }

// kinds of pairs: with memory that the host can touch at either end, at both and at none.
var acrossPairs = []struct {
	name     string
	from, to int
}{{"in", 0, 1}, {"out", 1, 0}, {"both", 0, 0}, {"none", 1, 1}}

// The copy comes after what both streams were given before it, and before what they are given after it, whichever of
// them is held up.
func TestAcrossKeepsTheOrderOfBothStreams(t *testing.T) {
	for _, pair := range acrossPairs {
		for _, n := range []uint64{1, 5000, 300 << 10, 3 << 20} {
			for held := range 4 {
				label := fmt.Sprintf("%s, %d bytes, held up: %d", pair.name, n, held)
				from, to := newEnd(t, hostNamed("one"), pair.from, n), newEnd(t, hostNamed("two"), pair.to, n)
				from.put(t, 1)
				require.NoError(t, from.s.Sync(ctx))
				var gates []*hal.Gate
				for i, s := range []*hal.Stream{from.s, to.s} {
					if held&(1<<i) != 0 {
						g, err := s.Gate()
						require.NoError(t, err)
						gates = append(gates, g)
					}
				}
				from.put(t, 2)
				to.put(t, 3)
				require.NoError(t, hal.CopyPeer(to.s, to.m.All(), from.s, from.m.All()), label)
				from.put(t, 4)
				middle, err := to.d.Alloc(hal.KindDevice, n, 0)
				require.NoError(t, err)
				require.NoError(t, to.s.Copy(middle.All(), to.m.All()))
				to.put(t, 5)
				for _, g := range gates {
					require.NoError(t, g.Signal())
				}
				from.all(t, 4, label)
				to.all(t, 5, label)
				require.NoError(t, to.s.Copy(to.m.All(), middle.All()))
				to.all(t, 2, label)
				require.NoError(t, middle.Close())
				from.close(t)
				to.close(t)
			}
		}
	}
}

// A short copy leaves the source's stream free although the destination is held up: others may use that stream.
func TestAcrossShortCopyDoesNotHoldTheSource(t *testing.T) {
	for _, pair := range acrossPairs {
		const n = 64 << 10
		from, to := newEnd(t, hostNamed("one"), pair.from, n), newEnd(t, hostNamed("two"), pair.to, n)
		from.put(t, 7)
		var gates []*hal.Gate
		for range 40 { // more than is ever kept
			g, err := to.s.Gate()
			require.NoError(t, err)
			require.NoError(t, hal.CopyPeer(to.s, to.m.All(), from.s, from.m.All()))
			gates = append(gates, g)
			soon, stop := context.WithTimeout(ctx, 20*time.Second)
			require.NoError(t, from.s.Sync(soon), pair.name)
			stop()
		}
		for _, g := range gates {
			require.NoError(t, g.Signal())
		}
		to.all(t, 7, pair.name)
		from.close(t)
		to.close(t)
	}
}

// Memory that is copied in place stays until the copy is done, although everything is closed at once.
func TestAcrossInPlaceOutlivesItsMemory(t *testing.T) {
	for _, pair := range acrossPairs {
		for _, n := range []uint64{4 << 10, 2 << 20} {
			from, to := newEnd(t, hostNamed("one"), pair.from, n), newEnd(t, hostNamed("two"), pair.to, n)
			back, err := to.d.Alloc(hal.KindHost, n, 0)
			require.NoError(t, err)
			got, err := back.Bytes()
			require.NoError(t, err)
			g, err := from.s.Gate()
			require.NoError(t, err)
			from.put(t, 9)
			require.NoError(t, hal.CopyPeer(to.s, to.m.All(), from.s, from.m.All()))
			require.NoError(t, to.s.Copy(back.All(), to.m.All()))
			e, err := to.s.Record()
			require.NoError(t, err)
			require.NoError(t, from.m.Close())
			require.NoError(t, to.m.Close())
			require.NoError(t, from.s.Close())
			require.NoError(t, to.s.Close())
			require.NotZero(t, from.d.Usage().Held, pair.name)
			require.NoError(t, g.Signal())
			require.NoError(t, e.Sync(ctx))
			require.Equal(t, int(n), bytes.Count(got, []byte{9}), pair.name)
			require.NoError(t, e.Close())
			require.NoError(t, back.Close())
			require.NoError(t, from.d.Close())
			require.NoError(t, to.d.Close())
		}
	}
}

// Closing the memories right after the copy waits for it, although nothing else has used them.
func TestAcrossUsesBothMemories(t *testing.T) {
	for _, pair := range acrossPairs {
		for _, n := range []uint64{4 << 10, 2 << 20} {
			from, to := newEnd(t, hostNamed("one"), pair.from, n), newEnd(t, hostNamed("two"), pair.to, n)
			g, err := from.s.Gate()
			require.NoError(t, err)
			require.NoError(t, hal.CopyPeer(to.s, to.m.All(), from.s, from.m.All()))
			for _, e := range []*end{from, to} {
				require.NoError(t, e.m.Close())
				require.GreaterOrEqual(t, e.d.Usage().Held, n, pair.name)
			}
			require.NoError(t, g.Signal())
			for _, e := range []*end{from, to} {
				require.NoError(t, e.s.Sync(ctx))
				require.NoError(t, e.d.Reclaim(ctx))
				require.Zero(t, e.d.Usage().Held, pair.name)
				e.close(t)
			}
		}
	}
}

// Repeated copies take no memory, neither of Go's heap nor of the devices.
func TestAcrossSteadyStateAllocatesNothing(t *testing.T) {
	for _, pair := range acrossPairs {
		const n = 4 << 10 // the host does it during the call, so nothing has to be waited for
		from, to := newEnd(t, hostNamed("one"), pair.from, n), newEnd(t, hostNamed("two"), pair.to, n)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if hal.CopyPeer(to.s, to.m.All(), from.s, from.m.All()) != nil || to.s.Sync(ctx) != nil || from.s.Sync(ctx) != nil {
				t.Fail()
			}
		}), pair.name)
		from.close(t)
		to.close(t)
	}
}

// kept opens two devices that gain by page-locked memory and copies n bytes across, so that some is kept.
func kept(t *testing.T, r *recorder, n uint64) *acrossFixture {
	r.bus = true
	f := newAcross(t, r, n)
	f.open()
	before := r.alive.Load()
	require.NoError(t, hal.CopyPeer(f.s[1], f.m[1].All(), f.s[0], f.m[0].All()))
	require.NoError(t, f.s[1].Sync(ctx))
	require.NoError(t, f.s[0].Sync(ctx))
	require.Greater(t, r.alive.Load(), before)
	return f
}

func (f *acrossFixture) held() uint64 {
	return f.d[0].Usage().Held + f.d[1].Usage().Held
}

func (f *acrossFixture) own() uint64 { return f.m[0].Size() + f.m[1].Size() }

func TestAcrossKeepsPageLockedMemory(t *testing.T) {
	for _, n := range []uint64{100, 300 << 10, 5<<20 + 3, 40 << 20} {
		f := kept(t, newRecorder(), n)
		allocations := f.d[0].Usage().Allocations + f.d[1].Usage().Allocations
		alive := f.r.alive.Load()
		for range 5 {
			require.NoError(t, f.s[1].CopyIn(f.m[1].All(), make([]byte, n)))
			require.NoError(t, hal.CopyPeer(f.s[1], f.m[1].All(), f.s[0], f.m[0].All()))
			require.True(t, bytes.Equal(f.want, f.got(t)))
			require.Equal(t, allocations, f.d[0].Usage().Allocations+f.d[1].Usage().Allocations, n)
			// Each stream may have made one event more, for the slices of its copies.
			require.LessOrEqual(t, f.r.alive.Load(), alive+2, n)
			require.GreaterOrEqual(t, f.r.alive.Load(), alive, n)
		}
		require.Greater(t, f.held(), f.own())
		require.LessOrEqual(t, f.held(), f.own()+12<<20)
		f.finish(t)
	}
}

// The source of the next copy between two streams does not fill memory that the last one has not read yet.
func TestAcrossNextCopyWaitsForKeptMemory(t *testing.T) {
	f := newAcross(t, newRecorder(), 40<<20)
	for range 3 {
		require.NoError(t, hal.CopyPeer(f.s[1], f.m[1].All(), f.s[0], f.m[0].All()))
	}
	before := f.r.before()
	read := map[uintptr]int{} // where the destination read memory last
	shared := 0
	for i, a := range f.r.acts {
		switch a.what {
		case "out":
			if in, ok := read[a.host]; ok {
				require.True(t, before(in, i), "act %d fills what act %d reads", i, in)
				shared++
			}
		case "in":
			read[a.host] = i
		}
	}
	require.Equal(t, 27, shared, "of 30 pieces all but 3 take the place of another")
	f.open()
	require.True(t, bytes.Equal(f.want, f.got(t)))
	f.finish(t)
}

func TestAcrossReclaimGivesBack(t *testing.T) {
	for i := range 2 {
		f := kept(t, newRecorder(), 5<<20)
		require.Greater(t, f.held(), f.own())
		require.NoError(t, f.d[i].Reclaim(ctx))
		require.Equal(t, f.own(), f.held())
		require.NoError(t, hal.CopyPeer(f.s[1], f.m[1].All(), f.s[0], f.m[0].All()))
		require.True(t, bytes.Equal(f.want, f.got(t)))
		f.finish(t)
	}
}

func TestAcrossGivesBackWhenMemoryRunsOut(t *testing.T) {
	for i := range 2 {
		r := newRecorder()
		f := kept(t, r, 5<<20)
		r.full = func() bool { return f.held() > f.own() }
		m, err := f.d[i].Alloc(hal.KindDevice, 4096, 0)
		require.NoError(t, err)
		require.NoError(t, m.Close())
		require.Equal(t, f.own(), f.held())
		r.full = nil
		f.finish(t)
	}
}

// What is kept keeps neither device from closing, whichever goes first, be it that the copy has not run yet.
func TestAcrossEitherDeviceClosesFirst(t *testing.T) {
	for i := range 8 {
		r := newRecorder()
		r.bus = i&4 != 0
		f := newAcross(t, r, 3<<20)
		require.NoError(t, hal.CopyPeer(f.s[1], f.m[1].All(), f.s[0], f.m[0].All()))
		if i&2 != 0 {
			f.open()
			f.got(t)
		}
		var wg sync.WaitGroup
		for k := range 2 {
			require.NoError(t, f.s[k].Close())
			require.NoError(t, f.m[k].Close())
		}
		if i&2 == 0 {
			f.open() // a gate that is shut keeps its device open
		}
		first, second := f.d[i&1], f.d[1-i&1]
		wg.Go(func() { require.NoError(t, first.Close()) })
		if i&2 != 0 {
			wg.Wait()
		}
		require.NoError(t, second.Close())
		wg.Wait()
		require.Zero(t, r.alive.Load(), i)
	}
}

// A device that nobody holds is found, although memory is kept for copies to and from it.
func TestAcrossKeptMemoryHidesNoLeak(t *testing.T) {
	for i := range 2 {
		leaks := make(chan hal.Leak, 10)
		before := hal.SetLeakHandler(func(l hal.Leak) { leaks <- l })
		f := kept(t, newRecorder(), 1<<20)
		for k := range 2 {
			require.NoError(t, f.s[k].Close())
			require.NoError(t, f.m[k].Close())
		}
		r, other := f.r, f.d[1-i]
		f = nil
		var l hal.Leak
		require.Eventually(t, func() bool {
			runtime.GC()
			select {
			case l = <-leaks:
				return true
			default:
				return false
			}
		}, 20*time.Second, time.Millisecond)
		hal.SetLeakHandler(before)
		require.Equal(t, "device", l.Object)
		require.NoError(t, other.Close())
		require.Eventually(t, func() bool { return r.alive.Load() == 0 }, 20*time.Second, time.Millisecond)
		require.Empty(t, leaks)
	}
}

// Calls at once, on streams of their own, in both directions and of many sizes, do not share memory that is in use.
func TestAcrossManyAtOnce(t *testing.T) {
	for _, pair := range acrossPairs {
		const most = 5 << 20
		a, b := newEnd(t, hostNamed("one"), pair.from, 1), newEnd(t, hostNamed("two"), pair.to, 1)
		var wg sync.WaitGroup
		for worker := range 6 {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(1, uint64(worker)))
				x, y := &end{d: a.d}, &end{d: b.d}
				if worker%2 == 1 {
					x, y = y, x
				}
				for _, e := range []*end{x, y} {
					var err error
					e.s, err = e.d.NewStream()
					require.NoError(t, err)
				}
				for range 25 {
					n := 1 + rnd.Uint64N(1<<(10+rnd.UintN(13)))
					n = min(n, most)
					want := byte(rnd.Uint32())
					for _, e := range []*end{x, y} {
						var err error
						e.m, err = e.d.Alloc(hal.KindDevice, n, 0)
						require.NoError(t, err)
					}
					x.put(t, want)
					require.NoError(t, hal.CopyPeer(y.s, y.m.All(), x.s, x.m.All()))
					if rnd.UintN(8) == 0 {
						require.NoError(t, x.d.Reclaim(ctx))
					}
					x.put(t, want+1)
					y.all(t, want)
					require.NoError(t, x.m.Close())
					require.NoError(t, y.m.Close())
				}
				require.NoError(t, x.s.Close())
				require.NoError(t, y.s.Close())
			})
		}
		wg.Wait()
		a.close(t)
		b.close(t)
	}
}
