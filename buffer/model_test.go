package buffer_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/model"
)

func TestModel(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) []*hal.Device{
		"three discrete devices": func(t *testing.T) []*hal.Device { return openMany(t, "one", 3, 1, 2, 3) },
		"unified and discrete":   func(t *testing.T) []*hal.Device { return openMany(t, "one", 1, 0, 1) },
		"two backends": func(t *testing.T) []*hal.Device {
			return append(openMany(t, "one", 2, 1, 2), openMany(t, "two", 1, 0, 1)...)
		},
	} {
		for _, from := range []string{"the device", "a pool"} {
			t.Run(name+" with memory of "+from, func(t *testing.T) {
				f := model.Fleet{Devices: open(t)}
				var pools []*pool.Pool
				if from == "a pool" {
					for _, d := range f.Devices {
						p, err := pool.New(d, pool.WithChunk(4<<10), pool.WithLarge(100))
						require.NoError(t, err)
						buffer.SetAllocator(d, p)
						pools = append(pools, p)
					}
				}
				for _, d := range f.Devices {
					f.Streams = append(f.Streams, []*hal.Stream{newStream(t, d), newStream(t, d)})
				}
				rapid.Check(t, func(t *rapid.T) {
					p := model.Generate(func(label string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, label) }, f, 40, 60)
					require.NoError(t, model.Run[uint16](ctx, f, p), "%s", p)
				})
				for i, p := range pools {
					if !testing.Short() || !f.Devices[i].Info().SharesHostMemory { // a few programs may not need memory of a device that uses the host's
						require.NotZero(t, p.Stats().Reserved, "%v was not used", p)
					}
					require.NoError(t, p.Close())
				}
				for _, d := range f.Devices {
					require.Eventually(t, func() bool { return d.Usage().Held == 0 }, patience, tick, "%s holds memory", d.Name())
				}
			})
		}
	}
}
