package sized

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/everydevice"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

const (
	blocks = 5
	tile   = 32
	n      = blocks * tile
)

// together runs a kernel as Go does: each thread calls it, and waits at its barriers.
func together(f func(grid.Thread)) {
	for i := range uint32(blocks) {
		grid.RunTogether(&kernel.Block{Index: [3]uint32{i, 0, 0}, Size: [3]uint32{tile, 1, 1}, Grid: [3]uint32{blocks, 1, 1}}, f)
	}
}

func numbers[T uint8 | int32 | uint64 | float32](n int) []T {
	list := make([]T, n)
	state := uint32(1)
	for i := range list {
		state = state*1664525 + 1013904223
		list[i] = T(state >> 25)
	}
	return list
}

func supported(t *testing.T, q *halyard.Queue) {
	t.Helper()
	if err := q.Err(); errors.Is(err, hal.ErrUnsupported) {
		t.Skip(err) // simulated drivers run no code
	}
}

var blocked = hal.Blocks(blocks).Of(tile)

// Kernels with shared memory of the length that a launch says are, on each device, what they are as Go.
func TestLengthsOfALaunch(t *testing.T) {
	x := numbers[float32](n)
	for _, radius := range []int{0, 1, 7, 300, 1000} { // 1000 are 8128 bytes
		want := make([]float32, n)
		together(func(t grid.Thread) { blur(t, tile, radius, x, want) })
		everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
			y := halyard.New[float32](q, n)
			Blur(q.Grid(blocked), tile, radius, halyard.From(q, x), y)
			supported(t, q)
			require.NoError(t, q.Err())
			assert.Equal(t, want, y.Values(), radius)
		})
	}
}

// The memory is zero when a block begins, also where another block has used it.
func TestCountsBeginAtZero(t *testing.T) {
	x := numbers[uint8](n)
	for _, bins := range []int{1, 3, 128, 1500} {
		want := make([]uint32, bins)
		together(func(t grid.Thread) { histogram(t, x, want) })
		everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
			counts := halyard.New[uint32](q, bins)
			Histogram(q.Grid(blocked), halyard.From(q, x), counts)
			supported(t, q)
			require.NoError(t, q.Err())
			assert.Equal(t, want, counts.Values(), bins)
		})
	}
}

// The memory may be of structures, may be taken in parts, and may be beside memory of fixed length.
func TestParts(t *testing.T) {
	x := numbers[float32](n)
	for _, pairs := range []int32{0, 1, 2, 50, 64} {
		want := make([]float32, n)
		together(func(t grid.Thread) { turn(t, pairs, x, want) })
		everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
			y := halyard.New[float32](q, n)
			Turn(q.Grid(blocked), pairs, halyard.From(q, x), y)
			supported(t, q)
			require.NoError(t, q.Err())
			assert.Equal(t, want, y.Values(), pairs)
		})
	}
}

func TestTypes(t *testing.T) {
	t.Run("int32", sums[int32])
	t.Run("float32", sums[float32])
	t.Run("uint64", sums[uint64])
}

func sums[T int32 | float32 | uint64](t *testing.T) {
	x, want := numbers[T](n), make([]T, n)
	together(func(t grid.Thread) { running(t, tile, x, want) })
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		y := halyard.New[T](q, n)
		Running(q.Grid(blocked), tile, halyard.From(q, x), y)
		supported(t, q)
		require.NoError(t, q.Err())
		assert.Equal(t, want, y.Values())
	})
}

func TestFloatsOfABlock(t *testing.T) {
	x, want := numbers[float32](n), make([]float32, n)
	together(func(t grid.Thread) { sum(t, 2, x, want) })
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		y := halyard.New[float32](q, n)
		Sum(q.Grid(blocked), 2, halyard.From(q, x), y)
		supported(t, q)
		require.NoError(t, q.Err())
		assert.Equal(t, want, y.Values())
	})
}

func TestFunctionsWithBarriers(t *testing.T) {
	x := numbers[int32](n)
	for _, of := range []int{1, 7, tile} {
		want := make([]int32, blocks)
		together(func(t grid.Thread) { total(t, of, x, want) })
		everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
			y := halyard.New[int32](q, blocks)
			Total(q.Grid(blocked), of, halyard.From(q, x), y)
			supported(t, q)
			require.NoError(t, q.Err())
			assert.Equal(t, want, y.Values(), of)
		})
	}
}

