package main

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/examples/internal/everytest"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

// The FFT is the sum that it stands for, and there and back are n times the numbers.
func TestTransform(t *testing.T) {
	const columns = 3
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		q := halyard.On(t.Context(), stream)
		for _, n := range []int{2, 4, 8, 32, 64} {
			r := rand.New(rand.NewPCG(uint64(n), 1))
			re, im := make([]float32, planes*n*columns), make([]float32, planes*n*columns)
			for i := range re {
				re[i], im[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
			}
			p, x := newPlan(q, n, columns), complexes{halyard.From(q, re), halyard.From(q, im)}
			room := newComplexes(q, len(re))
			y := p.transform(q, x, room)
			gotRe, gotIm := y.re.Values(), y.im.Values()
			back := p.back(q, y, other(y, [2]complexes{x, room}))
			backRe, backIm := back.re.Values(), back.im.Values()
			if q.Err() != nil {
				break
			}
			for i := range re {
				plane, k, column := i/(n*columns), i/columns%n, i%columns
				sum := complex128(0)
				for j := range n {
					from := (plane*n+j)*columns + column
					sum += complex(float64(re[from]), float64(im[from])) * cmplx.Rect(1, -2*math.Pi*float64(j*k%n)/float64(n))
				}
				require.InDelta(t, real(sum), gotRe[i], 1e-4, "number %d of %d", k, n)
				require.InDelta(t, imag(sum), gotIm[i], 1e-4, "number %d of %d", k, n)
				require.InDelta(t, re[i], backRe[i]/float32(n), 1e-5)
				require.InDelta(t, im[i], backIm[i]/float32(n), 1e-5)
			}
		}
		return q.Close()
	})
}

// A cube demagnetises itself by a third, the parts of any cell's tensor add up to 1, and far away a cell is a dipole.
func TestTensor(t *testing.T) {
	cube := between([3]float64{}, [3]float64{2, 2, 2})
	assert.InDeltaSlice(t, []float64{1. / 3, 1. / 3, 1. / 3, 0}, cube[:], 1e-12)
	own := between([3]float64{}, [3]float64{3, 2, 1})
	assert.InDelta(t, 1, own[0]+own[1]+own[2], 1e-12)
	assert.Less(t, own[0], own[1])
	x, y, r, volume := 30.0, 20.0, math.Hypot(30, 20), 6.0
	far := between([3]float64{x, y, 0}, [3]float64{3, 2, 1})
	dipole := []float64{r*r - 3*x*x, r*r - 3*y*y, r * r, -3 * x * y}
	for c, d := range dipole {
		assert.InDelta(t, d/(r*r), far[c]*4*math.Pi*math.Pow(r, 3)/volume, 0.02, "part %d", c)
	}
}

// exact is the magnet in plain Go: float64, sums over all pairs of cells, and the classical method of Runge and Kutta with short steps.
type exact struct {
	*Magnet
	m [][3]float64
}

// field returns the effective field of each cell in units of Ms, and the energy of all in J.
func (g exact) field(m [][3]float64) (fields [][3]float64, energy float64) {
	unit := mu0 * g.Ms
	for i := range m {
		x, y := i/g.NY, i%g.NY
		var h [3]float64
		along := m[i][0]*g.Axis[0] + m[i][1]*g.Axis[1] + m[i][2]*g.Axis[2]
		for c := range h {
			h[c] = g.MuH[c]/unit + 2*g.K/(unit*g.Ms)*along*g.Axis[c]
		}
		for j := range m {
			dx, dy := x-j/g.NY, y-j%g.NY
			n := between([3]float64{float64(dx) * g.Cell[0], float64(dy) * g.Cell[1], 0}, g.Cell)
			h[0] -= n[0]*m[j][0] + n[3]*m[j][1]
			h[1] -= n[3]*m[j][0] + n[1]*m[j][1]
			h[2] -= n[2] * m[j][2]
			if dx*dx+dy*dy == 1 {
				length := g.Cell[0]
				if dx == 0 {
					length = g.Cell[1]
				}
				for c := range h {
					h[c] += 2 * g.A / (unit * g.Ms * length * length) * (m[j][c] - m[i][c])
				}
			}
		}
		fields = append(fields, h)
		for c, v := range m[i] {
			energy -= v * (h[c] + g.MuH[c]/unit) / 2 * mu0 * g.Ms * g.Ms * g.Cell[0] * g.Cell[1] * g.Cell[2]
		}
	}
	return fields, energy
}

func (g exact) motion(m [][3]float64) [][3]float64 {
	k, _ := g.field(m)
	for i, h := range k {
		turn := cross(m[i], h)
		damp := cross(m[i], turn)
		for c := range h {
			k[i][c] = -gamma0 * g.Ms / (1 + g.Damping*g.Damping) * (turn[c] + g.Damping*damp[c])
		}
	}
	return k
}

