package staging_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/staging"
)

// What goes up comes down, whatever the sizes, and no byte beside it changes.
func TestThereAndBack(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *hal.Device) {
		for _, o := range []staging.Options{{Slots: 1, SlotBytes: 4 * kib}, {Slots: 2, SlotBytes: 8 * kib}, {Slots: 16, SlotBytes: 4 * kib}, {}} {
			r := newRing(t, d, o)
			s := newStream(t, d)
			for _, n := range []int{0, 1, 4*kib - 1, 4 * kib, 4*kib + 1, 100_000, 5 << 20} {
				mem := alloc(t, d, uint64(n)+20)
				write(t, s, mem.All(), bytes.Repeat([]byte{7}, n+20))
				data := random(uint64(n), n)
				at := mem.Region(9, uint64(n))
				require.NoError(t, r.Upload(ctx, s, at, data))
				back := bytes.Repeat([]byte{3}, n+2)
				require.NoError(t, r.Download(ctx, s, back[1:n+1], at))
				require.True(t, bytes.Equal(data, back[1:n+1]), "%+v, %d bytes", o, n)
				require.Equal(t, []byte{3, 3}, []byte{back[0], back[n+1]})
				all := read(t, s, mem.All())
				require.True(t, bytes.Equal(all[9:9+n], data))
				require.Equal(t, bytes.Repeat([]byte{7}, 20), append(all[:9:9], all[9+n:]...))
			}
			require.Zero(t, r.Stats().Pageable)
			require.NotZero(t, r.Stats().Pieces)
		}
	})
}

// Every device that there is takes part; more of them come with the build tags.
func TestEveryDevice(t *testing.T) {
	infos, err := hal.Devices(ctx)
	require.NoError(t, err)
	require.NotEmpty(t, infos)
	for _, info := range infos {
		t.Run(hal.Name(info), func(t *testing.T) {
			d, err := hal.Open(ctx, hal.Name(info))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, d.Close()) })
			t.Logf("worthwhile: %t", staging.Worthwhile(d))
			require.False(t, info.Unified && staging.Worthwhile(d))
			r := newRing(t, d, staging.Options{Slots: 2, SlotBytes: 64 * kib})
			s := newStream(t, d)
			mem := alloc(t, d, 1<<20+4)
			for i := range uint64(3) {
				data, back := random(i, 1<<20), make([]byte, 1<<20)
				require.NoError(t, r.Upload(ctx, s, mem.Region(4, 1<<20), data))
				require.NoError(t, r.Download(ctx, s, back, mem.Region(4, 1<<20)))
				require.True(t, bytes.Equal(data, back))
			}
		})
	}
}

// An upload that the slots can hold does not wait for the stream, takes its place in the stream's order, and leaves its
// source free.
func TestUploadRunsAhead(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *hal.Device) {
		r := newRing(t, d, staging.Options{Slots: 4, SlotBytes: 4 * kib})
		s := newStream(t, d)
		mem := alloc(t, d, 16*kib)
		open := shut(t, s)
		data := random(1, 16*kib)
		src := bytes.Clone(data)
		require.NoError(t, s.Fill(mem.All(), hal.Pattern8(1)))
		require.NoError(t, r.Upload(ctx, s, mem.All(), src))
		clear(src)
		require.NoError(t, s.Fill(mem.Region(0, 5), hal.Pattern8(2)))
		done, err := s.Query()
		require.NoError(t, err)
		require.False(t, done)
		open()
		copy(data, []byte{2, 2, 2, 2, 2})
		require.True(t, bytes.Equal(data, read(t, s, mem.All())))
	})
}

