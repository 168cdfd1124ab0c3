package pool_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// Many goroutines share streams and a pool that is short of memory, while others trim, retire, report
// and try to close. Every block is written and read by its owner; the race detector sees two owners of host
// memory, and the contents show two owners of device memory.
func TestManyGoroutines(t *testing.T) {
	d := openHost(t, 0, 0)
	p := newPool(t, d, pool.WithLimit(3*mib), pool.WithChunk(256*kib), pool.WithLarge(64*kib), pool.WithMaxCached(mib))
	streams := []*hal.Stream{newStream(t, d), newStream(t, d), newStream(t, d)}
	anchor := alloc(t, p, nil, 100) // so that Close always fails
	var work, nuisance sync.WaitGroup
	stop := make(chan struct{})
	for i, disturb := range []func(){
		func() { p.Trim(256 * kib) },
		func() { assert.NoError(t, p.ForgetStream(streams[rand.IntN(len(streams))])) },
		func() { p.Stats() },
		func() { assert.ErrorIs(t, p.Close(), hal.ErrBusy) },
	} {
		nuisance.Add(1)
		go func() {
			defer nuisance.Done()
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				disturb()
				if n%(8<<i) == 0 { // let the others have the locks
					p.Stats()
				}
			}
		}()
	}
	const goroutines, rounds = 12, 400
	for i := range goroutines {
		work.Add(1)
		go func() {
			defer work.Done()
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for range rounds {
				size := 1 + r.Uint64N(100*kib)
				if r.IntN(3) > 0 {
					size = 1 + r.Uint64N(2*kib)
				}
				var err error
				if i%2 == 0 {
					err = useOnHost(p, size, byte(i))
				} else {
					err = useOnStream(p, streams[r.IntN(len(streams))], size, byte(i))
				}
				if err != nil && !errors.Is(err, hal.ErrOutOfMemory) {
					assert.NoError(t, err)
					return
				}
			}
		}()
	}
	work.Wait()
	close(stop)
	nuisance.Wait()
	free(t, anchor, nil)
	st := p.Stats()
	require.Zero(t, st.Blocks)
	require.Zero(t, st.Live)
	require.Zero(t, st.Asked)
	require.Zero(t, st.Lost())
}

var errShared = errors.New("somebody else wrote to the block")

func useOnHost(p *pool.Pool, size uint64, v byte) error {
	b, err := p.Alloc(nil, hal.KindHost, size)
	if err != nil {
		return err
	}
	r, err := b.Region()
	if err != nil {
		return err
	}
	all, err := r.Mem.Bytes()
	if err != nil {
		return err
	}
	mine := all[r.Off:][:r.Len]
	for i := range mine {
		mine[i] = v
	}
	if bytes.Count(mine, []byte{v}) != len(mine) {
		return errShared
	}
	return b.Free(nil)
}

func useOnStream(p *pool.Pool, s *hal.Stream, size uint64, v byte) error {
	b, err := p.Alloc(s, hal.KindDevice, size)
	if err != nil {
		return err
	}
	r, err := b.Region()
	if err != nil {
		return err
	}
	out := make([]byte, size)
	err = errors.Join(s.Fill(r, hal.Pattern8(v)), s.CopyOut(out, r))
	if err = errors.Join(err, b.Free(s), s.Sync(ctx)); err != nil {
		return err
	}
	if bytes.Count(out, []byte{v}) != len(out) {
		return errShared
	}
	return nil
}

// Close succeeds at a moment when nothing is live, and at no other.
func TestCloseAmongManyGoroutines(t *testing.T) {
	for range 30 {
		d := openHost(t, 0, 0)
		s := newStream(t, d)
		p, err := pool.New(d)
		require.NoError(t, err)
		var work sync.WaitGroup
		for i := range 4 {
			work.Add(1)
			go func() {
				defer work.Done()
				stream := s
				if i%2 == 0 {
					stream = nil
				}
				for {
					b, err := p.Alloc(stream, hal.KindDevice, 300)
					if errors.Is(err, hal.ErrClosed) {
						return
					}
					if !assert.NoError(t, err) {
						return
					}
					r, err := b.Region()
					assert.NoError(t, err)
					assert.NotZero(t, r.Mem.Handle(), "the memory is closed")
					assert.NoError(t, b.Free(stream))
				}
			}()
		}
		for {
			if err = p.Close(); !errors.Is(err, hal.ErrBusy) {
				break
			}
		}
		require.NoError(t, err)
		work.Wait()
		require.Zero(t, d.Usage().Held)
	}
}

// Of many that free one block at once, on streams of their own, exactly one succeeds.
func TestOnlyOneFreeSucceeds(t *testing.T) {
	d := openHost(t, 0, 0)
	p := newPool(t, d)
	streams := []*hal.Stream{nil, newStream(t, d)}
	for range 20000 {
		b := alloc(t, p, nil, 300)
		errs := make(chan error, len(streams))
		var ready atomic.Int32
		for _, s := range streams {
			go func() {
				ready.Add(1)
				for spun := 1; int(ready.Load()) < len(streams); spun++ {
					if spun%1000 == 0 {
						runtime.Gosched()
					}
				}
				errs <- b.Free(s)
			}()
		}
		succeeded := 0
		for range cap(errs) {
			if err := <-errs; err == nil {
				succeeded++
			} else {
				require.ErrorIs(t, err, hal.ErrClosed)
			}
		}
		require.Equal(t, 1, succeeded)
	}
	require.Zero(t, p.Stats().Blocks)
}

// A free lands in one lane or another; wherever that is, the next allocation finds it.
func TestGoroutinesOnOneStreamShareWhatTheyFree(t *testing.T) {
	d := openHost(t, 0, 0)
	p, s := newPool(t, d), newStream(t, d)
	const goroutines, rounds, each = 16, 300, 4
	var done sync.WaitGroup
	for range goroutines {
		done.Add(1)
		go func() {
			defer done.Done()
			for range rounds {
				var mine [each]pool.Block
				for i := range mine {
					b, err := p.Alloc(s, hal.KindDevice, 8*mib)
					if !assert.NoError(t, err) {
						return
					}
					mine[i] = b
				}
				for _, b := range mine {
					assert.NoError(t, b.Free(s))
				}
			}
		}()
	}
	done.Wait()
	require.LessOrEqual(t, p.Stats().DeviceAllocs, uint64(goroutines*each))
}
