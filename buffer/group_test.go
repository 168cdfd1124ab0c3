package buffer_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// length is how many leases there are, 0 after Release.
func length(l buffer.Leases) (n int) {
	for l.At(n) != (buffer.Lease{}) {
		n++
	}
	return n
}

func TestWantsOfOneBufferBecomeOneAccess(t *testing.T) {
	s := newStream(t, openMany(t, "one", 1, 1)[0])
	b := newBuffer(t, []uint32{1, 2, 3, 4, 5, 6, 7, 8})
	other := newBuffer(t, []uint32{9})
	before := b.State().Version
	l, err := buffer.AcquireAll(ctx, s,
		cut(t, b, 0, 4).Want(coherence.Read), cut(t, b, 2, 6).Want(coherence.Overwrite), // 2 and 3 are read and written
		other.Want(coherence.Read), other.Want(coherence.Read), cut(t, b, 0, 1).Want(coherence.Read))
	require.NoError(t, err)
	require.Equal(t, 5, length(l))
	require.Equal(t, uint64(4*4), b.Stats().BytesCopied, "4 and 5 are overwritten, 6 and 7 not wanted")
	require.Equal(t, before+1, b.State().Version, "one write")
	require.NoError(t, cut(t, b, 6, 8).Fill(ctx, 0), "nobody wants these")
	require.NoError(t, cut(t, b, 0, 2).View(ctx, nothing), "these are read")
	_, err = cut(t, b, 3, 4).TryAcquire(s, coherence.Read)
	require.ErrorIs(t, err, coherence.ErrConflict)
	require.Equal(t, l.At(0).Region().Off+8, l.At(1).Region().Off)
	require.Equal(t, l.At(0).Region().Off, l.At(4).Region().Off)
	require.Equal(t, uint64(16), l.At(1).Region().Len)
	require.Equal(t, l.At(2).Region(), l.At(3).Region())
	require.NoError(t, s.Fill(l.At(1).Region(), hal.Pattern32(7)))
	require.NoError(t, l.Release())
	require.Equal(t, []uint32{1, 2, 7, 7, 7, 7, 0, 0}, contents(t, b))
}

func TestWantsMergeByElement(t *testing.T) {
	s := newStream(t, openMany(t, "one", 1, 1)[0])
	rng := rand.New(rand.NewPCG(3, 4))
	modes := []coherence.Mode{coherence.Read, coherence.ReadWrite, coherence.Overwrite}
	for round := range 200 {
		const n = 12
		b := newBuffer(t, make([]uint32, n))
		var wants []buffer.Want
		var reads, writes [n]bool
		for range 1 + rng.IntN(6) {
			lo := rng.IntN(n)
			hi := lo + 1 + rng.IntN(n-lo)
			mode := modes[rng.IntN(len(modes))]
			wants = append(wants, cut(t, b, lo, hi).Want(mode))
			for i := lo; i < hi; i++ {
				reads[i] = reads[i] || mode != coherence.Overwrite
				writes[i] = writes[i] || mode != coherence.Read
			}
		}
		l, err := buffer.AcquireAll(ctx, s, wants...)
		require.NoError(t, err)
		moved, copied := b.Stats().BytesCopied, uint64(0)
		for i := range n {
			if reads[i] {
				copied += 4
			}
			refused := func(mode coherence.Mode) bool { return taken(cut(t, b, i, i+1).TryAcquire(s, mode)) != nil }
			require.Equal(t, writes[i], refused(coherence.Read), "round %d, element %d", round, i)
			require.Equal(t, reads[i] || writes[i], refused(coherence.Overwrite), "round %d, element %d", round, i)
		}
		require.Equal(t, copied, moved, "round %d", round)
		require.NoError(t, l.Release())
	}
}

// versions is what a refused AcquireAll must leave as it was.
type versions []buffer.State

func states(bs ...*buffer.Buffer[uint32]) (v versions) {
	for _, b := range bs {
		v = append(v, b.State())
	}
	return v
}

