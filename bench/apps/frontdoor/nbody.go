package main

import (
	"math"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/kernel/grid"
)

func root(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// move moves the bodies, four numbers each, for the time dt. v has the three numbers of each velocity.
//
//halyard:kernel
func move(t grid.Thread, dt float32, old, v []float32, now grid.Out[float32]) {
	if i := t.Global(0); i < len(now)/4 {
		x, y, z, ax, ay, az := old[4*i], old[4*i+1], old[4*i+2], float32(0), float32(0), float32(0)
		for k := 0; k < len(old); k += 4 {
			dx, dy, dz := old[k]-x, old[k+1]-y, old[k+2]-z
			d := dx*dx + dy*dy + dz*dz + 0.01
			pull := old[k+3] / (d * root(d))
			ax, ay, az = ax+dx*pull, ay+dy*pull, az+dz*pull
		}
		v[3*i], v[3*i+1], v[3*i+2] = v[3*i]+ax*dt, v[3*i+1]+ay*dt, v[3*i+2]+az*dt
		now[4*i], now[4*i+1], now[4*i+2], now[4*i+3] = x+v[3*i]*dt, y+v[3*i+1]*dt, z+v[3*i+2]*dt, old[4*i+3]
	}
}

func nbody() error {
	q := halyard.Open(ctx, devices...)
	now, next, v, bodies := halyard.New[float32](q, 4*n), halyard.New[float32](q, 4*n), halyard.New[float32](q, 3*n), read[float32](q)
	timed(func() {
		now.SetValues(bodies)
		v.Fill(0)
		for range steps {
			Move(q, 0.01, now, v, next)
			now, next = next, now
		}
		now.View(func([]float32) {}) // the host has the result
	})
	write(q, now.Values())
	return q.Close()
}
