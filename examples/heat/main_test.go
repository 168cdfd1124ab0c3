package main

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/examples/internal/everytest"
	"github.com/go-halyard/halyard/hal"
)

var small = plate{width: 20, height: 12, steps: 25}

// plain is the same in plain Go. The conversions forbid it to fuse.
func plain(p plate) []float32 {
	now := make([]float32, (p.height+2)*p.width)
	for x := range p.width {
		now[x] = hot
	}
	next := append([]float32(nil), now...)
	for range p.steps {
		for i := p.width; i < len(now)-p.width; i++ {
			if x := i % p.width; x == 0 || x == p.width-1 {
				continue
			}
			sum := now[i-1] + now[i+1] + now[i-p.width] + now[i+p.width] - float32(4*now[i])
			next[i] = now[i] + float32(0.2*sum)
		}
		now, next = next, now
	}
	return now[p.width : len(now)-p.width]
}

// A rank on each of some devices of the host, which have memory of their own.
func TestAnyNumberOfRanksGivesTheSameBits(t *testing.T) {
	want := plain(small)
	require.NotZero(t, want[small.width*4+5], "no heat has come to the fifth row")
	for _, ranks := range []int{1, 2, 3, 4, 12} {
		backend := host.New(host.Options{Name: "part", Discrete: ranks})
		commtest.Run(t, ranks, func(e comm.Engine) error {
			c := comm.New(e)
			dev, err := hal.OpenWith(t.Context(), backend, c.Rank()+1)
			if err != nil {
				return err
			}
			stream, err := dev.NewStream()
			if err != nil {
				return err
			}
			got, err := solve(t.Context(), c, stream, small)
			if err != nil {
				return err
			}
			if c.Rank() == 0 {
				assert.Equal(t, want, got, "%d ranks", ranks)
			} else {
				assert.Nil(t, got)
			}
			return hal.CloseAll(c, dev, stream)
		})
	}
}

// Two ranks share a device, whatever it is.
func TestEveryDeviceGivesTheSameBits(t *testing.T) {
	want := plain(small)
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		return commtest.Execute(2, func(e comm.Engine) error {
			c := comm.New(e)
			own, err := stream.Device().NewStream()
			if err != nil {
				return err
			}
			got, err := solve(t.Context(), c, own, small)
			if err == nil && c.Rank() == 0 {
				assert.Equal(t, want, got)
			}
			return errors.Join(err, hal.CloseAll(c, own))
		})
	})
}

func TestBadPlatesAreRefused(t *testing.T) {
	for _, p := range []plate{{width: 2, height: 9, steps: 1}, {width: 9, height: 2, steps: 1}, {width: 9, height: 9, steps: -1}} {
		err := commtest.Execute(3, func(e comm.Engine) error {
			c := comm.New(e)
			_, err := solve(t.Context(), c, nil, p)
			assert.ErrorIs(t, err, hal.ErrInvalidArgument)
			return c.Close()
		})
		assert.NoError(t, err)
	}
}

func TestPictureIsWritten(t *testing.T) {
	file := t.TempDir() + "/heat.png"
	require.NoError(t, commtest.Execute(2, func(e comm.Engine) error { return run(context.Background(), e, small, file) }))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.NotZero(t, info.Size())
}
