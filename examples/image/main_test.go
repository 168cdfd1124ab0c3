package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/examples/internal/every"
	"github.com/go-halyard/halyard/examples/internal/everytest"
	"github.com/go-halyard/halyard/hal"
)

// Every pixel is that of plain Go.
func TestEdgesAreExact(t *testing.T) {
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		for _, size := range [][2]int{{1, 1}, {101, 67}, {2, 40}} {
			m := discs(size[0], size[1])
			q := halyard.On(t.Context(), stream)
			got, _ := run(q, m)
			if err := q.Close(); err != nil {
				return err
			}
			assert.Equal(t, plain(m), got, "%v", size)
		}
		return nil
	})
}

// The picture goes to the device, the edges come back, and nothing else moves; and nothing at all where device and host share memory.
func TestOnlyTheEndsAreCopied(t *testing.T) {
	t.Setenv("HALYARD_CHECK", "")
	t.Setenv("HALYARD_HOST_DEVICES", "1")
	for name, each := range map[string]uint64{"host:0": 0, "host:1": 4 + 1} {
		streams, closeAll, err := every.Streams(t.Context(), name)
		if !assert.NoError(t, err) {
			return
		}
		q := halyard.On(t.Context(), streams[0])
		_, copied := run(q, discs(40, 30))
		assert.NoError(t, q.Close())
		assert.Equal(t, each*40*30, copied, name)
		assert.NoError(t, closeAll())
	}
}