func TestNothingChangesIfOneCannotBeHad(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s, closed := newStream(t, d), newStream(t, d)
	small := openMany(t, "small", 1, 1)[0]
	buffer.SetBudget(small, 20)
	ss := newStream(t, small)
	require.NoError(t, closed.Close())
	ended, cancel := context.WithCancel(ctx)
	cancel()
	a, b, c := newBuffer(t, []uint32{1, 2}), newBuffer(t, []uint32{3, 4}), newBuffer(t, []uint32{5, 6})
	gone, err := buffer.New[uint32](2)
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	frozen := newBuffer(t, []uint32{7, 8})
	require.NoError(t, frozen.Freeze())
	var none *buffer.Buffer[uint32]
	read, write := coherence.Read, coherence.ReadWrite
	for name, row := range map[string]struct {
		ctx    context.Context
		stream *hal.Stream
		wants  []buffer.Want
		kind   error
	}{
		"closed":          {ctx, s, []buffer.Want{a.Want(write), gone.Want(read), b.Want(write)}, hal.ErrClosed},
		"frozen":          {ctx, s, []buffer.Want{a.Want(write), frozen.Want(write)}, buffer.ErrFrozen},
		"no stream":       {ctx, nil, []buffer.Want{a.Want(write)}, hal.ErrInvalidArgument},
		"closed stream":   {ctx, closed, []buffer.Want{a.Want(write), b.Want(read)}, hal.ErrClosed},
		"no wants":        {ctx, s, nil, hal.ErrInvalidArgument},
		"zero want":       {ctx, s, []buffer.Want{a.Want(write), {}}, hal.ErrInvalidArgument},
		"nil buffer":      {ctx, s, []buffer.Want{a.Want(write), none.Want(read)}, hal.ErrInvalidArgument},
		"not an access":   {ctx, s, []buffer.Want{a.Want(write), b.Want(coherence.Mode(3))}, hal.ErrInvalidArgument},
		"context at once": {ended, s, []buffer.Want{a.Want(write), b.Want(read)}, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			before := states(a, b, c, frozen)
			_, err := buffer.AcquireAll(row.ctx, row.stream, row.wants...)
			require.ErrorIs(t, err, row.kind)
			require.Equal(t, before, states(a, b, c, frozen))
			require.NoError(t, a.Update(ctx, nothing), "nobody has it")
		})
	}

	// A wait for the last is given up: what came before is as it was, and others get it.
	for _, held := range []*buffer.Buffer[uint32]{a, b, c} {
		l, err := held.TryAcquire(s, write)
		require.NoError(t, err)
		before := states(a, b, c)
		stop, cancel := context.WithCancel(ctx)
		waits := queued(t, held, 1, func() error {
			_, err := buffer.AcquireAll(stop, s, c.Want(write), a.Want(write), b.Want(coherence.Overwrite))
			return err
		})
		cancel()
		err = <-waits
		require.ErrorIs(t, err, context.Canceled)
		var conflict *buffer.ConflictError
		require.ErrorAs(t, err, &conflict, "it says who has what it waited for")
		require.Equal(t, before, states(a, b, c))
		require.NoError(t, l.Release())
	}

	// So does one for which a device has no room.
	before := [][]uint32{contents(t, a), contents(t, b), contents(t, c)}
	versions := []int64{a.State().Version, b.State().Version, c.State().Version}
	// The contents were read on the host, and nobody wrote.
	_, err = buffer.AcquireAll(ctx, ss, a.Want(write), b.Want(write), c.Want(write))
	require.ErrorIs(t, err, hal.ErrOutOfMemory)
	require.Equal(t, versions, []int64{a.State().Version, b.State().Version, c.State().Version})
	require.Equal(t, before, [][]uint32{contents(t, a), contents(t, b), contents(t, c)})
}

