package main

import (
	"fmt"
	"math"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/kernel/algo"
)

// Constants in SI units.
const (
	mu0    = 4e-7 * math.Pi // T m/A
	gamma0 = 2.211e5        // m/(A s)
)

// Magnet is a layer of NX×NY cells. Its vector fields have three planes, one for each of x, y and z. In a plane y is the fastest index.
type Magnet struct {
	NX, NY     int
	Cell       [3]float64 // lengths in m
	Ms         float64    // magnetisation in A/m
	A          float64    // exchange constant in J/m
	K          float64    // uniaxial anisotropy in J/m³
	Axis       [3]float64 // its direction, of length 1
	Damping    float64
	MuH        [3]float64 // mu0 times the applied field, in T
	Tolerance  float64    // the largest error of m in a cell that a step may have
	q          *halyard.Queue
	px, py     int // cells of the layer with zero padding
	inX, inY   plan
	xs, ys     [2]complexes
	tensor     *halyard.Buffer[float32]
	m, h       *halyard.Buffer[float32]
	mid, next  *halyard.Buffer[float32]
	k          [4]*halyard.Buffer[float32]
	cells      *halyard.Buffer[float32] // one number for each cell
	sum, state *halyard.Buffer[float32]
}

// powerOfTwo returns the least power of two that is at least n.
func powerOfTwo(n int) int {
	p := 2
	for p < n {
		p *= 2
	}
	return p
}

// Place puts the magnet on a queue, magnetised in one direction.
func (g *Magnet) Place(q *halyard.Queue, direction [3]float64) {
	g.q, g.px, g.py = q, powerOfTwo(2*g.NX), powerOfTwo(2*g.NY)
	n, width := g.NX*g.NY, g.px/2+1
	g.inX, g.inY = newPlan(q, g.px, g.NY), newPlan(q, g.py, width)
	for i := range 2 {
		g.xs[i], g.ys[i] = newComplexes(q, planes*g.px*g.NY), newComplexes(q, planes*g.py*width)
	}
	g.tensor = halyard.From(q, spectra(g.NX, g.NY, g.px, g.py, g.Cell))
	for _, b := range []**halyard.Buffer[float32]{&g.m, &g.h, &g.mid, &g.next, &g.k[0], &g.k[1], &g.k[2], &g.k[3]} {
		*b = halyard.New[float32](q, planes*n)
	}
	length := math.Hypot(math.Hypot(direction[0], direction[1]), direction[2])
	for c, d := range direction {
		g.m.Slice(c*n, (c+1)*n).Fill(float32(d / length))
	}
	g.cells, g.sum, g.state = halyard.New[float32](q, n), halyard.New[float32](q, 1), halyard.New[float32](q, states)
	g.state.Set(step, 1e-3)
}

func (g *Magnet) material() material {
	field, exchange := 1/(mu0*g.Ms), 2*g.A/(mu0*g.Ms*g.Ms)
	return material{
		float32(g.Damping), float32(exchange / (g.Cell[0] * g.Cell[0])), float32(exchange / (g.Cell[1] * g.Cell[1])),
		float32(2 * g.K / (mu0 * g.Ms * g.Ms)), float32(g.Axis[0]), float32(g.Axis[1]), float32(g.Axis[2]),
		float32(g.MuH[0] * field), float32(g.MuH[1] * field), float32(g.MuH[2] * field),
	}
}

// field computes h, the effective field of m. The demagnetising field is a convolution of m with the tensor, computed by FFTs in x and then in y. The
// numbers are real, so one half of the spectrum determines the other, and only one is transformed in y.
func (g *Magnet) field(of material, m *halyard.Buffer[float32]) {
	n, width := g.NX*g.NY, g.px/2+1
	x, roomX, y, roomY := g.xs[0], g.xs[1], g.ys[0], g.ys[1]
	Pad(g.q, n, g.px*g.NY, m, x.re, x.im)
	x = g.inX.transform(g.q, x, roomX)
	Transpose(g.q, g.px, g.NY, g.py, width, x.re, x.im, y.re, y.im)
	y = g.inY.transform(g.q, y, roomY)
	Multiply(g.q, g.py*width, g.tensor, y.re, y.im, float32(-1/float64(g.px*g.py)))
	y = g.inY.back(g.q, y, other(y, g.ys))
	TransposeBack(g.q, g.py, width, g.px, g.NY, y.re, y.im, roomX.re, roomX.im)
	x = g.inX.back(g.q, roomX, g.xs[0])
	Effective(g.q, g.NX, g.NY, g.px, of, m, x.re, g.h)
}

// other returns the one of two that is not x.
func other(x complexes, of [2]complexes) complexes {
	if x == of[0] {
		return of[1]
	}
	return of[0]
}

// torque computes k, the time derivative of m.
func (g *Magnet) torque(of material, m, k *halyard.Buffer[float32]) {
	g.field(of, m)
	Motion(g.q, g.NX*g.NY, of.Damping, m, g.h, k)
}

// Run computes the motion for a time in seconds. The host enqueues as many steps as it expects to need, and then reads how much time is left.
func (g *Magnet) Run(seconds float64) {
	n, of := g.NX*g.NY, g.material()
	g.state.Update(func(s []float32) {
		s[left] = float32(seconds * gamma0 * g.Ms)
		s[now] = min(s[step], s[left])
	})
	g.torque(of, g.m, g.k[0])
	ahead, before, stuck := 1, float32(0), 0
	for stuck < 20 {
		for range ahead {
			Part(g.q, 1./2, g.state, g.m, g.k[0], g.mid)
			g.torque(of, g.mid, g.k[1])
			Part(g.q, 3./4, g.state, g.m, g.k[1], g.mid)
			g.torque(of, g.mid, g.k[2])
			Whole(g.q, n, g.state, g.m, g.k[0], g.k[1], g.k[2], g.next)
			g.torque(of, g.next, g.k[3])
			Deviation(g.q, n, g.state, g.k[0], g.k[1], g.k[2], g.k[3], g.cells)
			algo.Max(g.q, g.cells, g.sum, nil)
			Steer(g.q, float32(g.Tolerance), g.sum, g.state)
			Accept(g.q, g.state, g.next, g.k[3], g.m, g.k[0])
		}
		s := g.state.Values()
		if s[left] == 0 { // also after an error
			return
		}
		if stuck++; s[left] != before {
			before, stuck = s[left], 0
		}
		ahead = max(1, min(int(s[left]/s[step])+1, 64))
	}
	g.q.Fail(fmt.Errorf("no step is exact enough, the last one of %g", g.state.At(step)))
}

// Steps returns how many steps were made, and how many were tried.
func (g *Magnet) Steps() (made, tried int) {
	s := g.state.Values()
	return int(s[steps]), int(s[tries])
}

// Average returns the average of m.
func (g *Magnet) Average() (m [3]float64) {
	n := g.NX * g.NY
	for c := range m {
		algo.Sum(g.q, g.m.Slice(c*n, (c+1)*n), g.sum)
		m[c] = float64(g.sum.At(0)) / float64(n)
	}
	return m
}

// Energy returns the energy in J.
func (g *Magnet) Energy() float64 {
	of := g.material()
	g.field(of, g.m)
	Energy(g.q, g.NX*g.NY, of, g.m, g.h, g.cells)
	algo.Sum(g.q, g.cells, g.sum)
	return float64(g.sum.At(0)) * mu0 * g.Ms * g.Ms * g.Cell[0] * g.Cell[1] * g.Cell[2]
}
