package pool_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

// wrapped is an allocator of a program's own around another.
type wrapped struct{ pool.Allocator }

func (w *wrapped) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (pool.Block, error) {
	b, err := w.Allocator.Alloc(stream, kind, size)
	if err != nil {
		return pool.Block{}, err
	}
	return b.From(w), nil
}

// Every allocator keeps the rules of the interface, also one that a program has wrapped.
func TestAllocatorsKeepTheRules(t *testing.T) {
	d := openHost(t, 1, 64*mib)
	s, busy := newStream(t, d), newStream(t, d)
	p := newPool(t, d)
	all := map[string]pool.Allocator{
		"pool": p, "direct": pool.Direct(d), "wrapped": &wrapped{p}, "wrapped twice": &wrapped{&wrapped{p}},
		"callbacks": pool.Callbacks(d, func(_ *hal.Stream, kind hal.Kind, size uint64) (*hal.Memory, error) {
			own, err := d.Alloc(kind, size, 0) // stands for the memory manager of a program
			if err != nil {
				return nil, err
			}
			return d.Import(hal.ExternalMemory{Kind: kind, Handle: own.Handle(), Size: size, Release: func() { _ = own.Close() }})
		}),
	}
	for name, a := range all {
		t.Run(name, func(t *testing.T) {
			before, held := p.Stats().Blocks, d.Usage().Held
			empty := [2]pool.Block{alloc(t, a, s, 0), alloc(t, a, s, 0)}
			require.NotEqual(t, empty[0].From(nil), empty[1].From(nil))
			for _, b := range empty {
				require.True(t, b.Valid())
				require.Zero(t, b.Size())
				fill(t, s, b, 3)
				require.NoError(t, b.RecordUse(busy))
				require.NoError(t, a.Free(b, s))
				require.ErrorIs(t, a.Free(b, s), hal.ErrClosed)
			}
			x, y := alloc(t, a, s, 300), alloc(t, a, s, 5000)
			require.False(t, overlap(region(t, x), region(t, y)))
			require.Equal(t, uint64(300), x.Size())
			require.GreaterOrEqual(t, x.Capacity(), x.Size())
			other := newPool(t, d)
			foreign := alloc(t, other, s, 1)
			require.ErrorIs(t, a.Free(foreign, s), hal.ErrInvalidArgument)
			free(t, foreign, s)
			require.NoError(t, other.Close())
			fill(t, s, x, 1)
			fill(t, s, y, 2)
			m, err := layer.RecordShared(busy)
			require.NoError(t, err)
			require.NoError(t, x.KeepUntil(m))
			m.Close()
			require.ErrorIs(t, a.Free(pool.Block{}, s), hal.ErrClosed)
			if name != "direct" {
				require.ErrorIs(t, pool.Direct(d).Free(x, s), hal.ErrInvalidArgument)
			}
			require.NoError(t, a.Free(x, s))
			free(t, y, s)
			require.ErrorIs(t, a.Free(x, s), hal.ErrClosed)
			require.ErrorIs(t, y.Free(nil), hal.ErrClosed)
			_, err = x.Region()
			require.ErrorIs(t, err, hal.ErrClosed)
			_, err = a.Alloc(s, hal.KindDevice, 1<<40)
			require.ErrorIs(t, err, hal.ErrOutOfMemory)
			require.Equal(t, before, p.Stats().Blocks)
			finish(t, s)
			p.Trim(0)
			require.Eventually(t, func() bool { return d.Usage().Held <= held }, 10*time.Second, time.Millisecond, "memory was lost")
		})
	}
}

// Memory that is not what was asked for is refused.
func TestCallbacksThatReturnOtherMemory(t *testing.T) {
	d := openHost(t, 1, 64*mib)
	small := func(*hal.Stream, hal.Kind, uint64) (*hal.Memory, error) { return fixture.Memory(t, d, 8), nil }
	none := func(*hal.Stream, hal.Kind, uint64) (*hal.Memory, error) { return nil, nil }
	for _, alloc := range []func(*hal.Stream, hal.Kind, uint64) (*hal.Memory, error){small, none} {
		_, err := pool.Callbacks(d, alloc).Alloc(nil, hal.KindDevice, 16)
		require.ErrorIs(t, err, hal.ErrInvalidArgument)
	}
}
