package main

import (
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/examples/internal/everytest"
	"github.com/go-halyard/halyard/hal"
)

// plain is look in plain Go.
func plain(t *testing.T, window *array.Array[int32]) (s summary) {
	s.counts = make([]uint32, values)
	require.NoError(t, window.View(t.Context(), func(g array.Accessor[int32]) error {
		var all []int32
		columns := window.Shape()[1]
		for i, p := range g.All() {
			at := [2]int{i / columns, i % columns}
			if i == 0 || *p < s.least {
				s.least, s.leastAt = *p, at
			}
			if i == 0 || *p > s.most {
				s.most, s.mostAt = *p, at
			}
			s.counts[*p]++
			all = append(all, *p)
		}
		slices.Sort(all)
		s.median = all[len(all)/2]
		return nil
	}))
	return s
}

func TestEveryDeviceFindsTheSame(t *testing.T) {
	p, err := picture(t.Context(), 37, 53)
	require.NoError(t, err)
	defer p.Close()
	window, err := windowOf(p)
	require.NoError(t, err)
	require.Equal(t, []int{27, 28}, window.Shape())
	want := plain(t, window)
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		q := halyard.On(t.Context(), stream)
		defer q.Close()
		s, err := look(t.Context(), q, window)
		if err == nil {
			require.Equal(t, want, s)
		}
		return err
	})
}

func TestTheWindowIsWritten(t *testing.T) {
	ctx, in, out := t.Context(), filepath.Join(t.TempDir(), "in.npy"), filepath.Join(t.TempDir(), "out.npy")
	p, err := picture(ctx, 9, 11)
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, write(ctx, in, p))
	require.NoError(t, run(ctx, io.Discard, in, out))
	written, err := open(ctx, out)
	require.NoError(t, err)
	defer written.Close()
	window, err := windowOf(p)
	require.NoError(t, err)
	want, err := window.Values(ctx)
	require.NoError(t, err)
	got, err := written.Values(ctx)
	require.NoError(t, err)
	require.Equal(t, want, got)

	require.NoError(t, write(ctx, in, mustSelect(t, p)))
	require.ErrorIs(t, run(ctx, io.Discard, in, ""), hal.ErrInvalidArgument)
}

// mustSelect returns a row of a picture, which is no picture.
func mustSelect(t *testing.T, p *array.Array[int32]) *array.Array[int32] {
	row, err := p.Select(0, 1)
	require.NoError(t, err)
	return row
}
