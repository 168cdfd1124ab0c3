package programs

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/stretchr/testify/assert"

	_ "github.com/go-halyard/halyard/backends"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/everydevice"
)

// A Fourier transform is near the sum that defines it, and has the same bits on all devices.
func TestFourier(t *testing.T) {
	t.Run("complex64", func(t *testing.T) { transform[complex64](t, 1e-7) })
	t.Run("complex128", func(t *testing.T) { transform[complex128](t, 1e-15) })
}

// transform compares a transform with the sum. The error may be so much of the sum of the sizes of all numbers.
func transform[T complex64 | complex128](t *testing.T, most float64) {
	const n = 256
	x, roots := make([]T, n), make([]T, n/2)
	for i := range x {
		x[i] = T(complex(math.Sin(float64(i*i)), float64(i%7)-3))
	}
	for k := range roots {
		roots[k] = T(cmplx.Rect(1, -2*math.Pi*float64(k)/n))
	}
	size, sums := 0.0, make([]complex128, n)
	for j, v := range x {
		size += cmplx.Abs(complex128(v))
		for k := range sums {
			sums[k] += complex128(v) * cmplx.Rect(1, -2*math.Pi*float64(j*k%n)/n)
		}
	}
	var first []T
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		from, to := halyard.From(q, x), halyard.New[T](q, n)
		r := halyard.From(q, roots)
		for p := 1; p < n; p *= 2 {
			Fourier(q, p, r, from, to)
			from, to = to, from
		}
		got := from.Values()
		if q.Err() != nil {
			return
		}
		for k, sum := range sums {
			assert.InDelta(t, 0, cmplx.Abs(complex128(got[k])-sum), most*size, k)
		}
		if first == nil {
			first = got // the host comes first
		}
		assert.Equal(t, first, got)
	})
}

// Each block takes as many rounds, with barriers, as its box has neighbours.
func TestPull(t *testing.T) {
	const side, boxes = 3, 27
	neighbours, near, particles := make([]int32, boxes), make([]int32, 26*boxes), make([][4]float32, boxes*inBox)
	for b := range boxes {
		x, y, z := b%side, b/side%side, b/side/side
		for other := range boxes {
			dx, dy, dz := other%side-x, other/side%side-y, other/side/side-z
			if other != b && max(dx*dx, dy*dy, dz*dz) <= 1 {
				near[26*b+int(neighbours[b])] = int32(other)
				neighbours[b]++
			}
		}
		for i := range inBox {
			at := func(k, box int) float32 { return float32(box) + float32((b*inBox+i)*k%101)/128 }
			particles[b*inBox+i] = [4]float32{at(37, x), at(53, y), at(29, z), float32(i%5) + 0.5}
		}
	}
	want, exact := make([]float32, len(particles)), make([]float64, len(particles))
	for i := range particles {
		b := i / inBox
		for _, box := range append([]int32{int32(b)}, near[26*b:][:neighbours[b]]...) {
			for _, other := range particles[box*inBox:][:inBox] {
				r := float32(0)
				for k := range 3 {
					d := particles[i][k] - other[k]
					r += float32(d * d)
				}
				if r < 1 {
					want[i] += float32(other[3] * (1 - r))
				}
			}
		}
		for _, other := range particles { // those of all boxes: what is not beside this one is farther away than 1
			r := 0.0
			for k := range 3 {
				d := float64(particles[i][k]) - float64(other[k])
				r += d * d
			}
			exact[i] += float64(other[3]) * max(1-r, 0)
		}
	}
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		sums := halyard.New[float32](q, len(particles))
		Pull(q.Grid(hal.Over(len(particles)).Of(inBox)), halyard.From(q, neighbours), halyard.From(q, near), halyard.From(q, particles), sums)
		got := sums.Values()
		if q.Err() != nil {
			return
		}
		assert.Equal(t, want, got)
		for i := range got {
			assert.InDelta(t, exact[i], got[i], 1e-4, i)
		}
	})
}