func cross(a, b [3]float64) [3]float64 {
	return [3]float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}

func (g exact) run(seconds float64, steps int) {
	dt := seconds / float64(steps)
	at := func(k [][3]float64, f float64) [][3]float64 {
		m := make([][3]float64, len(g.m))
		for i := range m {
			for c := range m[i] {
				m[i][c] = g.m[i][c] + f*dt*k[i][c]
			}
		}
		return m
	}
	for range steps {
		k1 := g.motion(g.m)
		k2 := g.motion(at(k1, 0.5))
		k3 := g.motion(at(k2, 0.5))
		k4 := g.motion(at(k3, 1))
		for i := range g.m {
			for c := range g.m[i] {
				g.m[i][c] += dt / 6 * (k1[i][c] + 2*k2[i][c] + 2*k3[i][c] + k4[i][c])
			}
		}
	}
}

// Each cell of a small magnet, with all kinds of fields, moves as in plain Go, and has that energy.
func TestMotion(t *testing.T) {
	magnet := func() *Magnet {
		return &Magnet{NX: 5, NY: 3, Cell: [3]float64{4e-9, 5e-9, 3e-9}, Ms: 8e5, A: 1.3e-11, K: 1e5, Axis: [3]float64{0.6, 0, 0.8},
			Damping: 0.1, MuH: [3]float64{0.1, -0.2, 0.3}, Tolerance: 1e-5}
	}
	const seconds = 4e-12
	want := exact{magnet(), make([][3]float64, 15)}
	for i := range want.m {
		want.m[i] = [3]float64{0.6, 0.8, 0}
	}
	want.run(seconds, 20)
	_, energy := want.field(want.m)
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		q, g := halyard.On(t.Context(), stream), magnet()
		g.Place(q, [3]float64{3, 4, 0})
		g.state.Set(step, 1) // too long, so it is tried again with less
		g.Run(seconds)
		made, tried := g.Steps()
		m, got := g.m.Values(), g.Energy()
		if err := q.Close(); err != nil {
			return err
		}
		assert.Greater(t, tried, made)
		assert.InEpsilon(t, energy, got, 1e-3)
		for i, v := range want.m {
			for c, x := range v {
				assert.InDelta(t, x, m[c*len(want.m)+i], 1e-4, "part %d of cell %d", c, i)
			}
		}
		return nil
	})
}

// The s-state and the first tenth of a nanosecond are those that the program prints with -cells 16. All vectors keep the length 1, and
// damping takes energy.
func TestProblem4(t *testing.T) {
	if os.Getenv(kernel.EnvCheck) != "" {
		t.Skip("TestMotion has run the kernels in checking mode")
	}
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		if b := stream.Device().Info().Backend; b == "cuda" || b == "hip" {
			t.Skip("it may be simulated, and interpret each instruction")
		}
		q, g := halyard.On(t.Context(), stream), permalloy(16)
		relax(q, g)
		still := g.Average()
		g.MuH = reversals[0].muH
		energies := []float64{g.Energy()}
		for range 5 {
			g.Run(2e-11)
			energies = append(energies, g.Energy())
		}
		moved, m := g.Average(), g.m.Values()
		if err := q.Close(); err != nil {
			return err
		}
		assert.InDeltaSlice(t, []float64{0.9816, 0.0929, 0}, still[:], 5e-4)
		assert.InDeltaSlice(t, []float64{0.5992, 0.6351, -0.0767}, moved[:], 2e-3)
		assert.IsDecreasing(t, energies)
		for i := range g.NX * g.NY {
			x, y, z := float64(m[i]), float64(m[i+g.NX*g.NY]), float64(m[i+2*g.NX*g.NY])
			assert.InDelta(t, 1, math.Sqrt(x*x+y*y+z*z), 1e-6, "cell %d", i)
		}
		return nil
	})
}

// The first field reverses the film as others have published.
func TestPublished(t *testing.T) {
	if testing.Short() {
		t.Skip("a nanosecond takes seconds")
	}
	if os.Getenv(kernel.EnvCheck) != "" {
		t.Skip("TestMotion has run the kernels in checking mode")
	}
	q, g, r := halyard.Open(t.Context(), "host"), permalloy(64), &reversals[0]
	relax(q, g)
	g.MuH = r.muH
	for i := range r.published {
		g.Run(1e-10)
		assert.LessOrEqual(t, r.beyond(i, g.Average()), 0.01, "after %d tenths of a nanosecond", i+1)
	}
	require.NoError(t, q.Close())
}

// A run that cannot go on ends with an error.
func TestNotANumber(t *testing.T) {
	q, g := halyard.Open(t.Context(), "host"), permalloy(8)
	g.Place(q, [3]float64{}) // which has no direction
	g.Run(1e-12)
	require.ErrorContains(t, q.Close(), "no step is exact enough")
}
