package buffer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

// digested counts the seeds that TestNoFailureGoesUnnoticedBesideLeases has used, so that each pass of -count and -cpu has others.
var digested atomic.Uint64

// Transfers fail while leases, groups and functions of the host are open, and other goroutines find that first: what is read back is right, or
// its error says that it is lost.
func TestNoFailureGoesUnnoticedBesideLeases(t *testing.T) {
	const seeds = 4 // one of each kind of devices
	seen := map[string]int{}
	first := digested.Add(seeds) - seeds
	for seed := first; seed < first+seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { newBesides(t, seed, seen).run(120) })
	}
	t.Log(seen)
	require.NotZero(t, seen["good"])
	require.NotZero(t, seen["lost"])
}

// besides is two buffers, and what is in them.
type besides struct {
	t       *testing.T
	rng     *rand.Rand
	seen    map[string]int
	list    [2]*buffer.Buffer[uint32]
	want    [2][]uint32
	devs    []*hal.Device
	streams []*hal.Stream
	own     atomic.Bool // the program's own work is enqueued, which succeeds
	value   uint32
}

const besidesLen = 12 // elements

func newBesides(t *testing.T, seed uint64, seen map[string]int) *besides {
	w := &besides{t: t, rng: rand.New(rand.NewPCG(seed, 2)), seen: seen}
	var backends []*faulty
	open := func(o host.Options, ordinals ...int) *faulty {
		f := newFaulty(o)
		f.lag = 1
		backends = append(backends, f)
		if seed%4 == 3 && len(backends) == 1 {
			hideMemory(&f.Backend)
		}
		for _, i := range ordinals {
			w.devs = append(w.devs, fixture.Device(t, f, i))
		}
		return f
	}
	switch seed % 4 {
	case 0:
		open(host.Options{Name: "linked", Discrete: 3}, 1, 2, 3).linked = true
	case 1:
		open(host.Options{Name: "apart", Discrete: 3}, 1, 2, 3)
	case 2:
		open(host.Options{Name: "unified", Discrete: 2}, 0, 1, 2)
	case 3:
		open(host.Options{Name: "hidden", Discrete: 1}, 1)
		open(host.Options{Name: "discrete", Discrete: 2}, 1, 2).linked = true
	}
	for range 2 {
		for _, d := range w.devs {
			w.streams = append(w.streams, newStream(t, d))
		}
	}
	for i := range w.list {
		w.want[i] = make([]uint32, besidesLen)
		w.list[i] = newBuffer(t, w.want[i])
	}
	for _, f := range backends {
		odds := rand.New(rand.NewPCG(seed, 3))
		f.mu.Lock()
		f.odds = func() bool { return !w.own.Load() && odds.IntN(64) == 0 }
		f.mu.Unlock()
	}
	return w
}

func (w *besides) run(rounds int) {
	stop, cancel := context.WithCancel(ctx)
	var others sync.WaitGroup
	for i := range 3 {
		rng := rand.New(rand.NewPCG(uint64(i), w.rng.Uint64()))
		others.Add(1)
		go func() {
			defer others.Done()
			for stop.Err() == nil {
				w.digest(stop, rng)
				runtime.Gosched()
			}
		}()
	}
	defer others.Wait()
	defer cancel()
	for round := range rounds {
		w.value++
		var err error
		switch k := w.rng.IntN(10); {
		case k < 5:
			err = w.group()
		case k < 6:
			err = w.lease()
		case k < 7:
			err = w.onHost()
		case k < 8:
			err = w.hostLease()
		default:
			err = w.copyFrom()
		}
		if err != nil && !errors.Is(err, errLate) {
			require.ErrorIs(w.t, err, hal.ErrBusy, "round %d", round)
		}
		if w.rng.IntN(4) == 0 || errors.Is(err, hal.ErrDeviceLost) {
			for i := range w.list {
				w.check(round, i)
			}
		}
	}
}

