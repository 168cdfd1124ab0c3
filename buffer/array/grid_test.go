package array_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/hal"
)

func TestGrid(t *testing.T) {
	a := counted(t, array.RowMajor, 3, 4)
	gaps := view(t)(a.Slice(array.All().By(2), array.Between(1, 3)))
	require.NoError(t, gaps.Update(ctx, func(g array.Accessor[int32]) error {
		row, err := g.Row(1)
		require.NoError(t, err)
		require.Equal(t, []int32{9, 10}, row)
		require.Equal(t, 2, cap(row), "a row leads to nothing else")
		row[0] = -9
		for n, p := range g.All() {
			if n == 1 {
				break
			}
			require.Equal(t, int32(1), *p)
		}
		_, err = g.Slice()
		require.ErrorIs(t, err, hal.ErrUnsupported)
		return put(g, []int32{-1, -3, -2, -4})
	}))
	require.Equal(t, []int32{0, -1, -3, 3, 4, 5, 6, 7, 8, -2, -4, 11}, values(t, a))

	rows := view(t)(a.Slice(array.Between(1, 3)))
	require.NoError(t, rows.View(ctx, func(g array.Accessor[int32]) error {
		s, err := g.Slice()
		require.NoError(t, err)
		require.Equal(t, []int32{4, 5, 6, 7, 8, -2, -4, 11}, s)
		require.Equal(t, 8, cap(s))
		return nil
	}))
	one := made(t)(array.From([]int32{42}))
	require.NoError(t, one.Update(ctx, func(g array.Accessor[int32]) error {
		v, err := g.At()
		require.NoError(t, err)
		require.Equal(t, int32(42), v)
		_, err = g.Row()
		require.ErrorIs(t, err, hal.ErrInvalidArgument)
		for n, p := range g.All() {
			require.Zero(t, n)
			*p++
		}
		return nil
	}))
	require.Equal(t, []int32{43}, values(t, one))
}

func TestGridRefusesBadInput(t *testing.T) {
	a := counted(t, array.RowMajor, 2, 3)
	var kept array.Accessor[int32]
	require.NoError(t, a.View(ctx, func(g array.Accessor[int32]) error {
		kept = g
		for name, c := range map[string]struct{ err, kind error }{
			"too few":       {second(g.At(1)), hal.ErrInvalidArgument},
			"behind":        {second(g.At(0, 3)), hal.ErrOutOfRange},
			"before":        {second(g.At(-1, 0)), hal.ErrOutOfRange},
			"Set in a View": {g.Set(1, 0, 0), hal.ErrInvalidArgument},
			"Row: no index": {second(g.Row()), hal.ErrInvalidArgument},
			"Row: behind":   {second(g.Row(2)), hal.ErrOutOfRange},
		} {
			require.ErrorIs(t, c.err, c.kind, name)
		}
		return nil
	}))
	require.NoError(t, view(t)(a.Transpose()).Update(ctx, func(g array.Accessor[int32]) error {
		_, err := g.Row(0)
		require.ErrorIs(t, err, hal.ErrUnsupported)
		require.ErrorIs(t, g.Set(1, 3, 0), hal.ErrOutOfRange)
		require.ErrorIs(t, g.Set(1, 0), hal.ErrInvalidArgument)
		return nil
	}))
	require.Equal(t, []int32{0, 1, 2, 3, 4, 5}, values(t, a))

	var zero array.Accessor[int32]
	for name, g := range map[string]array.Accessor[int32]{"kept": kept, "zero": zero} {
		for method, err := range map[string]error{
			"At": second(g.At(0, 0)), "Set": g.Set(9, 0, 0), "Slice": second(g.Slice()), "Row": second(g.Row(0)),
		} {
			require.ErrorIs(t, err, hal.ErrClosed, "%s %s", name, method)
		}
		for range g.All() {
			t.Fatal("an element of an access that has ended")
		}
	}
}

func TestGridElementsDoNotAllocate(t *testing.T) {
	a := counted(t, array.RowMajor, 2, 3)
	require.NoError(t, a.Update(ctx, func(g array.Accessor[int32]) error {
		require.Zero(t, testing.AllocsPerRun(100, func() {
			v, err := g.At(1, 2)
			if err != nil || g.Set(v+1, 1, 2) != nil {
				t.Fatal(err)
			}
			if _, err := g.Row(1); err != nil {
				t.Fatal(err)
			}
		}))
		return nil
	}))
	require.False(t, slices.Contains(values(t, a), 5))
}
