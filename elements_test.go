package halyard_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/small"
)

// A kernel works on the fields of elements.
func ExampleFrom_structures() {
	q := halyard.Open(context.Background(), "host")
	bodies := halyard.From(q, []small.Body{
		{Speed: [2]float32{1, 2}},
		{At: [2]float32{5, 5}, Fixed: true},
	})
	small.Step(q, 0.5, bodies) // as many threads as there are bodies
	bodies.View(func(b []small.Body) { fmt.Println(b[0].At, b[1].At) })
	if err := q.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// [0.5 1] [5 5]
}

func TestElementsWithFieldsOnAQueue(t *testing.T) {
	type point struct {
		X, Y float32
		On   bool
	}
	q := open(t)
	b := halyard.From(q, []point{{1, 2, true}, {3, 4, false}})
	b.Set(1, point{X: 5})
	assert.Equal(t, "[{1 2 true} {5 0 false}]", b.String())
	b.Fill(point{On: true})
	assert.Equal(t, []point{{On: true}, {On: true}}, b.Values())
	pairs := halyard.As[[2]float32](halyard.From(q, []float32{1, 2, 3, 4}))
	assert.Equal(t, [][2]float32{{1, 2}, {3, 4}}, pairs.Values())
	require.NoError(t, q.Err())

	type named struct{ Names [2]string }
	bad := halyard.New[named](q, 3)
	require.ErrorIs(t, q.Err(), hal.ErrInvalidArgument)
	require.ErrorContains(t, q.Err(), "elements_test.go:48: ")
	require.ErrorContains(t, q.Err(), "halyard_test.named.Names[0] is of type string; an element has numbers, bool, and arrays and structures of them only")
	require.Zero(t, halyard.As[struct{}](bad).Len())
}

// Elements of every size are filled on every device that the program finds.
func TestFillOfElementsOfAnySizeOnEveryDevice(t *testing.T) {
	devices, err := hal.Devices(t.Context())
	require.NoError(t, err)
	for _, d := range devices {
		t.Log(d.Name())
		q := halyard.Open(t.Context(), d.Name())
		filled(t, q, [3]uint8{1, 2, 3})
		filled(t, q, [3]float32{1, 2, 3})
		filled(t, q, [3]uint64{1, 2, 1 << 63})
		filled(t, q, [5]float64{5, 4, 3, 2, 1})
		filled(t, q, small.Body{At: [2]float32{1, 2}, Fixed: true})
		filled(t, q, small.Body{})
		filled(t, q, 1-2i)
		filled(t, q, true)
		require.NoError(t, q.Close(), d.Name())
	}
}

func filled[T comparable](t *testing.T, q *halyard.Queue, v T) {
	x := halyard.New[T](q, 1001)
	x.Slice(1, 1000).Fill(v)
	values := x.Values()
	var zero T
	for i, got := range values {
		want := v
		if i == 0 || i == 1000 {
			want = zero
		}
		require.Equal(t, want, got, "element %d on %v", i, q)
	}
	x.Close()
}
