package main

import (
	"math"

	"github.com/go-halyard/halyard/kernel/grid"
)

// material is what a magnet is made of and what acts on it, in the units of the equations: lengths in cells, fields in the magnetisation Ms, times in
// 1/(gamma0 Ms), energies in mu0 Ms² for each cell.
type material struct {
	Damping                float32
	ExchangeX, ExchangeY   float32 // 2A/(mu0 Ms²), divided by the square of a cell's length
	Anisotropy             float32 // 2K/(mu0 Ms²)
	AxisX, AxisY, AxisZ    float32
	FieldX, FieldY, FieldZ float32 // the applied field
}

// The numbers that control the steps are in a buffer on the device, so that the host need not wait for a step before it enqueues the next.
const (
	left     = iota // time until the run ends
	step            // length of the next step, unless the run ends earlier
	now             // length of this step
	accepted        // 1 if the step before this one was exact enough, 0 if it is repeated with another length
	steps           // accepted steps
	tries           // all steps, with those that were not accepted
	states
)

// effective adds exchange, anisotropy and the applied field to the demagnetising field, whose planes are padded to px rows. The exchange field of a cell
// is the sum of the differences from its neighbours; at an edge there is none. The conversions to float32 keep Go from fusing operations, so that the
// host gives the bits that devices give.
//
//halyard:kernel
func effective(t grid.Thread, nx, ny, px int, of material, m, demag []float32, h grid.Out[float32]) {
	if y, x, c := t.Global(0), t.Global(1), t.Global(2); y < ny && x < nx && c < planes {
		n, at := nx*ny, x*ny+y
		along := float32(m[at]*of.AxisX) + float32(m[at+n]*of.AxisY) + float32(m[at+2*n]*of.AxisZ)
		field, axis := of.FieldX, of.AxisX
		if c == 1 {
			field, axis = of.FieldY, of.AxisY
		}
		if c == 2 {
			field, axis = of.FieldZ, of.AxisZ
		}
		i := c*n + at
		sum := demag[c*px*ny+at] + field + float32(float32(of.Anisotropy*along)*axis)
		if y > 0 {
			sum += float32(of.ExchangeY * (m[i-1] - m[i]))
		}
		if y < ny-1 {
			sum += float32(of.ExchangeY * (m[i+1] - m[i]))
		}
		if x > 0 {
			sum += float32(of.ExchangeX * (m[i-ny] - m[i]))
		}
		if x < nx-1 {
			sum += float32(of.ExchangeX * (m[i+ny] - m[i]))
		}
		h[i] = sum
	}
}

// pad writes the planes of m, of n numbers each, as complex numbers into larger planes, of length numbers each, and zeros behind them.
//
//halyard:kernel
func pad(t grid.Thread, n, length int, m []float32, re, im grid.Out[float32]) {
	if i, c := t.Global(0), t.Global(1); i < length && c < planes {
		re[c*length+i], im[c*length+i] = 0, 0
		if i < n {
			re[c*length+i] = m[c*n+i]
		}
	}
}

// multiply turns the Fourier transform of the magnetisation into that of the demagnetising field: a convolution is a product there.
//
//halyard:kernel
func multiply(t grid.Thread, n int, tensor, re, im []float32, scale float32) {
	if i := t.Global(0); i < n {
		xx, yy, zz, xy := scale*tensor[i], scale*tensor[i+n], scale*tensor[i+2*n], scale*tensor[i+3*n]
		mx, my := re[i], re[i+n]
		re[i], re[i+n], re[i+2*n] = float32(xx*mx)+float32(xy*my), float32(xy*mx)+float32(yy*my), float32(zz*re[i+2*n])
		mx, my = im[i], im[i+n]
		im[i], im[i+n], im[i+2*n] = float32(xx*mx)+float32(xy*my), float32(xy*mx)+float32(yy*my), float32(zz*im[i+2*n])
	}
}

