package generic

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/everydevice"
)

func on[T Real](t *testing.T, q *halyard.Queue) {
	const n = 192
	x := make([]T, n)
	for i := range x {
		x[i] = T(i%7 + 1)
	}
	from := halyard.From(q, x)
	y, b, sums := halyard.New[T](q, n), halyard.New[uint64](q, n), halyard.New[T](q, n)
	Scale(q, T(3), from, y, b)
	Total(q.Grid(hal.Blocks(n/64).Of(64)), from, sums)
	if err := q.Err(); errors.Is(err, hal.ErrUnsupported) {
		t.Skip(err) // the device has no such type
	}
	for i, v := range x {
		part := T(0)
		for j := i / 64 * 64; j < i/64*64+64; j++ {
			part += x[j]
		}
		assert.Equal(t, 3*v+1, y.At(i))
		assert.Equal(t, bits(v), b.At(i))
		assert.Equal(t, part+2*v, sums.At(i), i)
		if t.Failed() {
			return
		}
	}
}

// A kernel is what its Go is for each type of its list, on each device.
func TestEachType(t *testing.T) {
	for name, fn := range map[string]func(*testing.T, *halyard.Queue){"float32": on[float32], "Level": on[Level], "float64": on[float64], "uint64": on[uint64]} {
		t.Run(name, func(t *testing.T) { everydevice.Run(t, fn) })
	}
}

// A value of a type that is no number is passed as a structure.
func TestValuesOfEachType(t *testing.T) {
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		x, y := halyard.New[Pair](q, 3), halyard.New[float32](q, 3)
		Fill(q, Pair{1, 2}, x)
		Fill(q, float32(3), y)
		if err := q.Err(); errors.Is(err, hal.ErrUnsupported) {
			t.Skip(err) // simulated drivers run no code
		}
		assert.Equal(t, []Pair{{1, 2}, {1, 2}, {1, 2}}, x.Values())
		assert.Equal(t, []float32{3, 3, 3}, y.Values())
	})
}

// A launch with types that are not listed is an error with the list in it.
func TestTypeThatIsNotListed(t *testing.T) {
	q := halyard.Open(t.Context(), "host")
	Convert(q, halyard.New[float64](q, 1), halyard.New[float32](q, 1))
	err := q.Close()
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	var typed *hal.Error
	require.ErrorAs(t, err, &typed)
	assert.ErrorContains(t, err, "the kernel is not for float64 float32; kernels.go:66 lists float32,Level Level,float64")
}

// A generic kernel is cut for several devices, and repeats in a step, as others do.
func TestDevicesAndSteps(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	q := halyard.Open(t.Context(), "host:1", "host:2")
	const n = 1 << 16
	from := make([]Level, n)
	for i := range from {
		from[i] = Level(i)
	}
	x, y, b := halyard.From(q, from), halyard.New[Level](q, n), halyard.New[uint64](q, n)
	step := q.Record(func(q *halyard.Queue) {
		Scale(q, Level(2), x, y, b)
		Scale(q, Level(3), y, x, b)
	})
	step.Run()
	step.Run()
	values := x.Values()
	require.NoError(t, q.Close())
	for i, v := range values {
		once := 3*(2*Level(i)+1) + 1
		require.Equal(t, 3*(2*once+1)+1, v, i)
	}
}
