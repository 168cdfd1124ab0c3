package main

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/part"
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

// Ranks with one and with two devices of the host each, which have memory of their own.
func TestAnyNumberOfRanksGivesTheSameBits(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	want := plain(small)
	require.NotZero(t, want[small.width*4+5], "no heat has come to the fifth row")
	for _, ranks := range []int{1, 2, 3, 4, 12} {
		for _, devices := range [][]string{{"host:1"}, {"host:1", "host:2"}} {
			assert.NoError(t, solved(t, ranks, want, devices...))
		}
	}
}

// solved solves the plate on ranks that have these devices each, and compares it with another.
func solved(t *testing.T, ranks int, want []float32, devices ...string) error {
	return commtest.Execute(ranks, func(e comm.Engine) error {
		c := comm.New(e)
		q := part.Among(t.Context(), halyard.Open(t.Context(), devices...), c)
		got := solve(q, small)
		if c.Rank() == 0 {
			if values := got.Values(); q.Err() == nil {
				assert.Equal(t, want, values, "%d ranks", ranks)
			}
		}
		return errors.Join(q.Close(), c.Close())
	})
}

// Two ranks share a device, whatever it is.
func TestEveryDeviceGivesTheSameBits(t *testing.T) {
	want := plain(small)
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		return solved(t, 2, want, stream.Device().Name())
	})
}

func TestBadPlatesAreRefused(t *testing.T) {
	for _, p := range []plate{{width: 2, height: 9, steps: 1}, {width: 9, height: 0, steps: 1}, {width: 9, height: 9, steps: -1}} {
		err := commtest.Execute(2, func(e comm.Engine) error { return run(t.Context(), e, p, "host:0", "") })
		assert.ErrorIs(t, err, hal.ErrInvalidArgument)
	}
}

func TestPictureIsWritten(t *testing.T) {
	file := t.TempDir() + "/heat.png"
	require.NoError(t, commtest.Execute(2, func(e comm.Engine) error { return run(t.Context(), e, small, "", file) }))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.NotZero(t, info.Size())
}