// A recorded launch has the length that it was recorded with.
func TestRecorded(t *testing.T) {
	x, want := numbers[float32](n), make([]float32, n)
	together(func(t grid.Thread) { blur(t, tile, 4, x, want) })
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		from, to := halyard.From(q, x), halyard.New[float32](q, n)
		step := q.Record(func(q *halyard.Queue) { Blur(q.Grid(blocked), tile, 4, from, to) })
		supported(t, q)
		for range 2 {
			step.Run()
			assert.Equal(t, want, to.Values())
		}
		step.Close()
	})
}

// A launch that is divided among devices has the length on each of them.
func TestDivided(t *testing.T) {
	const many = 1 << 16 // small grids are not divided
	x, want := numbers[float32](many), make([]float32, many)
	for i := range want {
		list := make([]float32, 9)
		copy(list[max(0, 4-i):], x[max(0, i-4):min(many, i+5)])
		want[i] = mean(list, 0, 4)
	}
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		name := "host:1"
		if q.Device().Name() == name {
			name = "host:0"
		}
		other := halyard.Open(t.Context(), name)
		split, err := kernel.NewSplit(q.Stream(), other.Stream())
		require.NoError(t, err)
		y := halyard.New[float32](q, many)
		err = BlurOn(t.Context(), split, hal.Blocks(many/tile).Of(tile), tile, 4, halyard.From(q, x), y)
		if errors.Is(err, hal.ErrUnsupported) || errors.Is(err, hal.ErrUnavailable) {
			t.Skip(err)
		}
		require.NoError(t, err)
		assert.Equal(t, want, y.Values())
		require.NoError(t, other.Close())
	})
}

// A launch of a length that no block can have is refused, and changes nothing. The error names the line, the bytes and the limit.
func TestRefusedLengths(t *testing.T) {
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		x, y := halyard.From(q, numbers[float32](n)), halyard.From(q, numbers[float32](n))
		for length, what := range map[int]string{
			-1:        "kernels.go:102: grid.SharedSlice of -1 elements, and a length is not negative",
			1<<62 + 1: "kernels.go:102: grid.SharedSlice of 4611686018427387905 elements of 4 bytes, and it has at most 16777216 bytes",
		} {
			err := SumOn(t.Context(), q.On(), blocked, length-1, x, y)
			if errors.Is(err, hal.ErrUnsupported) {
				t.Skip(err)
			}
			require.ErrorIs(t, err, hal.ErrInvalidArgument)
			assert.ErrorContains(t, err, what)
		}
		most := int(q.Device().Info().Compute.Shared)
		if most == 0 || most > 1<<22 {
			t.Skip("the device has more shared memory than there can be")
		}
		err := TurnOn(t.Context(), q.On(), blocked, int32(most/16), x, y)
		require.ErrorIs(t, err, hal.ErrInvalidArgument)
		assert.ErrorContains(t, err, "kernels.go:54: grid.SharedSlice of ")
		assert.ErrorContains(t, err, " bytes of shared memory, and a block on the device has at most ")
		require.NoError(t, q.Err())
		assert.Equal(t, numbers[float32](n), y.Values())
	})
}

// With HALYARD_CHECK=bounds, and on the host always, an index beyond the length of the launch is an error, though there may be memory.
func TestIndexesBeyondTheLength(t *testing.T) {
	if os.Getenv("HALYARD_CHECK") != "bounds" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestIndexesBeyondTheLength$")
		again.Env = append(os.Environ(), "HALYARD_CHECK=bounds")
		out, err := again.CombinedOutput()
		require.NoError(t, err, string(out))
		return
	}
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		own := halyard.Open(t.Context(), q.Device().Name()) // which keeps the error
		Beyond(own.Grid(blocked), tile-1, halyard.New[int32](own, n))
		own.Sync()
		err := own.Close()
		if errors.Is(err, hal.ErrUnsupported) {
			t.Skip(err)
		}
		assert.ErrorContains(t, err, "31")
		assert.ErrorContains(t, err, "kernels.go:139")
	})
}
