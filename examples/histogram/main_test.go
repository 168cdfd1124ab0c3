package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/examples/internal/everytest"
	"github.com/go-halyard/halyard/hal"
)

// No byte is lost or counted twice, whether all are alike, so that all threads add to one element, or few, or many.
func TestCountsAreExact(t *testing.T) {
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		for _, data := range [][]byte{{255}, bell(1000), bell(100_003), bytes.Repeat([]byte{7}, 50_000)} {
			got, err := run(t.Context(), stream, data)
			if err != nil {
				return err
			}
			assert.Equal(t, plain(data), got, "%d bytes", len(data))
		}
		return nil
	})
}
