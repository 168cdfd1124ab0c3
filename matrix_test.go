package halyard_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/small"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

// A launch takes buffers of every kind as rows and columns.
func TestMatrices(t *testing.T) {
	q := open(t)
	x, y := halyard.From(q, []float32{1, 2, 3, 4, 5, 6}).InRows(3), halyard.New[float32](q, 6).InRows(3)
	require.Equal(t, []int{2, 3, 6}, []int{x.Rows(), x.Cols(), x.Len()})
	small.Mirror(q, x, y)
	require.Equal(t, []float32{3, 2, 1, 6, 5, 4}, y.Values())
	b, err := buffer.New[float32](6)
	require.NoError(t, err)
	small.Mirror(q, y, kernel.InRows(b, 3))
	a, err := array.New[float32](3, 2)
	require.NoError(t, err)
	small.Mirror(q, x.Slice(0, 6).InRows(2), kernel.InRows(a, a.Shape()[1]))
	got, err := a.Values(t.Context())
	require.NoError(t, err)
	require.Equal(t, []float32{2, 1, 4, 3, 6, 5}, got)
	at, err := b.At(t.Context(), 1)
	require.NoError(t, err)
	require.EqualValues(t, 2, at)
	require.NoError(t, b.Close())
	require.NoError(t, a.Close())
	require.NoError(t, q.Close())
}

// What is not rows and columns is refused, with the line of the program, and nothing is launched.
func TestMatricesThatAreNone(t *testing.T) {
	type matrix = kernel.Matrix[float32]
	for want, made := range map[string]func(x *halyard.Buffer[float32]) matrix{
		"InRows: invalid argument: 6 elements are not whole rows of 4 columns": func(x *halyard.Buffer[float32]) matrix { return x.InRows(4) },
		"InRows: invalid argument: 6 elements are not whole rows of 0 columns": func(x *halyard.Buffer[float32]) matrix { return x.InRows(0) },
		"argument from: 6 elements are not whole rows of 4 columns":            func(x *halyard.Buffer[float32]) matrix { return kernel.InRows(x, 4) },
		"argument from: 6 elements are not whole rows of -3 columns":           func(x *halyard.Buffer[float32]) matrix { return kernel.InRows(x, -3) },
		"argument from: nil or zero buffer":                                    func(x *halyard.Buffer[float32]) matrix { return (*halyard.Matrix[float32])(nil) },
		"argument from is a nil buffer":                                        func(x *halyard.Buffer[float32]) matrix { return nil },
		"argument from: nil or zero buffer ":                                   func(x *halyard.Buffer[float32]) matrix { return kernel.InRows[float32](nil, 3) },
	} {
		q := open(t)
		x := halyard.From(q, []float32{1, 2, 3, 4, 5, 6})
		below := x.Buffer()
		small.Mirror(q, made(x), x.InRows(3))
		err := q.Err()
		assert.ErrorIs(t, err, hal.ErrInvalidArgument, want)
		assert.ErrorContains(t, err, "matrix_test.go:", want)
		assert.ErrorContains(t, err, strings.TrimSpace(want))
		v, failed := below.At(t.Context(), 0)
		assert.NoError(t, failed)
		assert.EqualValues(t, 1, v)
		_ = q.Close()
	}
}

func TestLaunchOfMatricesAllocatesNoMore(t *testing.T) {
	if raceEnabled {
		t.Skip("pools forget at random under the race detector")
	}
	q := halyard.Open(context.Background(), "host")
	x, y := halyard.New[float32](q, 6).InRows(3), halyard.New[float32](q, 6).InRows(3)
	front := func() {
		small.Mirror(q, x, y)
		q.Sync()
	}
	other, _ := launches(t)
	front()
	assert.InDelta(t, testing.AllocsPerRun(1000, other), testing.AllocsPerRun(1000, front), 0.01)
	require.NoError(t, q.Close())
}

// A test of a kernel may call it with a matrix of its own. An index outside is a panic that has both indexes.
func TestMatrixOfElements(t *testing.T) {
	m := grid.MatrixOf([]int32{1, 2, 3, 4, 5, 6}, 2, 3)
	m.Set(1, 2, m.At(0, 1)*10)
	*m.Ref(1, 0) += 5
	require.Equal(t, []int32{20, 9}, []int32{m.At(1, 2), m.At(1, 0)})
	for _, at := range [][2]int{{-1, 0}, {2, 0}, {0, -1}, {0, 3}} {
		for _, fn := range []func(){func() { m.At(at[0], at[1]) }, func() { m.Set(at[0], at[1], 1) }, func() { m.Ref(at[0], at[1]) }} {
			require.Panics(t, fn)
		}
	}
	require.PanicsWithError(t, "index 1, 3 out of range with 2 rows and 3 columns", func() { grid.OutMatrixOf([]int32{1, 2, 3, 4, 5, 6}, 2, 3).Set(1, 3, 0) })
	require.PanicsWithValue(t, "grid: 6 elements are not 2 rows of 4 columns", func() { grid.MatrixOf([]int32{1, 2, 3, 4, 5, 6}, 2, 4) })
}
