package gokernels

import (
	"math"

	"github.com/go-halyard/halyard/kernel/grid"
)

// body is a place and a mass. In a buffer it is four numbers.
type body struct{ X, Y, Z, Mass float32 }

func read(bodies []float32, i int) body {
	return body{bodies[4*i], bodies[4*i+1], bodies[4*i+2], bodies[4*i+3]}
}

// move moves some bodies by dt, from the first on; v and now are of these alone. The threads of a block read the bodies in pieces that they share.
//
//halyard:kernel
func move(t grid.Thread, first int32, old, v []float32, now grid.Out[float32], dt float32) {
	piece := grid.Shared[[block]body](t)
	i, me, n := t.Global(0), t.Local(0), len(old)/4
	var b body
	if i < len(now)/4 {
		b = read(old, int(first)+i)
	}
	ax, ay, az := float32(0), float32(0), float32(0)
	for from := 0; from < n; from += block {
		piece[me] = body{}
		if from+me < n {
			piece[me] = read(old, from+me)
		}
		t.Barrier()
		for k := 0; k < block; k++ {
			o := piece[k]
			dx, dy, dz := o.X-b.X, o.Y-b.Y, o.Z-b.Z
			d := float32(dx*dx) + float32(dy*dy) + float32(dz*dz) + 0.01
			pull := o.Mass / float32(d*float32(math.Sqrt(float64(d))))
			ax += float32(dx * pull)
			ay += float32(dy * pull)
			az += float32(dz * pull)
		}
		t.Barrier()
	}
	if i < len(now)/4 {
		v[3*i] += float32(ax * dt)
		v[3*i+1] += float32(ay * dt)
		v[3*i+2] += float32(az * dt)
		now[4*i] = b.X + float32(v[3*i]*dt)
		now[4*i+1] = b.Y + float32(v[3*i+1]*dt)
		now[4*i+2] = b.Z + float32(v[3*i+2]*dt)
		now[4*i+3] = b.Mass
	}
}
