package dlpack_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/buffer/dlpack"
	"github.com/go-halyard/halyard/coherence"
)

// A tensor of no elements is lent with a null pointer, and may have any pointer when it is imported.
func TestNoElements(t *testing.T) {
	unified, discrete := openHost(t, 0), openHost(t, 1)
	empty, err := array.New[int32](3, 0)
	require.NoError(t, err)
	defer empty.Close()
	whole, err := array.From(counted(6), 2, 3)
	require.NoError(t, err)
	defer whole.Close()
	none, err := whole.Slice(array.Between(2, 2))
	require.NoError(t, err)
	for _, a := range []*array.Array[int32]{empty, none} {
		for _, opts := range [][]dlpack.ExportOption{
			nil, {dlpack.WithCopy(true)}, {dlpack.WithMode(coherence.Overwrite)},
			{dlpack.WithDevice(unified)}, {dlpack.WithDevice(discrete)}, {dlpack.WithStream(newStream(t, discrete))},
		} {
			for _, copied := range []bool{false, true} {
				m, err := dlpack.ExportArray(ctx, a, opts...)
				require.NoError(t, err)
				d, err := m.Tensor()
				require.NoError(t, err)
				require.Zero(t, d.Data())
				require.Zero(t, d.ByteOffset())
				b, got, err := dlpack.Import[int32](ctx, m, dlpack.WithCopy(copied))
				require.NoError(t, err)
				require.Equal(t, a.Shape(), got.Shape())
				require.NoError(t, b.View(ctx, func(s []int32) error { require.Empty(t, s); return nil }))
				require.NoError(t, b.Close())
				require.Zero(t, dlpack.Outstanding())
			}
		}
	}
	b, err := buffer.New[int32](0)
	require.NoError(t, err)
	m, err := dlpack.Export(ctx, b)
	require.NoError(t, err)
	require.NoError(t, m.Delete())
	require.NoError(t, b.Close())
	values, err := whole.Values(ctx)
	require.NoError(t, err)
	require.Equal(t, counted(6), values)
}