// motion is the equation of Landau, Lifshitz and Gilbert: k is the time derivative of m in the field h.
//
//halyard:kernel
func motion(t grid.Thread, n int, damping float32, m, h []float32, k grid.Out[float32]) {
	if i := t.Global(0); i < n {
		mx, my, mz, hx, hy, hz := m[i], m[i+n], m[i+2*n], h[i], h[i+n], h[i+2*n]
		tx, ty, tz := float32(my*hz)-float32(mz*hy), float32(mz*hx)-float32(mx*hz), float32(mx*hy)-float32(my*hx)
		f := -1 / (1 + float32(damping*damping))
		k[i] = float32(f * (tx + float32(damping*(float32(my*tz)-float32(mz*ty)))))
		k[i+n] = float32(f * (ty + float32(damping*(float32(mz*tx)-float32(mx*tz)))))
		k[i+2*n] = float32(f * (tz + float32(damping*(float32(mx*ty)-float32(my*tx)))))
	}
}

// energy writes the energy of each cell. Fields that m itself causes count half, the applied field counts whole.
//
//halyard:kernel
func energy(t grid.Thread, n int, of material, m, h []float32, e grid.Out[float32]) {
	if i := t.Global(0); i < n {
		x := float32(m[i] * (h[i] + of.FieldX))
		y := float32(m[i+n] * (h[i+n] + of.FieldY))
		z := float32(m[i+2*n] * (h[i+2*n] + of.FieldZ))
		e[i] = -(x + y + z) / 2
	}
}

// part writes m after a fraction of the step, a stage of the method in whole.
//
//halyard:kernel
func part(t grid.Thread, fraction float32, state, m, k []float32, at grid.Out[float32]) {
	if i := t.Global(0); i < len(at) {
		at[i] = m[i] + float32(float32(fraction*state[now])*k[i])
	}
}

// whole writes m after the step, by the third-order method of Bogacki and Shampine, scaled to length 1.
//
//halyard:kernel
func whole(t grid.Thread, n int, state, m, k1, k2, k3 []float32, next grid.Out[float32]) {
	if i := t.Global(0); i < n {
		dt := state[now] / 9
		x := m[i] + float32(dt*(2*k1[i]+3*k2[i]+4*k3[i]))
		y := m[i+n] + float32(dt*(2*k1[i+n]+3*k2[i+n]+4*k3[i+n]))
		z := m[i+2*n] + float32(dt*(2*k1[i+2*n]+3*k2[i+2*n]+4*k3[i+2*n]))
		r := 1 / float32(math.Sqrt(float64(float32(x*x)+float32(y*y)+float32(z*z))))
		next[i], next[i+n], next[i+2*n] = float32(x*r), float32(y*r), float32(z*r)
	}
}

// deviation writes the square of the estimated error of each cell: how far the result of the second-order method is from that of the third-order one.
//
//halyard:kernel
func deviation(t grid.Thread, n int, state, k1, k2, k3, k4 []float32, away grid.Out[float32]) {
	if i := t.Global(0); i < n {
		dt := state[now] / 72
		x := float32(dt * (6*k2[i] + 8*k3[i] - 5*k1[i] - 9*k4[i]))
		y := float32(dt * (6*k2[i+n] + 8*k3[i+n] - 5*k1[i+n] - 9*k4[i+n]))
		z := float32(dt * (6*k2[i+2*n] + 8*k3[i+2*n] - 5*k1[i+2*n] - 9*k4[i+2*n]))
		away[i] = float32(x*x) + float32(y*y) + float32(z*z)
	}
}

// steer accepts the step if the largest deviation is within the tolerance, and chooses the length of the next one. It is a single thread.
//
//halyard:kernel
func steer(t grid.Thread, tolerance float32, worst, state []float32) {
	if i := t.Global(0); i < 1 {
		away, dt := float32(math.Sqrt(float64(worst[i]))), state[now]
		factor := max(min(0.9*float32(math.Cbrt(float64(tolerance/max(away, tolerance/1000)))), 4), 0.2)
		state[accepted] = 0
		if away <= tolerance {
			state[accepted] = 1
			state[left] -= dt
		}
		if dt > 0 {
			state[steps] += state[accepted]
			state[tries]++
			if dt == state[step] || state[accepted] == 0 { // not one that was short because the run ends
				state[step] = float32(dt * factor)
			}
		}
		state[now] = min(state[step], state[left])
	}
}

// accept copies the result of an accepted step, and its derivative, which is the first one of the next step.
//
//halyard:kernel
func accept(t grid.Thread, state, next, k4, m, k1 []float32) {
	if i := t.Global(0); i < len(m) && state[accepted] > 0 {
		m[i], k1[i] = next[i], k4[i]
	}
}