// What TryUpload leaves out can follow on the same stream.
func TestTryUploadDoesNotWait(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *hal.Device) {
		r := newRing(t, d, staging.Options{Slots: 2, SlotBytes: 4 * kib})
		s := newStream(t, d)
		mem := alloc(t, d, 64*kib)
		open := shut(t, s)
		data := random(7, 64*kib)
		n, err := r.TryUpload(s, mem.All(), data)
		require.NoError(t, err)
		require.Equal(t, uint64(8*kib), n)
		require.NoError(t, s.CopyIn(mem.Region(n, 64*kib-n), data[n:]))
		n, err = r.TryUpload(s, mem.All(), data)
		require.NoError(t, err)
		require.Zero(t, n)
		open()
		require.True(t, bytes.Equal(data, read(t, s, mem.All())))
		n, err = r.TryUpload(s, mem.Region(0, 5), data[:5])
		require.NoError(t, err)
		require.Equal(t, uint64(5), n)
		n, err = r.TryUpload(s, mem.Region(0, 5), data[:6])
		require.ErrorIs(t, err, hal.ErrInvalidArgument)
		require.Zero(t, n)
	})
}

// When ctx ends, an upload has written a beginning, reads its source no more, and the ring goes on.
func TestUploadIsInterrupted(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *hal.Device) {
		r := newRing(t, d, staging.Options{Slots: 2, SlotBytes: 4 * kib})
		s, other := newStream(t, d), newStream(t, d)
		mem, beside := alloc(t, d, 64*kib), alloc(t, d, 64*kib)
		write(t, s, mem.All(), bytes.Repeat([]byte{9}, 64*kib))
		open := shut(t, s)
		data := random(2, 64*kib)
		src := bytes.Clone(data)
		c, cancel := context.WithCancel(ctx)
		result := make(chan error)
		go func() { result <- r.Upload(c, s, mem.All(), src) }()
		for r.Stats().Waits == 0 { // until both slots wait for the stream
			select {
			case err := <-result:
				t.Fatal("the upload did not wait: ", err)
			default:
			}
		}
		cancel()
		err := <-result
		require.ErrorIs(t, err, hal.ErrNotReady)
		require.ErrorIs(t, err, context.Canceled)
		clear(src)

		// An upload that is interrupted before it begins does nothing at all.
		require.ErrorIs(t, r.Upload(c, other, beside.All(), data), hal.ErrNotReady)

		go func() { result <- r.Upload(ctx, other, beside.All(), data) }()
		open()
		require.NoError(t, <-result)
		require.True(t, bytes.Equal(data, read(t, other, beside.All())))
		got := read(t, s, mem.All())
		require.True(t, bytes.Equal(data[:8*kib], got[:8*kib]))
		require.Equal(t, 56*kib, bytes.Count(got[8*kib:], []byte{9}))
	})
}

// When ctx ends, a download writes to its destination no more, and the ring goes on.
func TestDownloadIsInterrupted(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *hal.Device) {
		r := newRing(t, d, staging.Options{Slots: 3, SlotBytes: 4 * kib})
		s := newStream(t, d)
		mem := alloc(t, d, 64*kib)
		data := random(3, 64*kib)
		write(t, s, mem.All(), data)
		open := shut(t, s)
		dst := bytes.Repeat([]byte{5}, 64*kib)
		c, cancel := context.WithCancel(ctx)
		result := make(chan error)
		go func() { result <- r.Download(c, s, dst, mem.All()) }()
		for r.Stats().Waits == 0 {
			select {
			case err := <-result:
				t.Fatal("the download did not wait: ", err)
			default:
			}
		}
		cancel()
		err := <-result
		require.ErrorIs(t, err, hal.ErrNotReady)
		require.ErrorIs(t, err, context.Canceled)
		open()
		require.NoError(t, s.Sync(ctx))
		require.Equal(t, 64*kib, bytes.Count(dst, []byte{5}))
		require.NoError(t, r.Download(ctx, s, dst, mem.All()))
		require.True(t, bytes.Equal(data, dst))
	})
}