func TestOppositeOrdersFinish(t *testing.T) {
	d := openMany(t, "one", 2, 1, 2)
	bs := []*buffer.Buffer[uint32]{newBuffer(t, make([]uint32, 4)), newBuffer(t, make([]uint32, 4)), newBuffer(t, make([]uint32, 4))}
	bs = append(bs, cut(t, bs[0], 1, 3), cut(t, bs[1], 0, 2))
	var all sync.WaitGroup
	errs := make(chan error, 4*200+200)
	c := inTime(t)
	for g := range 4 {
		s := newStream(t, d[g%2])
		rng := rand.New(rand.NewPCG(1, uint64(g)))
		all.Go(func() {
			for range 200 {
				var wants []buffer.Want
				for _, i := range rng.Perm(len(bs)) {
					wants = append(wants, bs[i].Want(coherence.ReadWrite))
				}
				l, err := buffer.AcquireAll(c, s, wants...)
				if err == nil {
					err = l.Release()
				}
				errs <- err
			}
		})
	}
	all.Go(func() { // and the host, in both orders
		for i := range 200 {
			errs <- bs[i%3].CopyFrom(c, bs[(i+1+i%2)%3])
		}
	})
	all.Wait()
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
}

func TestOneEventForAll(t *testing.T) {
	h := &hooked.Backend{Backend: host.New(host.Options{Name: "counting", Discrete: 1})}
	var records atomic.Int64
	h.Record = func(s *hooked.Stream, e *hooked.Event) error { records.Add(1); return s.Stream.Record(e.Event) }
	d := fixture.Device(t, h, 1)
	s := newStream(t, d)
	var wants []buffer.Want
	for i := range 20 {
		b := newBuffer(t, make([]uint32, 4))
		require.NoError(t, b.SyncTo(ctx, d))
		wants = append(wants, b.Want([]coherence.Mode{coherence.Read, coherence.ReadWrite, coherence.Overwrite}[i%3]))
	}
	require.NoError(t, s.Sync(ctx))
	for _, n := range []int{1, 2, 5, 20, 20, 7} {
		l, err := buffer.AcquireAll(ctx, s, wants[:n]...)
		require.NoError(t, err)
		before := records.Load()
		require.NoError(t, l.Release())
		require.Equal(t, int64(1), records.Load()-before, "%d leases", n)
	}
}

// What the work of a group wrote is made of all that it read, in whatever buffer.
func TestGroupWritesAreLostWithWhatTheyRead(t *testing.T) {
	for _, n := range []int{2, 12} { // few enough for one Renewal, and too many
		f, devs := openFaulty(t, 1)
		s := newStream(t, devs[0])
		g := hold(t, s)
		src := newBuffer(t, []uint32{1, 2, 3, 4})
		dst, sum, aside := newBuffer(t, make([]uint32, 4)), newBuffer(t, make([]uint32, 4)), newBuffer(t, []uint32{8})
		wants := []buffer.Want{src.Want(coherence.Read), dst.Want(coherence.Overwrite), cut(t, sum, 0, 2).Want(coherence.Overwrite), aside.Want(coherence.Read)}
		for len(wants) < n {
			wants = append(wants, newBuffer(t, make([]uint32, 4)).Want(coherence.Read))
		}
		f.fail("CopyIn", 1) // of src
		l, err := buffer.AcquireAll(ctx, s, wants...)
		require.NoError(t, err)
		require.NoError(t, s.Fill(l.At(1).Region(), hal.Pattern32(5)))
		require.NoError(t, s.Fill(l.At(2).Region(), hal.Pattern32(5)))
		require.NoError(t, l.Release())
		require.NoError(t, g.Signal())
		require.ErrorIs(t, dst.View(ctx, nothing), errLate)
		require.ErrorIs(t, dst.View(ctx, nothing), hal.ErrDeviceLost)
		require.ErrorIs(t, sum.View(ctx, nothing), errLate)
		require.Equal(t, []uint32{0, 0}, contents(t, cut(t, sum, 2, 4)), "not of the group")
		require.Equal(t, []uint32{1, 2, 3, 4}, contents(t, src))
		require.Equal(t, []uint32{8}, contents(t, aside))
		require.NoError(t, dst.Fill(ctx, 6))
		require.Equal(t, []uint32{6, 6, 6, 6}, contents(t, dst))
	}
}

