package main

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/examples/internal/everytest"
	"github.com/go-halyard/halyard/hal"
)

const small = 16

// solved checks that x solves the equations, by plain Go in float64. The residual, as computed step by step in float32, drifts from this one.
func solved(t *testing.T, x []float32) {
	at := func(i, j int) float64 {
		if i < 0 || j < 0 || i >= small || j >= small {
			return 0
		}
		return float64(x[i*small+j])
	}
	require.Len(t, x, small*small)
	for i := range small {
		for j := range small {
			got := 4*at(i, j) - at(i-1, j) - at(i+1, j) - at(i, j-1) - at(i, j+1)
			assert.InDelta(t, right(i, j), got, 1e-2, "row %d, column %d", i, j)
		}
	}
}

// gather runs fn on each rank, and returns the whole solution.
func gather(ranks int, fn func(c *comm.Comm) (result, error)) (whole []float32, err error) {
	var mu sync.Mutex
	whole = make([]float32, small*small)
	err = commtest.Execute(ranks, func(e comm.Engine) error {
		c := comm.New(e)
		res, err := fn(c)
		mu.Lock()
		defer mu.Unlock()
		copy(whole[res.lo*small:], res.x)
		return errors.Join(err, c.Close())
	})
	return whole, err
}

// A rank on each of some devices of the host, which have memory of their own.
func TestAnyNumberOfRanksSolves(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 7} {
		backend, file := host.New(host.Options{Name: "part", Discrete: ranks}), filepath.Join(t.TempDir(), "x.npy")
		x, err := gather(ranks, func(c *comm.Comm) (res result, err error) {
			dev, err := hal.OpenWith(t.Context(), backend, c.Rank()+1)
			if err != nil {
				return res, err
			}
			stream, err := dev.NewStream()
			if err != nil {
				return res, err
			}
			res, err = solve(t.Context(), c, stream, small, file)
			return res, errors.Join(err, hal.CloseAll(dev, stream))
		})
		require.NoError(t, err)
		solved(t, x)
		f, err := os.Open(file)
		require.NoError(t, err)
		written, err := array.ReadNPY[float32](f)
		require.NoError(t, errors.Join(err, f.Close()))
		require.Equal(t, []int{small, small}, written.Shape())
		y, err := written.Values(t.Context())
		require.NoError(t, errors.Join(err, written.Close()))
		require.Equal(t, x, y)
	}
}

// Two ranks share a device, whatever it is.
func TestEveryDeviceSolves(t *testing.T) {
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		x, err := gather(2, func(c *comm.Comm) (result, error) {
			own, err := stream.Device().NewStream()
			if err != nil {
				return result{}, err
			}
			res, err := solve(t.Context(), c, own, small, "")
			return res, errors.Join(err, own.Close())
		})
		if err == nil {
			solved(t, x)
		}
		return err
	})
}

func TestSmallGridsAreRefused(t *testing.T) {
	assert.NoError(t, commtest.Execute(3, func(e comm.Engine) error {
		c := comm.New(e)
		for _, n := range []int{-1, 0, 1, 2} {
			_, err := solve(t.Context(), c, nil, n, "")
			assert.ErrorIs(t, err, hal.ErrInvalidArgument)
		}
		return c.Close()
	}))
}