// Close does not wait, lets what was enqueued happen, and the device closes after it.
func TestCloseUnderWay(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *hal.Device) {
		r := newRing(t, d, staging.Options{Slots: 2, SlotBytes: 4 * kib})
		s := newStream(t, d)
		mem := alloc(t, d, 64*kib)
		data := random(4, 64*kib)
		write(t, s, mem.All(), make([]byte, 64*kib))
		open := shut(t, s)
		require.NoError(t, r.Upload(ctx, s, mem.Region(0, 4*kib), data[:4*kib]))
		results := make(chan error, 2)
		go func() { results <- r.Upload(ctx, s, mem.Region(4*kib, 60*kib), data[4*kib:]) }()
		for r.Stats().Waits == 0 {
			runtime.Gosched()
		}
		require.NoError(t, r.Close())
		require.NoError(t, r.Close())
		require.ErrorIs(t, <-results, hal.ErrClosed)
		require.ErrorIs(t, r.Upload(ctx, s, mem.All(), data), hal.ErrClosed)
		require.ErrorIs(t, r.Download(ctx, s, data, mem.All()), hal.ErrClosed)
		open()
		got := read(t, s, mem.All())
		require.True(t, bytes.Equal(data[:8*kib], got[:8*kib]))
		require.Equal(t, 56*kib, bytes.Count(got[8*kib:], []byte{0}))
		require.NoError(t, d.Reclaim(ctx))
		require.Equal(t, uint64(64*kib), d.Usage().Held, "what the slots held is given back")
	})
}

// Bad arguments are refused as the plain copy refuses them, with no effect.
func TestRefusals(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *hal.Device) {
		far := openHost(t, 2)
		r := newRing(t, d, staging.Options{})
		s := newStream(t, d)
		mem, foreign := alloc(t, d, 100), alloc(t, far, 100)
		gone := alloc(t, d, 100)
		require.NoError(t, gone.Close())
		ended := newStream(t, d)
		require.NoError(t, ended.Close())
		for _, c := range []struct {
			what   string
			stream *hal.Stream
			region hal.Region
			n      int
			kind   error
		}{
			{"no stream", nil, mem.All(), 100, hal.ErrInvalidArgument},
			{"no memory", s, hal.Region{Len: 100}, 100, hal.ErrInvalidArgument},
			{"shorter", s, mem.All(), 99, hal.ErrInvalidArgument},
			{"longer", s, mem.Region(0, 50), 51, hal.ErrInvalidArgument},
			{"beyond the end", s, mem.Region(1, 100), 100, hal.ErrOutOfRange},
			{"far beyond the end", s, mem.Region(math.MaxUint64, 2), 2, hal.ErrOutOfRange},
			{"foreign memory", s, foreign.All(), 100, hal.ErrWrongDevice},
			{"foreign stream", newStream(t, far), mem.All(), 100, hal.ErrWrongDevice},
			{"closed memory", s, gone.All(), 100, hal.ErrClosed},
			{"closed stream", ended, mem.All(), 100, hal.ErrClosed},
		} {
			b := make([]byte, c.n)
			assert.ErrorIs(t, r.Upload(ctx, c.stream, c.region, b), c.kind, c.what)
			assert.ErrorIs(t, r.Download(ctx, c.stream, b, c.region), c.kind, c.what)
		}
		require.Zero(t, r.Stats().Pieces)
		for _, o := range []staging.Options{{Slots: -1}, {Slots: 17}, {SlotBytes: 1}, {SlotBytes: 1 << 40}} {
			_, err := staging.New(d, o)
			assert.ErrorIs(t, err, hal.ErrInvalidArgument, "%+v", o)
		}
		_, err := staging.New(nil, staging.Options{})
		assert.ErrorIs(t, err, hal.ErrInvalidArgument)
		_, err = staging.Tune(ctx, nil)
		assert.ErrorIs(t, err, hal.ErrInvalidArgument)
	})
}

