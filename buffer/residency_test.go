package buffer_test

import (
	"container/list"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

// lru simulates a device with room for a number of equal blocks, and counts the blocks that it moves.
type lru struct {
	room    int
	order   *list.List // most recent first
	at      map[int]*list.Element
	dirty   map[int]bool
	in, out int
}

func (l *lru) use(k int, write bool) {
	if e, ok := l.at[k]; ok {
		l.order.MoveToFront(e)
	} else {
		if l.order.Len() == l.room {
			// Blocks that are current elsewhere go first.
			victim := l.order.Back()
			for e := l.order.Back(); e != nil; e = e.Prev() {
				if !l.dirty[e.Value.(int)] {
					victim = e
					break
				}
			}
			v := l.order.Remove(victim).(int)
			delete(l.at, v)
			if l.dirty[v] {
				l.out++
				delete(l.dirty, v)
			}
		}
		l.at[k] = l.order.PushFront(k)
		l.in++
	}
	if write {
		l.dirty[k] = true
	}
}

func TestWorkingSetEightTimesTheBudgetFinishes(t *testing.T) {
	const blocks, room, elems = 64, 8, 512
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	buffer.SetBudget(d, room*elems*4)
	var bs []*buffer.Buffer[uint32]
	want := make([]uint32, blocks)
	for i := range blocks {
		data := make([]uint32, elems)
		for j := range data {
			data[j] = uint32(i)
		}
		want[i] = uint32(i)
		bs = append(bs, newBuffer(t, data))
	}
	sim := &lru{room: room, order: list.New(), at: map[int]*list.Element{}, dirty: map[int]bool{}}
	rng := rand.New(rand.NewPCG(1, 2))
	moved := func() (n uint64) {
		for _, b := range bs {
			n += b.Stats().BytesCopied
		}
		return n
	}
	base := moved()
	for step := range 2000 {
		// A skewed trace: half of the accesses go to an eighth of the blocks.
		k := rng.IntN(blocks)
		if rng.IntN(2) == 0 {
			k = rng.IntN(blocks / 8)
		}
		write := rng.IntN(3) == 0
		sim.use(k, write)
		mode := coherence.Read
		if write {
			mode = coherence.ReadWrite
		}
		l, err := bs[k].TryAcquire(s, mode)
		require.NoError(t, err, "step %d", step)
		if write {
			want[k] = uint32(1000 + step)
			require.NoError(t, s.Fill(l.Region(), hal.Pattern32(want[k])))
		}
		require.NoError(t, l.Release())
		require.LessOrEqual(t, buffer.ResidencyOf(d).Used, uint64(room*elems*4))
	}
	simulated := uint64(sim.in+sim.out) * elems * 4
	got := moved() - base
	require.InEpsilon(t, simulated, got, 0.10, "bytes moved, and moved by the simulation")
	for i, b := range bs {
		for _, v := range contents(t, b) {
			require.Equal(t, want[i], v, "block %d", i)
		}
	}
	require.NotZero(t, buffer.ResidencyOf(d).WrittenBack)
}

func TestLeasesBeyondTheBudgetAreAClearError(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	buffer.SetBudget(d, 1000)
	a, b := newBuffer(t, make([]uint8, 600)), newBuffer(t, make([]uint8, 600))
	l, err := a.TryAcquire(s, coherence.Read)
	require.NoError(t, err)
	_, err = b.TryAcquire(s, coherence.Read)
	require.ErrorIs(t, err, hal.ErrOutOfMemory)
	require.ErrorContains(t, err, "the buffer needs 600 bytes on one:1; its budget is 1000")
	require.ErrorIs(t, b.Prefetch(s), hal.ErrOutOfMemory)
	require.ErrorIs(t, b.SyncTo(ctx, d), hal.ErrOutOfMemory)
	require.Equal(t, "HOST_ONLY", b.State().Name)
	require.NoError(t, l.Release())
	l, err = b.TryAcquire(s, coherence.Read)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	require.Equal(t, "HOST_ONLY", a.State().Name, "it was evicted")
	require.Equal(t, uint64(600), buffer.ResidencyOf(d).Used)
	// Lowered below what is used, and then lifted.
	buffer.SetBudget(d, 10)
	require.ErrorIs(t, a.SyncTo(ctx, d), hal.ErrOutOfMemory)
	buffer.SetBudget(d, 0)
	require.NoError(t, a.SyncTo(ctx, d))
}

func TestDeviceOutOfMemoryMakesRoom(t *testing.T) {
	d := fixture.Device(t, host.New(host.Options{Name: "small", Discrete: 1, MemoryLimit: 1 << 20}), 1)
	s := newStream(t, d)
	var bs []*buffer.Buffer[uint8]
	for i := range 8 {
		b := newBuffer(t, make([]uint8, 300<<10))
		bs = append(bs, b)
		l, err := b.Acquire(ctx, s, coherence.Overwrite)
		require.NoError(t, err)
		require.NoError(t, s.Fill(l.Region(), hal.Pattern8(uint8(i+1))))
		require.NoError(t, l.Release())
	}
	c, err := bs[7].Clone(ctx)
	require.NoError(t, err)
	defer c.Close()
	for i, b := range append(bs, c) {
		require.Equal(t, uint8(min(i+1, 8)), contents(t, b)[12345])
	}
	before := buffer.ResidencyOf(d)
	huge := newBuffer(t, make([]uint8, 2<<20))
	_, err = huge.TryAcquire(s, coherence.Read)
	require.ErrorIs(t, err, hal.ErrOutOfMemory)
	var e *hal.Error
	require.ErrorAs(t, err, &e)
	require.NotNil(t, e.Shortage)
	require.Equal(t, uint64(2<<20), e.Shortage.Request)
	require.Equal(t, before, buffer.ResidencyOf(d), "nothing was evicted for what cannot fit")
}

// A replica that has become the only one, because the host's is gone, is evicted after those that need no copy.
func TestWhatLosesItsCopyIsEvictedLater(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	sole := written(t, s, 4, 7)
	require.NoError(t, sole.SyncTo(ctx, nil))
	require.NoError(t, sole.Evict(ctx, nil))
	shared := newBuffer(t, make([]uint32, 4))
	require.NoError(t, shared.SyncTo(ctx, d))
	buffer.SetBudget(d, 32)
	require.NoError(t, newBuffer(t, make([]uint32, 4)).SyncTo(ctx, d))
	require.Equal(t, []string{d.Name()}, validAt(sole))
	require.Equal(t, []string{"host"}, validAt(shared))
	require.Zero(t, buffer.ResidencyOf(d).WrittenBack)
}
