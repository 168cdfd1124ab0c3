//go:build cuda && hip && opencl && linux

package fleet

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/model"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
)

var ctx = context.Background()

// required reports whether the environment forbids to do without a backend.
func required(name string) bool {
	return slices.Contains(strings.FieldsFunc(os.Getenv("HALYARD_REQUIRE"), func(r rune) bool { return r == ',' || r == ' ' }), name)
}

func open(t *testing.T, name string) *hal.Device {
	t.Helper()
	d, err := hal.Open(ctx, name)
	require.NoError(t, err)
	return d
}

// TestEveryBackendAtOnce runs the seeded model over all places, once per seed. The simulated drivers run work in any
// order that streams and events allow, and report what a real driver would forgive.
func TestEveryBackendAtOnce(t *testing.T) {
	const all = uint64(1000)
	seeds := all
	if testing.Short() {
		seeds = 100
	}
	sail(t, seeds, func(rng *rand.Rand, label string, lo, hi int) int { return lo + rng.IntN(hi-lo+1) }, 64, 30, false)
	t.Logf("did %d of %d seeds", seeds, all)
}

// TestEveryBackendAtOnceWithPools has replicas share the memory of a pool on each device.
func TestEveryBackendAtOnceWithPools(t *testing.T) {
	const all = uint64(300)
	seeds := all
	if testing.Short() {
		seeds = 50
	}
	sail(t, seeds, func(rng *rand.Rand, label string, lo, hi int) int { return lo + rng.IntN(hi-lo+1) }, 64, 30, true)
	t.Logf("did %d of %d seeds", seeds, all)
}

// TestLongVoyage runs ten thousand actions on one buffer of many intervals.
func TestLongVoyage(t *testing.T) {
	sail(t, 1, func(rng *rand.Rand, label string, lo, hi int) int {
		switch {
		case label == "elements" || label == "operations":
			return hi
		case label == "hi" && rng.IntN(4) > 0:
			hi = min(hi, lo+16) // mostly short ranges
		}
		return lo + rng.IntN(hi-lo+1)
	}, 2000, 10_000, false)
}

func sail(t *testing.T, seeds uint64, draw func(rng *rand.Rand, label string, lo, hi int) int, elements, actions int, pooled bool) {
	t.Helper()
	sims := cudahiptest.Simulate(t)
	// OpenCL's devices are real, know no seeds, and stay open.
	var always []*hal.Device
	for _, r := range hal.List(ctx) {
		if r.Backend != "opencl" {
			continue
		}
		if r.Err != nil {
			require.False(t, required("opencl"), "required: %v", r.Err)
			t.Logf("without OpenCL: %v", r.Err)
		}
		for _, info := range r.Devices {
			always = append(always, open(t, info.Name()))
		}
	}
	discrete, err := hal.OpenWith(ctx, host.New(host.Options{Name: "far", Discrete: 1}), 1)
	require.NoError(t, err)
	always = append(always, open(t, "host:0"), discrete)
	defer func() {
		for _, d := range always {
			require.NoError(t, d.Close())
		}
	}()

	failed := 0
	for seed := uint64(1); seed <= seeds && failed < 3; seed++ {
		if !one(t, seed, sims, always, draw, elements, actions, pooled) {
			failed++
		}
	}
	t.Logf("%d seeds of up to %d actions over %d devices", seeds, actions, len(always)+3)
}

func one(t *testing.T, seed uint64, sims []cudahiptest.Simulated, always []*hal.Device,
	draw func(*rand.Rand, string, int, int) int, elements, actions int, pooled bool) (ok bool) {
	t.Helper()
	for _, c := range sims {
		require.NoError(t, c.Reset(seed))
	}
	f := model.Fleet{Devices: slices.Clone(always)}
	for _, name := range []string{"cuda:0", "cuda:1", "hip:0"} {
		d := open(t, name)
		require.True(t, d.Info().Simulated)
		f.Devices = append(f.Devices, d)
	}
	for _, d := range f.Devices {
		var pair []*hal.Stream
		for range 2 {
			s, err := d.NewStream()
			require.NoError(t, err)
			pair = append(pair, s)
		}
		f.Streams = append(f.Streams, pair)
	}
	var pools []*pool.Pool
	if pooled {
		for i, d := range f.Devices {
			p, err := pool.New(d, pool.WithChunk(4<<10), pool.WithLarge(1<<(6+(seed+uint64(i))%4)))
			require.NoError(t, err)
			buffer.SetAllocator(d, p)
			pools = append(pools, p)
		}
	}
	rng := rand.New(rand.NewPCG(seed, 0x4a11a4d))
	p := model.Generate(func(label string, lo, hi int) int { return draw(rng, label, lo, hi) }, f, elements, actions)
	require.NoError(t, model.Run[uint16](ctx, f, p), "seed %d: %s", seed, p)
	for i, p := range pools {
		buffer.SetAllocator(f.Devices[i], nil)
		require.NoError(t, p.Close())
	}
	for i, d := range f.Devices {
		for _, s := range f.Streams[i] {
			require.NoError(t, s.Close())
		}
		if !slices.Contains(always, d) {
			require.NoError(t, d.Close())
		}
	}
	for _, c := range sims {
		for _, v := range c.Violations() {
			t.Errorf("seed %d: the simulated driver's rules were broken: %s", seed, v)
		}
		for _, l := range c.Leaks() {
			t.Errorf("seed %d: still alive in the simulated driver: %s", seed, l)
		}
	}
	return !t.Failed()
}
