package pool_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/layer"
)

// sizes of a block that shares a chunk and of one that does not.
var sizes = map[string]uint64{"small": 4 * kib, "large": 8 * mib}

func eachSize(t *testing.T, test func(t *testing.T, d *hal.Device, size uint64)) {
	for name, size := range sizes {
		t.Run(name, func(t *testing.T) {
			eachDevice(t, func(t *testing.T, d *hal.Device) { test(t, d, size) })
		})
	}
}

func TestBlockIsReusedOnItsStreamAtOnce(t *testing.T) {
	eachSize(t, func(t *testing.T, d *hal.Device, size uint64) {
		p, s := newPool(t, d, pool.WithoutStreamAlloc()), newStream(t, d)
		shut(t, s)
		first := alloc(t, p, s, size)
		assert.False(t, first.Ordered(), "fresh memory")
		was := region(t, first)
		fill(t, s, first, 1)
		free(t, first, s)
		again := alloc(t, p, s, size-10)
		r := region(t, again)
		assert.Equal(t, hal.Region{Mem: was.Mem, Off: was.Off, Len: size - 10}, r)
		assert.True(t, again.Ordered(), "the stream's earlier work still uses it")
		free(t, again, s)
	})
}

func TestBlockInUseIsNotGivenToAnotherStream(t *testing.T) {
	eachSize(t, func(t *testing.T, d *hal.Device, size uint64) {
		p, a, b := newPool(t, d), newStream(t, d), newStream(t, d)
		open := shut(t, a)
		x := alloc(t, p, a, size)
		was := region(t, x)
		fill(t, a, x, 1)
		free(t, x, a)
		var others []pool.Block
		for _, s := range []*hal.Stream{b, nil, b, nil} {
			y := alloc(t, p, s, size)
			assert.False(t, overlap(was, region(t, y)), "given out while in use")
			others = append(others, y)
		}
		require.Zero(t, p.Stats().Waits())
		open()
		finish(t, a)
		for _, y := range others {
			free(t, y, nil)
		}
		// Now everything is free to all, and is taken before the pool asks the device for more.
		grown, found := p.Stats().DeviceAllocs, false
		others = nil
		for !found && p.Stats().DeviceAllocs == grown {
			y := alloc(t, p, b, size)
			found = overlap(was, region(t, y))
			others = append(others, y)
		}
		assert.True(t, found, "not given out after its last use")
		for _, y := range others {
			free(t, y, b)
		}
	})
}

func TestAnotherStreamTakesWhatIsFinished(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *hal.Device) {
		p, a, b := newPool(t, d), newStream(t, d), newStream(t, d)
		x := alloc(t, p, a, 8*mib)
		was := region(t, x)
		free(t, x, a)
		finish(t, a)
		y := alloc(t, p, b, 8*mib)
		assert.Equal(t, was, region(t, y))
		assert.False(t, y.Ordered())
		assert.EqualValues(t, 1, p.Stats().Steals())
		free(t, y, b)
	})
}

// Work that comes after the free does not keep the block back.
func TestMarkOfABatchEndsAtTheFree(t *testing.T) {
	d := openHost(t, 1, 0)
	p, a, b := newPool(t, d), newStream(t, d), newStream(t, d)
	free(t, alloc(t, p, b, 256), b) // a second stream makes marks worth while
	x := alloc(t, p, a, 8*mib)
	was := region(t, x)
	free(t, x, a)
	shut(t, a)
	y := alloc(t, p, b, 8*mib)
	assert.Equal(t, was, region(t, y))
	free(t, y, b)
}

// short is a pool that a block of size bytes fills, made of pieces of which a stream that is held shut
// has used each before it freed them.
func short(t *testing.T, size, piece uint64, opts ...pool.Option) (p *pool.Pool, used *hal.Stream, open func()) {
	d := openHost(t, 1, 0)
	opts = append(opts, pool.WithLimit(size))
	if piece < size {
		opts = append(opts, pool.WithChunk(size), pool.WithLarge(size))
	}
	p, used = newPool(t, d, opts...), newStream(t, d)
	open = shut(t, used)
	var all []pool.Block
	for range size / piece {
		x := alloc(t, p, used, piece)
		fill(t, used, x, 0xAA)
		all = append(all, x)
	}
	for _, x := range all {
		free(t, x, used)
	}
	return p, used, open
}

