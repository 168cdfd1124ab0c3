package array_test

import (
	"bytes"
	"encoding/gob"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/hal"
)

func TestGob(t *testing.T) {
	a := counted(t, array.ColumnMajor, 2, 3)
	var wire bytes.Buffer
	require.NoError(t, gob.NewEncoder(&wire).Encode(a))
	var b array.Array[int32]
	require.NoError(t, gob.NewDecoder(&wire).Decode(&b))
	defer b.Close()
	require.Equal(t, []int{2, 3}, b.Shape())
	require.Equal(t, values(t, a), values(t, &b))
	var _ gob.GobEncoder = a
	var _ gob.GobDecoder = a
	data, err := a.GobEncode()
	require.NoError(t, err)
	require.ErrorIs(t, new(array.Array[string]).GobDecode(data), hal.ErrInvalidArgument)
	require.ErrorIs(t, b.GobDecode(data), hal.ErrInvalidArgument)
	for _, bad := range [][]byte{nil, data[:1], {200, 1}, bytes.Replace(data, []byte{2, 2, 3}, []byte{2, 2, 4}, 1), append(data[:8:8], bytes.Repeat([]byte{255}, 12)...)} {
		require.ErrorIs(t, new(array.Array[int32]).GobDecode(bad), hal.ErrInvalidArgument, "%x", bad)
	}
}

// One extent may be left to Reshape.
func TestReshapeInfersAnExtent(t *testing.T) {
	a := counted(t, array.RowMajor, 2, 6)
	v, err := a.Reshape(3, -1)
	require.NoError(t, err)
	require.Equal(t, []int{3, 4}, v.Shape())
	v, err = a.Reshape(-1)
	require.NoError(t, err)
	require.Equal(t, []int{12}, v.Shape())
	none := counted(t, array.RowMajor, 0, 3)
	v, err = none.Reshape(-1, 3)
	require.NoError(t, err)
	require.Equal(t, []int{0, 3}, v.Shape())
	for _, shape := range [][]int{{5, -1}, {-1, -1}, {-2, 6}} {
		_, err = a.Reshape(shape...)
		require.ErrorIs(t, err, hal.ErrInvalidArgument, "%v", shape)
	}
	_, err = none.Reshape(0, -1)
	require.ErrorIs(t, err, hal.ErrInvalidArgument, "any extent would do")
}
