package nbody

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/examples/internal/everytest"
	"github.com/go-halyard/halyard/hal"
)

// Places and velocities are those of plain Go to the bit after some steps.
func TestStep(t *testing.T) {
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		for _, n := range []int{1, block, 150} {
			const steps, dt = 3, 0.01
			ctx, places, velocities := t.Context(), make([]float32, 4*n), make([]float32, 3*n)
			for i := range n {
				copy(places[4*i:], []float32{float32(i%13) - 6, float32(i%7) - 3, float32(i%5) / 3, 1 + float32(i%3)})
				velocities[3*i] = float32(i%4) / 9
			}
			a, e1 := buffer.From(places)
			b, e2 := buffer.New[float32](4 * n)
			v, e3 := buffer.From(velocities)
			err := errors.Join(e1, e2, e3)
			from, to := a, b
			for range steps {
				for _, part := range [][2]int{{0, n / 3}, {n / 3, n}} { // two launches, each of which moves some of the bodies
					if err == nil {
						err = move(ctx, stream, dt, part[0], part[1], from, v, to)
					}
				}
				from, to = to, from
				places = plain(places, velocities, dt)
			}
			got, speed := make([]float32, 4*n), make([]float32, 3*n)
			if err := errors.Join(err, from.CopyOut(ctx, got), v.CopyOut(ctx, speed), hal.CloseAll(a, b, v)); err != nil {
				return err
			}
			assert.Equal(t, places, got, "%d bodies", n)
			assert.Equal(t, velocities, speed, "%d bodies", n)
		}
		return nil
	})
}

// move moves the bodies [lo, hi).
func move(ctx context.Context, stream *hal.Stream, dt float32, lo, hi int, from, v, to *buffer.Buffer[float32]) error {
	speeds, e1 := v.Slice(3*lo, 3*hi)
	now, e2 := to.Slice(4*lo, 4*hi)
	if err := errors.Join(e1, e2); err != nil {
		return err
	}
	return StepOn(ctx, stream, hal.Over(hi-lo).Of(block), dt, int32(lo), from, speeds, now)
}

// plain is a step in plain Go. It changes v and returns where the bodies are.
func plain(old, v []float32, dt float32) []float32 {
	now := append([]float32(nil), old...)
	for i := range len(old) / 4 {
		var pull [3]float32
		for k := range len(old) / 4 {
			var d [3]float32
			distance := float32(0)
			for c := range d {
				d[c] = old[4*k+c] - old[4*i+c]
				distance += float32(d[c] * d[c])
			}
			distance += 0.01
			f := old[4*k+3] / float32(distance*root(distance))
			for c := range d {
				pull[c] += float32(d[c] * f)
			}
		}
		for c := range pull {
			v[3*i+c] += float32(pull[c] * dt)
			now[4*i+c] += float32(v[3*i+c] * dt)
		}
	}
	return now
}