// When memory is short a stream is given what another still uses, and waits for it.
func TestShortageMakesTheStreamWait(t *testing.T) {
	for name, row := range map[string]struct{ size, piece, ask uint64 }{
		"large":  {8 * mib, 8 * mib, 8 * mib},
		"small":  {256 * kib, 64 * kib, 64 * kib},
		"merged": {256 * kib, 64 * kib, 128 * kib},
	} {
		t.Run(name, func(t *testing.T) {
			p, used, open := short(t, row.size, row.piece)
			d := used.Device()
			s := newStream(t, d)
			_, err := p.Alloc(nil, hal.KindDevice, row.ask)
			require.ErrorIs(t, err, hal.ErrOutOfMemory, "nobody can wait")
			x := alloc(t, p, s, row.ask)
			assert.True(t, x.Ordered())
			assert.EqualValues(t, 1, p.Stats().Waits())
			fill(t, s, x, 0xBB)
			done, err := s.Done()
			require.NoError(t, err)
			require.False(t, done, "the stream did not wait")
			open()
			out := make([]byte, row.ask)
			require.NoError(t, s.CopyOut(out, region(t, x)))
			finish(t, s)
			require.Equal(t, len(out), bytes.Count(out, []byte{0xBB}))
			free(t, x, s)
		})
	}
}

// What is left of merged memory still belongs to the work that used it.
func TestRestOfMergedMemoryStaysFenced(t *testing.T) {
	p, used, open := short(t, 256*kib, 64*kib)
	s, other := newStream(t, used.Device()), newStream(t, used.Device())
	x := alloc(t, p, s, 128*kib)
	_, err := p.Alloc(nil, hal.KindDevice, 64*kib)
	require.ErrorIs(t, err, hal.ErrOutOfMemory)
	y := alloc(t, p, used, 64*kib)
	assert.EqualValues(t, 1, p.Stats().Waits(), "a stream need not wait for itself")
	assert.True(t, y.Ordered())
	z := alloc(t, p, other, 64*kib)
	assert.EqualValues(t, 2, p.Stats().Waits())
	open()
	for _, b := range []pool.Block{x, y, z} {
		free(t, b, nil)
	}
}

func TestNoWaitFailsInstead(t *testing.T) {
	for name, row := range map[string]struct{ size, piece uint64 }{
		"large": {8 * mib, 8 * mib}, "small": {256 * kib, 64 * kib},
	} {
		t.Run(name, func(t *testing.T) {
			p, used, open := short(t, row.size, row.piece, pool.WithoutWaits())
			s := newStream(t, used.Device())
			_, err := p.Alloc(s, hal.KindDevice, row.piece)
			require.ErrorIs(t, err, hal.ErrOutOfMemory)
			require.Zero(t, p.Stats().Waits())
			own := row.piece
			if row.piece < row.size {
				own = 2 * row.piece
			}
			x := alloc(t, p, used, own) // its own memory it may merge and have
			free(t, x, used)
			open()
			finish(t, used)
			x = alloc(t, p, s, row.piece)
			free(t, x, s)
		})
	}
}

func TestBlockIsKeptForRecordedUse(t *testing.T) {
	eachSize(t, func(t *testing.T, d *hal.Device, size uint64) {
		p, a, b := newPool(t, d), newStream(t, d), newStream(t, d)
		open := shut(t, b)
		for name, record := range map[string]func(x pool.Block) error{
			"stream": func(x pool.Block) error { return x.RecordUse(b) },
			"mark": func(x pool.Block) error {
				m, err := layer.RecordShared(b)
				require.NoError(t, err)
				defer m.Close()
				return x.KeepUntil(m)
			},
		} {
			x := alloc(t, p, a, size)
			was := region(t, x)
			require.NoError(t, record(x), name)
			if name == "stream" {
				free(t, x, a)
			} else {
				free(t, x, nil)
			}
			for _, s := range []*hal.Stream{a, nil} {
				y := alloc(t, p, s, size)
				assert.False(t, overlap(was, region(t, y)), "%s: given out while in use", name)
				defer free(t, y, nil)
			}
			y := alloc(t, p, b, size) // which may have the block again, in the order of its own work
			assert.True(t, y.Ordered() || !overlap(was, region(t, y)), "%s: given out while in use", name)
			free(t, y, b)
		}
		open()
		finish(t, b)
		grown := p.Stats().DeviceAllocs
		for range 2 {
			x := alloc(t, p, a, size)
			defer free(t, x, a)
		}
		assert.Equal(t, grown, p.Stats().DeviceAllocs, "not given out after its last use")
	})
}