func TestStaleLeasesSaySo(t *testing.T) {
	s := newStream(t, openMany(t, "one", 1, 1)[0])
	a, b := newBuffer(t, []uint32{1}), newBuffer(t, []uint32{2})
	require.ErrorIs(t, buffer.Leases{}.Release(), hal.ErrClosed)
	require.Zero(t, length(buffer.Leases{}))
	require.Zero(t, buffer.Leases{}.At(0))
	l, err := buffer.AcquireAll(ctx, s, a.Want(coherence.Read), b.Want(coherence.ReadWrite))
	require.NoError(t, err)
	same := l
	for i := range 2 {
		require.ErrorIs(t, l.At(i).Release(), hal.ErrInvalidArgument, "it ends with the others")
		require.NotNil(t, l.At(i).Region().Mem)
	}
	require.Equal(t, coherence.ReadWrite, l.At(1).Mode())
	require.Zero(t, l.At(2).Region())
	require.Zero(t, l.At(-1).Region())
	require.ErrorIs(t, b.Close(), coherence.ErrConflict)
	one := l.At(1)
	require.NoError(t, l.Release())
	// Another group takes its place.
	next, err := buffer.AcquireAll(ctx, s, b.Want(coherence.Read), a.Want(coherence.ReadWrite))
	require.NoError(t, err)
	for _, stale := range []buffer.Leases{l, same} {
		require.ErrorIs(t, stale.Release(), hal.ErrClosed)
		require.Zero(t, length(stale))
		require.Zero(t, stale.At(0).Region())
	}
	require.Zero(t, one.Region())
	require.Zero(t, one.Pointer())
	require.Error(t, one.Release())
	require.Equal(t, 2, length(next))
	require.NotNil(t, next.At(0).Region().Mem)
	require.NoError(t, next.Release())
}

func TestLeasesAreReleasedOnce(t *testing.T) {
	s := newStream(t, openMany(t, "one", 1, 1)[0])
	a, b := newBuffer(t, []uint32{1}), newBuffer(t, []uint32{2})
	for range 100 {
		l, err := buffer.AcquireAll(ctx, s, a.Want(coherence.Read), b.Want(coherence.ReadWrite))
		require.NoError(t, err)
		var good atomic.Int32
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				for l.At(0) != (buffer.Lease{}) {
					_ = l.At(1)
				}
			})
			all.Go(func() {
				if l.Release() == nil {
					good.Add(1)
				}
			})
		}
		all.Wait()
		require.Equal(t, int32(1), good.Load())
	}
}

func TestGroupsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool drops things at random under the race detector")
	}
	s := newStream(t, openMany(t, "one", 1, 1)[0])
	a, b, c := newBuffer(t, make([]uint32, 8)), newBuffer(t, make([]uint32, 8)), newBuffer(t, make([]uint32, 8))
	part := cut(t, a, 2, 4)
	for name, wants := range map[string][]buffer.Want{
		"buffers": {a.Want(coherence.Read), b.Want(coherence.Read), c.Want(coherence.ReadWrite)},
		"slices":  {part.Want(coherence.Read), b.Want(coherence.Overwrite)},
	} {
		t.Run(name, func(t *testing.T) {
			round := func() {
				l, err := buffer.AcquireAll(ctx, s, wants...)
				if err == nil {
					_ = l.At(0).Region()
					err = l.Release()
				}
				if err != nil {
					t.Error(err)
				}
			}
			for range 10 {
				round()
			}
			require.Zero(t, testing.AllocsPerRun(1000, round))
		})
	}
}
