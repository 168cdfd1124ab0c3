package array_test

import (
	"bytes"
	"encoding/gob"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/buffer/encode/npy"
	"github.com/go-halyard/halyard/hal"
)

func fileOf[T any](t testing.TB, fortran bool, shape []int, data []T) []byte {
	t.Helper()
	f, err := npy.Append(nil, fortran, shape, data)
	require.NoError(t, err)
	return f
}

func TestFilesKeepShapeAndOrder(t *testing.T) {
	for _, a := range []*array.Array[int32]{
		counted(t, array.RowMajor, 2, 3, 4), counted(t, array.ColumnMajor, 2, 3, 4), counted(t, array.RowMajor),
		counted(t, array.RowMajor, 7), view(t)(counted(t, array.RowMajor, 5, 6).Slice(array.All().By(-2), array.Between(1, 4))),
	} {
		var file bytes.Buffer
		n, err := a.WriteNPY(ctx, &file)
		require.NoError(t, err)
		require.Equal(t, int64(file.Len()), n)
		binary, err := a.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, file.Bytes(), binary)
		b := made(t)(array.ReadNPY[int32](iotest.OneByteReader(&file)))
		require.Equal(t, a.Shape(), b.Shape())
		require.Equal(t, values(t, a), values(t, b))
		order, _ := a.Order()
		require.True(t, b.IsContiguous(order))

		var c array.Array[int32]
		require.NoError(t, c.UnmarshalBinary(binary))
		require.Equal(t, a.Shape(), c.Shape())
		require.Equal(t, values(t, a), values(t, &c))
		require.NoError(t, c.Close())
	}
}

func TestFilesInTheOtherByteOrder(t *testing.T) {
	head, err := npy.Header{Type: npy.Type{Kind: 'f', Size: 8}, BigEndian: true, Shape: []int{2}}.Append(nil)
	require.NoError(t, err)
	file := append(head, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0)
	a, err := array.ReadNPY[float64](bytes.NewReader(file))
	require.NoError(t, err)
	defer a.Close()
	got, err := a.Values(ctx)
	require.NoError(t, err)
	require.Equal(t, []float64{1.5, -2}, got)
}

func TestBadFilesAreRefused(t *testing.T) {
	good := fileOf(t, false, []int{2, 2}, []int32{1, 2, 3, 4})
	huge, err := npy.Header{Type: npy.Type{Kind: 'i', Size: 4}, Shape: []int{math.MaxInt / 8}}.Append(nil)
	require.NoError(t, err)
	broken := errors.New("broken")
	a := made(t)(array.From([]int32{9, 9, 9, 9}, 2, 2))
	before := a.State()
	for _, c := range []struct {
		name string
		file []byte
		kind error
	}{
		{"empty", nil, io.ErrUnexpectedEOF},
		{"not npy", []byte(strings.Repeat("x", 200)), hal.ErrInvalidArgument},
		{"header cut", good[:60], io.ErrUnexpectedEOF},
		{"elements cut", good[:len(good)-1], io.ErrUnexpectedEOF},
		{"elements missing", good[:128], io.ErrUnexpectedEOF},
		{"promises too much", append(huge, 1, 2, 3), io.ErrUnexpectedEOF},
		{"another type", fileOf(t, false, []int{2, 2}, []float32{1, 2, 3, 4}), hal.ErrInvalidArgument},
		{"another size", fileOf(t, false, []int{2, 2}, []int64{1, 2, 3, 4}), hal.ErrInvalidArgument},
		{"too many axes", fileOf(t, false, append(make([]int, 0), ones(array.MaxRank+1)...), []int32{1}), hal.ErrUnsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := array.ReadNPY[int32](bytes.NewReader(c.file))
			require.ErrorIs(t, err, c.kind)
			require.ErrorIs(t, a.UnmarshalBinary(c.file), c.kind)
			var none array.Array[int32]
			require.ErrorIs(t, none.UnmarshalBinary(c.file), c.kind)
			require.Zero(t, none.Len())
		})
	}
	require.ErrorIs(t, a.UnmarshalBinary(append(good, 0)), hal.ErrInvalidArgument, "more than the elements")
	require.ErrorIs(t, a.UnmarshalBinary(fileOf(t, false, []int{4}, []int32{1, 2, 3, 4})), hal.ErrInvalidArgument, "another shape")
	_, err = array.ReadNPY[int32](io.MultiReader(bytes.NewReader(good[:130]), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken)
	_, err = array.ReadNPY[int32](iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)
	require.Equal(t, before, a.State())
	require.Equal(t, []int32{9, 9, 9, 9}, values(t, a))

	n, err := a.WriteNPY(ctx, &limited{n: 130, err: broken})
	require.ErrorIs(t, err, broken)
	require.Equal(t, int64(130), n)
}