// A block with recorded uses is kept for the stream that freed it as well.
func TestBlockIsKeptForBoth(t *testing.T) {
	eachSize(t, func(t *testing.T, d *hal.Device, size uint64) {
		for _, usedFirst := range []bool{true, false} {
			p, a, b := newPool(t, d), newStream(t, d), newStream(t, d)
			first, second := shut(t, a), shut(t, b)
			x := alloc(t, p, nil, size)
			was := region(t, x)
			require.NoError(t, x.RecordUse(b))
			free(t, x, a)
			one, other := a, b
			if usedFirst {
				first, second, one, other = second, first, b, a
			}
			first()
			finish(t, one)
			y := alloc(t, p, one, size)
			assert.False(t, overlap(was, region(t, y)))
			second()
			finish(t, other)
			free(t, y, one)
		}
	})
}

// A stream that was closed takes along what nobody marked, until the chunk is free.
func TestStreamsThatEnd(t *testing.T) {
	for _, told := range []bool{true, false} {
		t.Run(map[bool]string{true: "retired", false: "forgotten"}[told], func(t *testing.T) {
			d := openHost(t, 1, 0)
			p, s := newPool(t, d, pool.WithChunk(256*kib)), newStream(t, d)
			open := func() {}
			for i := range 100 {
				brief, err := d.NewStream()
				require.NoError(t, err)
				if i == 50 {
					open = shut(t, brief)
				}
				for _, size := range []uint64{256, 4 * kib, 64 * kib} {
					x := alloc(t, p, brief, size)
					fill(t, brief, x, 1)
					free(t, x, brief)
				}
				if told {
					require.NoError(t, p.ForgetStream(brief))
				}
				if i != 50 {
					finish(t, brief)
				}
				require.NoError(t, brief.Close())
			}
			st := p.Stats()
			assert.LessOrEqual(t, st.Streams(), 32)
			assert.LessOrEqual(t, st.Reserved, 8*mib, "memory got lost for good: %+v", st)
			if told {
				assert.Zero(t, st.Lost())
				assert.Zero(t, st.Streams())
			}
			open()
			x := alloc(t, p, s, 256)
			free(t, x, s)
			require.NoError(t, p.ForgetStream(s))
			require.NoError(t, p.ForgetStream(s), "twice")
			require.ErrorIs(t, p.ForgetStream(nil), hal.ErrInvalidArgument)
			x = alloc(t, p, s, 256)
			free(t, x, s)
		})
	}
}

// Memory that a closed stream took along comes back, when it is needed, by way of the device.
func TestWhatAClosedStreamTookAlongComesBack(t *testing.T) {
	for name, size := range map[string]uint64{"small": 32 * kib, "large": 256 * kib} {
		t.Run(name, func(t *testing.T) {
			d := openHost(t, 1, 0)
			p := newPool(t, d, pool.WithLimit(256*kib), pool.WithChunk(256*kib), pool.WithLarge(256*kib))
			keep, s := newStream(t, d), newStream(t, d)
			brief, err := d.NewStream()
			require.NoError(t, err)
			m, err := layer.RecordShared(keep)
			require.NoError(t, err)
			defer m.Close()
			var all []pool.Block
			for range 256 * kib / size {
				all = append(all, alloc(t, p, brief, size))
			}
			open := shut(t, brief)
			for _, x := range all {
				fill(t, brief, x, 1)
			}
			live := all[:1]
			if size == 256*kib {
				live = nil
			}
			freed := all[len(live):]
			for i, x := range freed {
				if i == len(freed)/2 {
					require.NoError(t, x.KeepUntil(m))
					require.NoError(t, brief.Close())
				}
				free(t, x, brief)
			}
			if len(live) > 0 {
				_, err = p.Alloc(nil, hal.KindDevice, 1)
				require.ErrorIs(t, err, hal.ErrOutOfMemory)
				require.Equal(t, 7*size, p.Stats().Lost())
				free(t, live[0], keep)
			}
			x := alloc(t, p, s, 64*kib)
			require.Zero(t, p.Stats().Lost())
			require.Equal(t, 512*kib, d.Usage().Held, "taken from under the work")
			open()
			free(t, x, s)
		})
	}
}

