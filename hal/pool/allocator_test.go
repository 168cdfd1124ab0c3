package pool_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/layer"
)

func TestDirectKeepsMemoryForWorkUnderWay(t *testing.T) {
	for how, tell := range map[string]func(x pool.Block, busy *hal.Stream) (on *hal.Stream, err error){
		"freed on": func(x pool.Block, busy *hal.Stream) (*hal.Stream, error) { return busy, nil },
		"used on":  func(x pool.Block, busy *hal.Stream) (*hal.Stream, error) { return nil, x.RecordUse(busy) },
		"mark": func(x pool.Block, busy *hal.Stream) (*hal.Stream, error) {
			m, err := layer.RecordShared(busy)
			require.NoError(t, err)
			defer m.Close()
			return nil, x.KeepUntil(m)
		},
	} {
		t.Run(how, func(t *testing.T) {
			d := openHost(t, 1, 64*mib)
			s, busy := newStream(t, d), newStream(t, d)
			shut(t, busy)
			x := alloc(t, pool.Direct(d), s, 1000)
			on, err := tell(x, busy)
			require.NoError(t, err)
			free(t, x, on)
			require.EqualValues(t, 1000, d.Usage().Held)
		})
	}
}

func TestDirectRefusesWhatIsNotItsOwn(t *testing.T) {
	d, other := openHost(t, 1, 0), openHost(t, 2, 0)
	_, err := pool.Direct(d).Alloc(newStream(t, other), hal.KindDevice, 1)
	require.ErrorIs(t, err, hal.ErrWrongDevice)
}

// The pool takes large blocks of device memory from the vendor's stream-ordered allocator.
func TestLargeBlocksComeInStreamOrderWhereTheVendorCan(t *testing.T) {
	d := openHost(t, 1, 0)
	s := newStream(t, d)
	for name, row := range map[string]struct {
		opts    []pool.Option
		kind    hal.Kind
		stream  *hal.Stream
		size    uint64
		ordered bool
	}{
		"large":     {nil, hal.KindDevice, s, 8 * mib, true},
		"small":     {nil, hal.KindDevice, s, 8 * kib, false},
		"no stream": {nil, hal.KindDevice, nil, 8 * mib, false},
		"host":      {nil, hal.KindHost, s, 8 * mib, false},
		"off":       {[]pool.Option{pool.WithoutStreamAlloc()}, hal.KindDevice, s, 8 * mib, false},
	} {
		p := newPool(t, d, row.opts...)
		b, err := p.Alloc(row.stream, row.kind, row.size)
		require.NoError(t, err)
		require.Equal(t, row.ordered, b.Ordered(), name)
		free(t, b, row.stream)
	}
}