func ones(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = 1
	}
	return s
}

// limited is a writer that fails after n bytes.
type limited struct {
	n   int
	err error
}

func (w *limited) Write(p []byte) (int, error) {
	if len(p) > w.n {
		n := w.n
		w.n = 0
		return n, w.err
	}
	w.n -= len(p)
	return len(p), nil
}

func TestUnmarshalInEitherOrder(t *testing.T) {
	a := counted(t, array.RowMajor, 2, 3)
	v := view(t)(a.Transpose())
	require.NoError(t, v.UnmarshalBinary(fileOf(t, false, []int{3, 2}, []int32{1, 2, 3, 4, 5, 6})))
	require.Equal(t, []int32{1, 3, 5, 2, 4, 6}, values(t, a))
	require.NoError(t, v.UnmarshalBinary(fileOf(t, true, []int{3, 2}, []int32{1, 2, 3, 4, 5, 6})))
	require.Equal(t, []int32{1, 2, 3, 4, 5, 6}, values(t, a))
}

func TestGobCarriesArrays(t *testing.T) {
	type record struct {
		Name string
		Data *array.Array[float32]
	}
	a, err := array.From([]float32{1, float32(math.Inf(-1)), 3}, 3, 1)
	require.NoError(t, err)
	defer a.Close()
	var wire bytes.Buffer
	require.NoError(t, gob.NewEncoder(&wire).Encode(record{"x", a}))
	var r record
	require.NoError(t, gob.NewDecoder(&wire).Decode(&r))
	defer r.Data.Close()
	require.Equal(t, []int{3, 1}, r.Data.Shape())
	got, err := r.Data.Values(ctx)
	require.NoError(t, err)
	require.Equal(t, []float32{1, float32(math.Inf(-1)), 3}, got)
}

func FuzzUnmarshalBinary(f *testing.F) {
	f.Add(fileOf(f, false, []int{2, 2}, []int16{1, 2, 3, 4}))
	f.Add(fileOf(f, true, []int{2, 3}, []int16{1, 2, 3, 4, 5, 6}))
	f.Add(fileOf(f, true, nil, []int16{1}))
	f.Add(fileOf(f, false, []int{0}, []int16{}))
	f.Add([]byte("\x93NUMPY\x02\x00\x40\x00\x00\x00{'descr': '>i2', 'fortran_order': True, 'shape': (1L, 1L), }  \n\x00\x01"))
	f.Fuzz(func(t *testing.T, file []byte) {
		var a array.Array[int16]
		err := a.UnmarshalBinary(file)
		b, berr := array.ReadNPY[int16](bytes.NewReader(file))
		if err != nil {
			var e *hal.Error
			require.ErrorAs(t, err, &e)
			require.Zero(t, a.Len())
			if berr == nil {
				require.NoError(t, b.Close()) // bytes behind the elements
			}
			return
		}
		require.NoError(t, berr)
		defer a.Close()
		defer b.Close()
		want, err := a.Values(ctx)
		require.NoError(t, err)
		got, err := b.Values(ctx)
		require.NoError(t, err)
		require.Equal(t, want, got)
		again, err := a.MarshalBinary()
		require.NoError(t, err)
		var c array.Array[int16]
		require.NoError(t, c.UnmarshalBinary(again))
		defer c.Close()
		require.Equal(t, a.Shape(), c.Shape())
		require.True(t, a.IsContiguous(array.RowMajor) == c.IsContiguous(array.RowMajor))
		got, err = c.Values(ctx)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}
