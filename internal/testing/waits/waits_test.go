package waits

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/everydevice"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/half"
)

const blocks = 5

// together runs a kernel as Go does: each thread calls it, and the functions in it, and waits at their barriers.
func together(f func(grid.Thread)) {
	for i := range uint32(blocks) {
		b := &kernel.Block{Index: [3]uint32{i, 0, 0}, Size: [3]uint32{width, 1, 1}, Grid: [3]uint32{blocks, 1, 1}}
		grid.RunTogether(b, f)
	}
}

func numbers[T grid.Number](n int) []T {
	list := make([]T, n)
	state := uint32(1)
	for i := range list {
		state = state*1664525 + 1013904223
		list[i] = T(state>>20) / 3
	}
	return list
}

// check compares what a kernel has stored on a device with what it stores as Go.
func check[T grid.Number](t *testing.T, want []T, got *halyard.Buffer[T]) {
	t.Helper()
	values := got.Values()
	for i, v := range want {
		if !assert.Equal(t, v, values[i], "element %d of %d", i, len(want)) {
			return
		}
	}
}

func supported(t *testing.T, q *halyard.Queue) {
	t.Helper()
	if err := q.Err(); errors.Is(err, hal.ErrUnsupported) {
		t.Skip(err) // simulated drivers run no code
	}
}

// A kernel that calls functions with barriers is, on each device, what it is as Go.
func TestFunctionsWithBarriers(t *testing.T) {
	const n = blocks * width
	g := hal.Blocks(blocks).Of(width)
	t.Run("sums", func(t *testing.T) {
		x, want := numbers[float32](n-7), make([]float32, 2*blocks)
		together(func(t grid.Thread) { sums(t, x, want) })
		everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
			y := halyard.New[float32](q, 2*blocks)
			Sums(q.Grid(g), halyard.From(q, x), y)
			supported(t, q)
			check(t, want, y)
		})
	})
	t.Run("int32", func(t *testing.T) { scanned[int32](t, g) })
	t.Run("uint64", func(t *testing.T) { scanned[uint64](t, g) })
	t.Run("types", func(t *testing.T) { typed[int32](t, g); typed[float32](t, g) })
	t.Run("sorts", func(t *testing.T) {
		x, want, swapped := numbers[uint32](n), make([]uint32, n), make([]int32, n)
		together(func(t grid.Thread) { sorts(t, x, want, swapped) })
		for i := range want[1:] {
			assert.True(t, (i+1)%width == 0 || want[i] <= want[i+1], i)
		}
		everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
			y, swaps := halyard.New[uint32](q, n), halyard.New[int32](q, n)
			Sorts(q.Grid(g), halyard.From(q, x), y, swaps)
			supported(t, q)
			check(t, want, y)
			check(t, swapped, swaps)
		})
	})
	t.Run("turns", func(t *testing.T) {
		x, want, passed := numbers[float32](n), make([]float32, n), make([]int32, n)
		together(func(t grid.Thread) { turns(t, -3, x, want, passed) })
		everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
			y, times := halyard.New[float32](q, n), halyard.New[int32](q, n)
			Turns(q.Grid(g), -3, halyard.From(q, x), y, times)
			supported(t, q)
			check(t, want, y)
			check(t, passed, times)
		})
	})
}

// A kernel with barriers in conditions that are the same for all threads of a block is, on each device, what it is as Go.
func TestConditionalBarriers(t *testing.T) {
	count, x := []int32{3, 1, 0, 2, 7}, numbers[float32](blocks*width)
	for _, most := range []int32{2, 3} {
		want := make([]float32, len(x))
		together(func(t grid.Thread) { chooses(t, most, count, x, want) })
		everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
			y := halyard.New[float32](q, len(x))
			Chooses(q.Grid(hal.Blocks(blocks).Of(width)), most, halyard.From(q, count), halyard.From(q, x), y)
			supported(t, q)
			check(t, want, y)
		})
	}
}

func typed[T interface{ int32 | float32 }](t *testing.T, g hal.Grid) {
	x, want := numbers[T](blocks*width), make([]float32, blocks*width)
	together(func(t grid.Thread) { types(t, x, want) })
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		y := halyard.New[float32](q, len(x))
		Types(q.Grid(g), halyard.From(q, x), y)
		supported(t, q)
		check(t, want, y)
	})
}

func scanned[T interface{ int32 | uint64 }](t *testing.T, g hal.Grid) {
	count, most := []int32{2, 0, 3, 1, 2}, blocks*width*3
	x, want := numbers[T](most), make([]T, most)
	together(func(t grid.Thread) { scans(t, x, count, want) })
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		y := halyard.New[T](q, most)
		Scans(q.Grid(g), halyard.From(q, x), halyard.From(q, count), y)
		supported(t, q)
		check(t, want, y)
	})
}

// Operations of blocks and groups give on each device what they give as Go, with blocks that are no multiple of a group. A block that is larger than they take
// is refused, and nothing is changed.
func TestOperationsOfBlocks(t *testing.T) {
	for _, size := range []int{1, 31, 64, 100, 256} {
		x := numbers[float32](3*size - min(size-1, 7))
		halves, sums, places := make([]half.Float16, 3), make([]complex64, 3), make([]int32, 3*size)
		for i := range uint32(3) {
			b := &kernel.Block{Index: [3]uint32{i, 0, 0}, Size: [3]uint32{uint32(size), 1, 1}, Grid: [3]uint32{3, 1, 1}}
			grid.RunTogether(b, func(t grid.Thread) { combined(t, x, halves, sums, places) })
		}
		everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
			h, s, p := halyard.New[half.Float16](q, 3), halyard.New[complex64](q, 3), halyard.New[int32](q, 3*size)
			Combined(q.Grid(hal.Blocks(3).Of(size)), halyard.From(q, x), h, s, p)
			supported(t, q)
			assert.Equal(t, halves, h.Values())
			assert.Equal(t, sums, s.Values())
			assert.Equal(t, places, p.Values())
			err := CombinedOn(t.Context(), q.Stream(), hal.Blocks(1).Of(1025), halyard.From(q, x), h, s, p)
			assert.ErrorIs(t, err, hal.ErrInvalidArgument)
			assert.ErrorContains(t, err, "kernel combined")
			assert.ErrorContains(t, err, "1024")
			assert.Equal(t, places, p.Values())
		})
	}
}
