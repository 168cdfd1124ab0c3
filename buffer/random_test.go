package buffer_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

// Several goroutines use a part each of one buffer, on two discrete devices, one that shares the host's memory, and one whose memory
// the host has to map, while replicas are evicted and other buffers want their room.
func TestRandomUseFromManyGoroutines(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	for round := range uint64(12) {
		devs := openMany(t, "one", 2, 1, 2, 0)
		d := fixture.Device(t, newHidden(), 1)
		devs = append(devs, d)
		var streams []*hal.Stream
		for _, d := range devs {
			streams = append(streams, newStream(t, d), newStream(t, d))
		}
		const workers, elems = 6, 24
		b, rival := newBuffer(t, make([]uint32, workers*elems)), newBuffer(t, make([]uint32, workers*elems))
		for _, d := range devs[:2] {
			buffer.SetBudget(d, 4*workers*elems*3/2) // room for one of the two
		}
		switch round % 3 { // that device may come first, to read or to write, or last
		case 0:
			use(t, b, streams[6], coherence.Read)
		case 1:
			fill(t, streams[6], b, 1)
		}
		c := inTime(t)
		stripes(t, b, streams, workers, 400, seed+round, func(rng *rand.Rand) error {
			var err error
			switch rng.IntN(12) {
			case 0:
				err = b.Evict(c, devs[rng.IntN(len(devs))])
			case 1:
				err = b.Evict(c, nil)
			case 2:
				err = taken(rival.Acquire(c, streams[rng.IntN(4)], coherence.ReadWrite))
			}
			switch {
			case errors.Is(err, hal.ErrOutOfMemory), errors.Is(err, coherence.ErrSoleCopy), errors.Is(err, coherence.ErrConflict):
				return nil // somebody else has what it wants
			}
			return err
		})
		require.NotZero(t, b.Stats().Copies)
		require.NotZero(t, buffer.ResidencyOf(devs[0]).Evictions+buffer.ResidencyOf(devs[1]).Evictions, "of those that made room")
	}
}