// Without page-locked memory everything goes through pageable memory, until there is some again.
func TestNoPageLockedMemory(t *testing.T) {
	b := newShim()
	d, err := hal.OpenWith(ctx, b, 1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	b.short.Store(true)
	r := newRing(t, d, staging.Options{Slots: 2, SlotBytes: 4 * kib})
	s := newStream(t, d)
	mem := alloc(t, d, 64*kib)
	data, back := random(5, 64*kib), make([]byte, 64*kib)
	require.NoError(t, r.Upload(ctx, s, mem.All(), data))
	require.NoError(t, r.Download(ctx, s, back, mem.All()))
	require.True(t, bytes.Equal(data, back))
	require.Equal(t, staging.Stats{Pieces: 32, Pageable: 32, Waits: r.Stats().Waits}, r.Stats())
	b.short.Store(false)
	for range 40 {
		require.NoError(t, r.Upload(ctx, s, mem.All(), data))
	}
	require.Less(t, r.Stats().Pageable, r.Stats().Pieces)
	require.True(t, bytes.Equal(data, read(t, s, mem.All())))
}

// Whatever call fails, the ring reports it, loses no slot, and gives everything back.
func TestEveryCallFails(t *testing.T) {
	for ordinal := range 2 {
		for n := int64(1); ; n++ {
			b := newShim()
			d, err := hal.OpenWith(ctx, b, ordinal)
			require.NoError(t, err)
			s, err := d.NewStream(hal.StreamOptions{})
			require.NoError(t, err)
			mem, err := d.Alloc(hal.KindDevice, 20*kib, 0)
			require.NoError(t, err)
			b.calls.Store(0)
			b.failAt.Store(n)
			data, back := random(uint64(n), 20*kib), make([]byte, 20*kib)
			r, err := staging.New(d, staging.Options{Slots: 3, SlotBytes: 4 * kib})
			if err == nil {
				if err = r.Upload(ctx, s, mem.All(), data); err == nil {
					err = r.Download(ctx, s, back, mem.All())
				}
			}
			made := b.calls.Load()
			b.failAt.Store(0)
			if err != nil {
				require.ErrorIs(t, err, hal.ErrInternal, "call %d", n)
			} else {
				require.True(t, bytes.Equal(data, back), "call %d", n)
			}
			if r != nil {
				for range 4 { // no slot is missing
					require.NoError(t, r.Upload(ctx, s, mem.All(), data))
					require.NoError(t, r.Download(ctx, s, back, mem.All()))
					require.True(t, bytes.Equal(data, back), "after call %d", n)
				}
				open := shut(t, s)
				require.NoError(t, r.Upload(ctx, s, mem.Region(0, 12*kib), data[:12*kib]))
				open()
				require.NoError(t, r.Close())
			}
			require.NoError(t, s.Sync(ctx))
			require.NoError(t, mem.Close())
			require.NoError(t, s.Close())
			require.NoError(t, d.Close())
			require.Zero(t, b.alive.Load(), "call %d: memory, streams and events that are alive", n)
			if made < n {
				require.Greater(t, n, int64(15))
				break
			}
		}
	}
}

// Many goroutines and several streams share few slots.
func TestManyAtOnce(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *hal.Device) {
		r := newRing(t, d, staging.Options{Slots: 2, SlotBytes: 4 * kib})
		streams := []*hal.Stream{newStream(t, d), newStream(t, d), newStream(t, d)}
		var wg sync.WaitGroup
		for g := range uint64(8) {
			n := 50*kib + 100*int(g)
			mem := alloc(t, d, uint64(n))
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(g, 0))
				back := make([]byte, n)
				for round := range uint64(20) {
					c, cancel := ctx, func() {}
					if g%2 == 0 {
						c, cancel = context.WithCancel(ctx)
					}
					s := streams[rng.IntN(len(streams))]
					data := random(g*100+round, n)
					err := r.Upload(c, s, mem.All(), data)
					if err == nil {
						err = r.Download(c, s, back, mem.All())
					}
					if !assert.NoError(t, err) || !assert.True(t, bytes.Equal(data, back), "goroutine %d, round %d", g, round) {
						cancel()
						return
					}
					cancel()
				}
			})
		}
		wg.Wait()
	})
}