func TestChunkOfAClosedStreamGoesAtOnce(t *testing.T) {
	d := openHost(t, 1, 0)
	p := newPool(t, d)
	s, err := d.NewStream()
	require.NoError(t, err)
	x := alloc(t, p, s, 256)
	shut(t, s)
	free(t, x, s)
	require.NoError(t, s.Close())
	require.ErrorIs(t, p.ForgetStream(s), hal.ErrClosed)
	require.Zero(t, p.Stats().Reserved)
}

// What was freed on a stream that has been closed, and has nothing left to do, is as good as any.
func TestWhatAClosedStreamIsDoneWithIsGivenOut(t *testing.T) {
	for name, how := range map[string]func(p *pool.Pool, s *hal.Stream){
		"retired": func(p *pool.Pool, s *hal.Stream) { require.ErrorIs(t, p.ForgetStream(s), hal.ErrClosed) },
		"not":     func(*pool.Pool, *hal.Stream) {},
	} {
		t.Run(name, func(t *testing.T) {
			d := openHost(t, 1, 0)
			p := newPool(t, d)
			s, err := d.NewStream()
			require.NoError(t, err)
			x := alloc(t, p, s, 256)
			was := region(t, x)
			fill(t, s, x, 1)
			finish(t, s)
			free(t, x, s)
			require.NoError(t, s.Close())
			how(p, s)
			y := alloc(t, p, newStream(t, d), 256)
			require.True(t, overlap(was, region(t, y)))
			require.False(t, y.Ordered())
			require.Zero(t, p.Stats().Lost())
			free(t, y, nil)
		})
	}
}

// Streams that come and go without Retire leave nothing behind.
func TestClosedStreamsDoNotPileUp(t *testing.T) {
	d := openHost(t, 1, 0)
	p := newPool(t, d)
	s := newStream(t, d)
	live := alloc(t, p, s, 256)
	for range 2000 {
		brief, err := d.NewStream()
		require.NoError(t, err)
		x := alloc(t, p, brief, 256)
		fill(t, brief, x, 1)
		finish(t, brief)
		free(t, x, brief)
		require.NoError(t, brief.Close())
		require.LessOrEqual(t, p.Stats().Streams(), 3)
	}
	free(t, live, s)
	require.Equal(t, uint64(1), p.Stats().DeviceAllocs)
}

func TestUseOnAClosedStreamIsRefused(t *testing.T) {
	d := openHost(t, 1, 0)
	p := newPool(t, d)
	s, err := d.NewStream()
	require.NoError(t, err)
	require.NoError(t, s.Close())
	x := alloc(t, p, nil, 256)
	require.ErrorIs(t, x.RecordUse(s), hal.ErrClosed)
	require.True(t, x.Valid())
	free(t, x, nil)
	free(t, alloc(t, p, nil, 256), s)
	require.ErrorIs(t, p.ForgetStream(s), hal.ErrClosed)
	require.Zero(t, p.Stats().Streams())
}

// Where a stream cannot wait for another backend's, memory that is in use there stays out of reach.
func TestWaitThatCannotBeMadeIsNoGrant(t *testing.T) {
	for name, size := range map[string]uint64{"small": 128 * kib, "large": 256 * kib} {
		t.Run(name, func(t *testing.T) {
			d, other := masked(t, hal.CapGate|hal.CapStreamAlloc), openHost(t, 1, 0)
			p := newPool(t, d, pool.WithLimit(256*kib), pool.WithChunk(256*kib), pool.WithLarge(256*kib))
			s, a, foreign := newStream(t, d), newStream(t, d), newStream(t, other)
			open := shut(t, foreign)
			m, err := layer.RecordShared(foreign)
			require.NoError(t, err)
			defer m.Close()
			var all []pool.Block
			for range 256 * kib / size {
				all = append(all, alloc(t, p, a, size))
			}
			for i, x := range all {
				if i == 0 {
					require.NoError(t, x.KeepUntil(m))
					free(t, x, nil)
				} else {
					free(t, x, foreign)
				}
			}
			for range 2 {
				_, err = p.Alloc(s, hal.KindDevice, size)
				require.ErrorIs(t, err, hal.ErrOutOfMemory)
			}
			open()
			finish(t, foreign)
			x := alloc(t, p, s, 256*kib-1)
			require.False(t, x.Ordered())
			require.Zero(t, p.Stats().Waits())
			free(t, x, foreign)
			open = shut(t, foreign)
			_, err = p.Alloc(s, hal.KindDevice, 256*kib-1)
			if err == nil {
				t.Fatal("given out although the stream that freed it has not come so far")
			}
			open()
		})
	}
}