// part returns a slice of one of the buffers, of n elements if n is not 0.
func (w *besides) part(rng *rand.Rand, which, n int) (b *buffer.Buffer[uint32], lo, hi int) {
	if n == 0 {
		n = 1 + rng.IntN(besidesLen)
	}
	lo = rng.IntN(besidesLen - n + 1)
	b, err := w.list[which].Slice(lo, lo+n)
	require.NoError(w.t, err)
	return b, lo, lo + n
}

// digest is an access that writes nothing, and whose error nobody looks at.
func (w *besides) digest(ctx context.Context, rng *rand.Rand) {
	which := rng.IntN(2)
	b, _, _ := w.part(rng, which, 0)
	dev, stream := w.devs[rng.IntN(len(w.devs))], w.streams[rng.IntN(len(w.streams))]
	k := rng.IntN(10)
	if raceEnabled && k < 9 {
		// Bytes that have turned out bad may be copied again while the work of an open lease reads them. That work counts as failed, whatever it
		// reads, but the race detector sees two accesses of the same memory.
		k = 3
	}
	switch k {
	case 0, 1, 2:
		_ = b.Prefetch(stream)
	case 3, 4:
		_ = b.View(ctx, nothing)
	case 5:
		_ = b.SyncTo(ctx, dev)
	case 6:
		_ = w.list[which].Evict(ctx, dev)
	case 7:
		_ = w.list[which].Evict(ctx, nil)
	case 8:
		if l, err := b.Acquire(ctx, stream, coherence.Read); err == nil {
			_ = l.Release()
		}
	case 9:
		if c, err := b.Clone(ctx); err == nil {
			_ = c.View(ctx, nothing)
			_ = c.Close()
		}
	}
}

// meanwhile lets the others run.
func (w *besides) meanwhile() {
	for range w.rng.IntN(30) {
		runtime.Gosched()
	}
	if w.rng.IntN(3) == 0 {
		b, _, _ := w.part(w.rng, w.rng.IntN(2), 0)
		_ = b.Prefetch(w.streams[w.rng.IntN(len(w.streams))])
	}
}

// work enqueues the program's own work.
func (w *besides) work(fn func() error) {
	w.own.Store(true)
	defer w.own.Store(false)
	require.NoError(w.t, fn())
}

// group copies from one range to another on a device, in one buffer or from one to the other.
func (w *besides) group() error {
	s := w.streams[w.rng.IntN(len(w.streams))]
	from, to := w.rng.IntN(2), w.rng.IntN(2)
	n := 1 + w.rng.IntN(besidesLen/2)
	src, lo, _ := w.part(w.rng, from, n)
	dst, at, end := w.part(w.rng, to, n)
	for from == to && lo < end && at < lo+n {
		src, lo, _ = w.part(w.rng, from, n)
		dst, at, end = w.part(w.rng, to, n)
	}
	mode, skip := coherence.Overwrite, 0
	if n > 1 && w.rng.IntN(2) == 0 {
		mode, skip = coherence.ReadWrite, 1 // the first element stays as it is
	}
	acquire, commits := buffer.AcquireAll, true
	reserve := w.rng.IntN(2) == 0
	if reserve {
		acquire, commits = buffer.ReserveAll, w.rng.IntN(4) > 0
	}
	g, err := acquire(ctx, s, src.Want(coherence.Read), dst.Want(mode))
	if err != nil {
		return err
	}
	w.meanwhile()
	if commits {
		r := g.Regions(nil)
		for i := range r {
			r[i].Off, r[i].Len = r[i].Off+4*uint64(skip), r[i].Len-4*uint64(skip)
		}
		w.work(func() error { return s.Copy(r[1], r[0]) })
		w.meanwhile()
		require.NoError(w.t, g.Commit())
		w.meanwhile()
		copy(w.want[to][at+skip:end], slices.Clone(w.want[from][lo+skip:lo+n]))
	}
	if w.rng.IntN(3) == 0 {
		require.NoError(w.t, s.Sync(ctx))
	}
	return g.Release()
}