// A call that waits for slots gets one when another call, and not a stream, gives it back.
func TestSlotsPassFromCallToCall(t *testing.T) {
	d := openHost(t, 1)
	r := newRing(t, d, staging.Options{Slots: 1, SlotBytes: 4 * kib})
	a, b := newStream(t, d), newStream(t, d)
	mem := alloc(t, d, 8*kib)
	open := shut(t, a)
	done := make(chan error, 2)
	go func() { done <- r.Download(ctx, a, make([]byte, 4*kib), mem.Region(0, 4*kib)) }()
	for r.Stats().Waits < 1 {
		runtime.Gosched()
	}
	go func() { done <- r.Upload(ctx, b, mem.Region(4*kib, 4*kib), make([]byte, 4*kib)) }()
	for r.Stats().Waits < 2 {
		runtime.Gosched()
	}
	open()
	require.NoError(t, <-done)
	require.NoError(t, <-done)
	require.NoError(t, b.Sync(ctx))
}

// A call that waits while another one is still enqueuing the work of the last slot hears of that work's end.
func TestSlotIsLeftToOneWhoWaits(t *testing.T) {
	b := newShim()
	d, err := hal.OpenWith(ctx, b, 1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	r := newRing(t, d, staging.Options{Slots: 1, SlotBytes: 4 * kib})
	s, other := newStream(t, d), newStream(t, d)
	mem := alloc(t, d, 8*kib)
	done := make(chan error, 1)
	var once sync.Once
	b.onCopy = func() {
		once.Do(func() {
			go func() { done <- r.Upload(ctx, other, mem.Region(4*kib, 4*kib), make([]byte, 4*kib)) }()
			for r.Stats().Waits < 1 {
				runtime.Gosched()
			}
		})
	}
	require.NoError(t, r.Upload(ctx, s, mem.Region(0, 4*kib), make([]byte, 4*kib)))
	require.NoError(t, <-done)
	require.NoError(t, other.Sync(ctx))
}

func TestNothingIsAllocated(t *testing.T) {
	d := openHost(t, 1)
	r := newRing(t, d, staging.Options{Slots: 2, SlotBytes: 16 * kib})
	s := newStream(t, d)
	mem := alloc(t, d, 128*kib)
	data := random(6, 128*kib)
	c, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, c := range []context.Context{ctx, c} {
		t.Run(fmt.Sprintf("%T", c), func(t *testing.T) {
			if raceEnabled {
				t.Skip("the race detector allocates")
			}
			for what, f := range map[string]func() error{
				"upload":   func() error { return r.Upload(c, s, mem.All(), data) },
				"download": func() error { return r.Download(c, s, data, mem.All()) },
			} {
				plain := testing.AllocsPerRun(100, func() {
					if s.CopyIn(mem.All(), data) != nil || s.Sync(ctx) != nil {
						t.Error("the plain copy failed")
					}
				})
				got := testing.AllocsPerRun(100, func() {
					if err := f(); err != nil {
						t.Error(err)
					}
				})
				assert.LessOrEqual(t, got, plain+0.5, what)
			}
		})
	}
}

func TestWorthwhile(t *testing.T) {
	require.False(t, staging.Worthwhile(openHost(t, 0)), "a unified device")
	require.False(t, staging.Worthwhile(openHost(t, 1)), "a processor in disguise")
	b := newShim()
	b.lacks = hal.CapPageableOrder
	d, err := hal.OpenWith(ctx, b, 1)
	require.NoError(t, err)
	require.True(t, staging.Worthwhile(d))
	require.NoError(t, d.Close())
}

func TestTune(t *testing.T) {
	d := openHost(t, 1)
	got, err := staging.Tune(ctx, d)
	require.NoError(t, err)
	require.Positive(t, got.Ring)
	require.Positive(t, got.Plain)
	newRing(t, d, got.Options)
	t.Logf("%+v", got)
	require.Zero(t, d.Usage().Pending)
	c, cancel := context.WithCancel(ctx)
	cancel()
	_, err = staging.Tune(c, d)
	require.ErrorIs(t, err, hal.ErrNotReady)
}
