package array_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/buffer/encode"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/npy"
	f16 "github.com/go-halyard/halyard/kernel/half"
)

func fileOf[T any](t testing.TB, fortran bool, shape []int, data []T) []byte {
	t.Helper()
	var file bytes.Buffer
	_, err := npy.Write(&file, fortran, shape, data)
	require.NoError(t, err)
	return file.Bytes()
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
		b := made(t)(array.ReadNPY[int32](iotest.OneByteReader(&file)))
		require.Equal(t, a.Shape(), b.Shape())
		require.Equal(t, values(t, a), values(t, b))
		order, _ := a.Order()
		require.True(t, b.IsContiguous(order))
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
		})
	}
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

func FuzzReadNPY(f *testing.F) {
	f.Add(fileOf(f, false, []int{2, 2}, []int16{1, 2, 3, 4}))
	f.Add(fileOf(f, true, []int{2, 3}, []int16{1, 2, 3, 4, 5, 6}))
	f.Add(fileOf(f, true, nil, []int16{1}))
	f.Add(fileOf(f, false, []int{0}, []int16{}))
	f.Add([]byte("\x93NUMPY\x02\x00\x40\x00\x00\x00{'descr': '>i2', 'fortran_order': True, 'shape': (1L, 1L), }  \n\x00\x01"))
	f.Fuzz(func(t *testing.T, file []byte) {
		a, err := array.ReadNPY[int16](bytes.NewReader(file))
		if err != nil {
			var e *hal.Error
			require.ErrorAs(t, err, &e)
			return
		}
		defer a.Close()
		var again bytes.Buffer
		_, err = a.WriteNPY(ctx, &again)
		require.NoError(t, err)
		b, err := array.ReadNPY[int16](&again)
		require.NoError(t, err)
		defer b.Close()
		require.Equal(t, a.Shape(), b.Shape())
		require.True(t, a.IsContiguous(array.RowMajor) == b.IsContiguous(array.RowMajor))
		want, err := a.Values(ctx)
		require.NoError(t, err)
		got, err := b.Values(ctx)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

// Half precision and structures go into files as NumPy's float16 and records, whose fields have the same bytes.
func TestFilesOfHalfPrecisionAndOfStructures(t *testing.T) {
	type particle struct {
		At   [3]float32
		Kind uint8
		Mass f16.Float16
	}
	file := func(a interface {
		WriteNPY(context.Context, io.Writer) (int64, error)
	}) *bytes.Buffer {
		var out bytes.Buffer
		_, err := a.WriteNPY(ctx, &out)
		require.NoError(t, err)
		return &out
	}
	h, err := array.From([]f16.Float16{f16.ToFloat16(1.5), f16.ToFloat16(-2)}, 2, 1)
	require.NoError(t, err)
	defer h.Close()
	p, err := array.From([]particle{{[3]float32{1, 2, 3}, 4, f16.ToFloat16(5)}, {Kind: 6}}, 2)
	require.NoError(t, err)
	defer p.Close()
	back, err := array.ReadNPY[f16.Float16](file(h))
	require.NoError(t, err)
	defer back.Close()
	v, err := back.Values(ctx)
	require.NoError(t, err)
	require.Equal(t, []f16.Float16{f16.ToFloat16(1.5), f16.ToFloat16(-2)}, v)
	require.Equal(t, []int{2, 1}, back.Shape())
	again, err := array.ReadNPY[particle](file(p))
	require.NoError(t, err)
	defer again.Close()
	one, err := again.At(ctx, 0)
	require.NoError(t, err)
	require.Equal(t, particle{[3]float32{1, 2, 3}, 4, f16.ToFloat16(5)}, one)

	_, err = array.ReadNPY[particle](file(h))
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	_, err = array.ReadNPY[bool](file(h))
	require.ErrorIs(t, err, hal.ErrUnsupported)
	flags, err := array.New[bool](3)
	require.NoError(t, err)
	defer flags.Close()
	_, err = flags.WriteNPY(ctx, io.Discard)
	require.ErrorIs(t, err, hal.ErrUnsupported)
	bits, err := flags.Buffer()
	require.NoError(t, err)
	_, err = encode.Of(ctx, bits).WriteAt([]byte{2}, 0)
	require.ErrorIs(t, err, hal.ErrUnsupported)
	_, err = array.New[string](3)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
}
