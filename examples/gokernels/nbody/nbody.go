// Package nbody moves bodies that attract each other.
package nbody

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import (
	"math"

	"github.com/go-halyard/halyard/kernel/grid"
)

const block = 64 // threads of a block

// body is a place and a mass. In a buffer it is four numbers.
type body struct{ X, Y, Z, Mass float32 }

// read returns body i.
func read(bodies []float32, i int) body {
	return body{bodies[4*i], bodies[4*i+1], bodies[4*i+2], bodies[4*i+3]}
}

// step moves some bodies for the time dt, beginning with body number first of old, which has all of them. now has those that move, after
// it, and v has three numbers for each: its velocity. A block reads the bodies in pieces, which its threads share.
//
//halyard:kernel
func step(t grid.Thread, dt float32, first int32, old, v []float32, now grid.Out[float32]) {
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
			pull := o.Mass / float32(d*root(d))
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

// root is a square root, which Go rounds correctly.
func root(x float32) float32 { return float32(math.Sqrt(float64(x))) }