// lease fills a range on a device.
func (w *besides) lease() error {
	s, which := w.streams[w.rng.IntN(len(w.streams))], w.rng.IntN(2)
	b, lo, hi := w.part(w.rng, which, 0)
	mode, skip := coherence.Overwrite, 0
	if hi-lo > 1 && w.rng.IntN(2) == 0 {
		mode, skip = coherence.ReadWrite, 1
	}
	l, err := b.Acquire(ctx, s, mode)
	if err != nil {
		return err
	}
	w.meanwhile()
	r := l.Region()
	r.Off, r.Len = r.Off+4*uint64(skip), r.Len-4*uint64(skip)
	w.work(func() error { return s.Fill(r, hal.Pattern32(w.value)) })
	w.meanwhile()
	for i := lo + skip; i < hi; i++ {
		w.want[which][i] = w.value
	}
	return l.Release()
}

// onHost writes one element of a range, or all, on the host.
func (w *besides) onHost() error {
	which := w.rng.IntN(2)
	b, lo, hi := w.part(w.rng, which, 0)
	write, n := b.Update, 1
	if w.rng.IntN(2) == 0 {
		write, n = b.Overwrite, hi-lo
	}
	return write(ctx, func(x []uint32) error {
		w.meanwhile()
		if n == 1 {
			require.Equal(w.t, w.want[which][lo+1:hi], x[1:])
		}
		for i := range n {
			x[i], w.want[which][lo+i] = w.value, w.value
		}
		return nil
	})
}

// hostLease fails what it was to write, or writes all of it.
func (w *besides) hostLease() error {
	which := w.rng.IntN(2)
	b, lo, hi := w.part(w.rng, which, 0)
	l, err := b.AcquireHost(ctx, coherence.ReadWrite)
	if err != nil {
		return err
	}
	w.meanwhile()
	if w.rng.IntN(4) == 0 {
		return l.Fail(errLate)
	}
	require.NoError(w.t, l.Release())
	if err := b.Fill(ctx, w.value); err != nil {
		return err
	}
	for i := lo; i < hi; i++ {
		w.want[which][i] = w.value
	}
	return nil
}

func (w *besides) copyFrom() error {
	from, to := w.rng.IntN(2), w.rng.IntN(2)
	n := 1 + w.rng.IntN(besidesLen/2)
	src, lo, _ := w.part(w.rng, from, n)
	dst, at, end := w.part(w.rng, to, n)
	if from == to && lo < end && at < lo+n {
		return nil
	}
	w.own.Store(true)
	defer w.own.Store(false)
	if err := dst.CopyFrom(ctx, src); err != nil {
		return err
	}
	copy(w.want[to][at:end], slices.Clone(w.want[from][lo:lo+n]))
	return nil
}

// check reads every element on the host: it must be right, or its error must say that it is lost. Then it is written again.
func (w *besides) check(round, which int) {
	for i := range besidesLen {
		one, err := w.list[which].Slice(i, i+1)
		require.NoError(w.t, err)
		var got uint32
		for tries := 0; ; tries++ {
			err = one.View(ctx, func(x []uint32) error { got = x[0]; return nil })
			if err == nil || errors.Is(err, hal.ErrDeviceLost) {
				break
			}
			require.ErrorIs(w.t, err, errLate)
			require.Less(w.t, tries, 5000)
		}
		if err != nil {
			w.seen["lost"]++
			for err = one.Fill(ctx, w.value); errors.Is(err, errLate); err = one.Fill(ctx, w.value) {
			}
			require.NoError(w.t, err)
			w.want[which][i] = w.value
			continue
		}
		w.seen["good"]++
		require.Equal(w.t, w.want[which][i], got, "round %d, buffer %d, element %d", round, which, i)
	}
}
