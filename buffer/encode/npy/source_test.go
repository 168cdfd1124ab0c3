package npy_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer/encode/npy"
	"github.com/go-halyard/halyard/buffer/pipeline"
	"github.com/go-halyard/halyard/hal"
)

// drained reads a source to its end, in chunks of n elements.
func drained(t *testing.T, r io.Reader, n int) (all []int16, err error) {
	t.Helper()
	h, read, err := npy.Source[int16](r)
	require.NoError(t, err)
	require.Equal(t, []int{2, 5}, h.Shape)
	var source pipeline.Source[int16] = read
	for {
		chunk := make([]int16, n)
		k, err := source(t.Context(), chunk)
		all = append(all, chunk[:k]...)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		require.Positive(t, k)
	}
}

func TestSource(t *testing.T) {
	want := []int16{1, 2, 3, 4, 5, 6, 7, 8, 9, -10}
	whole, err := npy.Append(nil, false, []int{2, 5}, want)
	require.NoError(t, err)
	other := []byte(file(1, "{'descr': '>i2', 'fortran_order': False, 'shape': (2, 5), }\n"))
	other, err = binary.Append(other, binary.BigEndian, want)
	require.NoError(t, err)
	for _, text := range [][]byte{whole, other} {
		for _, n := range []int{1, 3, 5, 10, 100} {
			for name, r := range map[string]io.Reader{
				"all":    bytes.NewReader(text),
				"byte":   iotest.OneByteReader(bytes.NewReader(text)),
				"at end": iotest.DataErrReader(bytes.NewReader(text)),
			} {
				got, err := drained(t, r, n)
				require.NoError(t, err, "%s, %d at once", name, n)
				require.Equal(t, want, got, "%s, %d at once", name, n)
			}
			for _, cut := range []int{1, 2, 19, 20} {
				got, err := drained(t, bytes.NewReader(text[:len(text)-cut]), n)
				require.ErrorIs(t, err, hal.ErrInvalidArgument)
				require.ErrorIs(t, err, io.ErrUnexpectedEOF)
				require.ErrorContains(t, err, "states 20 bytes")
				require.True(t, slices.Equal(want[:len(got)], got))
				has := map[int]string{1: "the file has 19:", 2: "has 18:", 19: "has 1:", 20: "has 0:"}[cut]
				require.ErrorContains(t, err, has)
			}
			_, err := drained(t, bytes.NewReader(append(bytes.Clone(text), "xyz"...)), n)
			require.ErrorIs(t, err, hal.ErrInvalidArgument)
			require.ErrorContains(t, err, "states 20 bytes of elements, for shape [2 5], but the file has 23")
			_, err = drained(t, io.MultiReader(bytes.NewReader(text), endless{}), n)
			require.ErrorContains(t, err, "the file has at least 65556")
		}
	}
}

// endless is a stream without an end.
type endless struct{}

func (endless) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// silent is a stream that gives nothing and no error.
type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

func TestSourceRefuses(t *testing.T) {
	whole, err := npy.Append(nil, false, []int{2, 5}, make([]int16, 10))
	require.NoError(t, err)
	_, _, err = npy.Source[int32](bytes.NewReader(whole))
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	_, _, err = npy.Source[int16](bytes.NewReader(whole[:20]))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)

	head := whole[:len(whole)-20]
	own := errors.New("the disk is on fire")
	_, err = drained(t, io.MultiReader(bytes.NewReader(head), iotest.ErrReader(own)), 4)
	require.ErrorIs(t, err, own)
	_, err = drained(t, io.MultiReader(bytes.NewReader(whole), iotest.ErrReader(own)), 4)
	require.ErrorIs(t, err, own)
	_, err = drained(t, io.MultiReader(bytes.NewReader(head), silent{}), 4)
	require.ErrorIs(t, err, io.ErrNoProgress)
	_, err = drained(t, io.MultiReader(bytes.NewReader(whole), silent{}), 4)
	require.ErrorIs(t, err, io.ErrNoProgress)

	why := errors.New("why")
	over, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	_, read, err := npy.Source[int16](bytes.NewReader(whole))
	require.NoError(t, err)
	_, err = read(over, make([]int16, 4))
	require.ErrorIs(t, err, why)
}

// A file of no elements has a source that ends at once.
func TestSourceOfNothing(t *testing.T) {
	none, err := npy.Append(nil, false, []int{0, 5}, []int16{})
	require.NoError(t, err)
	_, read, err := npy.Source[int16](bytes.NewReader(none))
	require.NoError(t, err)
	for range 2 {
		n, err := read(t.Context(), make([]int16, 4))
		require.Zero(t, n)
		require.Equal(t, io.EOF, err)
	}
}
