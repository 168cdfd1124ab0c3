package main

import "math"

// newellF and newellG are the potentials of the demagnetising tensor of rectangular cells: f of its diagonal parts, here xx, and g of the others,
// here xy. The part between two cells is the second difference of a potential in all three directions. They are those of A. J. Newell, W. Williams and
// D. J. Dunlop, "A generalization of the demagnetizing tensor for nonuniform magnetization", Journal of Geophysical Research 98, 1993.
func newellF(x, y, z float64) float64 {
	x, y, z = math.Abs(x), math.Abs(y), math.Abs(z)
	r := math.Sqrt(x*x + y*y + z*z)
	f := (2*x*x - y*y - z*z) * r / 6
	if y > 0 && x+z > 0 {
		f += y / 2 * (z*z - x*x) * math.Asinh(y/math.Hypot(x, z))
	}
	if z > 0 && x+y > 0 {
		f += z / 2 * (y*y - x*x) * math.Asinh(z/math.Hypot(x, y))
	}
	if x > 0 && y > 0 && z > 0 {
		f -= x * y * z * math.Atan(y*z/(x*r))
	}
	return f
}

func newellG(x, y, z float64) float64 {
	r := math.Sqrt(x*x + y*y + z*z)
	g := -x * y * r / 3
	for _, term := range []struct{ factor, length, across float64 }{
		{x * y * z, z, math.Hypot(x, y)}, {y / 6 * (3*z*z - y*y), x, math.Hypot(y, z)}, {x / 6 * (3*z*z - x*x), y, math.Hypot(x, z)},
	} {
		if term.factor != 0 {
			g += term.factor * math.Asinh(term.length/term.across)
		}
	}
	for _, term := range []struct{ factor, over, under float64 }{
		{z * z * z / 6, x * y, z * r}, {z * y * y / 2, x * z, y * r}, {z * x * x / 2, y * z, x * r},
	} {
		if term.factor != 0 {
			g -= term.factor * math.Atan(term.over/term.under)
		}
	}
	return g
}

// between returns the parts xx, yy, zz and xy of the tensor for two cells of a size, averaged over both: the field of one at the other is minus the
// tensor times the magnetisation. The other parts are zero if both are in one layer.
func between(at, cell [3]float64) (parts [4]float64) {
	weights := [3]float64{-1, 2, -1}
	for i, wi := range weights {
		for j, wj := range weights {
			for k, wk := range weights {
				x, y, z := at[0]+float64(i-1)*cell[0], at[1]+float64(j-1)*cell[1], at[2]+float64(k-1)*cell[2]
				w := wi * wj * wk / (4 * math.Pi * cell[0] * cell[1] * cell[2])
				parts[0] += w * newellF(x, y, z)
				parts[1] += w * newellF(y, x, z)
				parts[2] += w * newellF(z, y, x)
				parts[3] += w * newellG(x, y, z)
			}
		}
	}
	return parts
}

// spectra returns the Fourier transforms of the four parts between a cell and those of a layer of nx×ny, padded to px×py: for each y those of the
// first half of x, as the FFT of a real field has them. They are real, because the tensor has the symmetry of cosines, or for xy of sines.
func spectra(nx, ny, px, py int, cell [3]float64) []float32 {
	width := px/2 + 1
	var half [4][]float64 // of the transforms in x: for each x of the spectrum, each y of the layer
	for c := range half {
		half[c] = make([]float64, width*ny)
	}
	wave := func(c, i, k, n int) float64 { // cos, or i times sin, of both i and -i together
		angle := 2 * math.Pi * float64(i*k%n) / float64(n)
		switch {
		case c == 3:
			return 2 * math.Sin(angle)
		case i == 0:
			return 1
		}
		return 2 * math.Cos(angle)
	}
	for x := range nx {
		var column [4][]float64
		for y := range ny {
			for c, v := range between([3]float64{float64(x) * cell[0], float64(y) * cell[1], 0}, cell) {
				column[c] = append(column[c], v)
			}
		}
		for c := range half {
			for k := range width {
				w := wave(c, x, k, px)
				for y, v := range column[c] {
					half[c][k*ny+y] += w * v
				}
			}
		}
	}
	all := make([]float32, 4*py*width)
	for c := range half {
		for l := range py {
			waves := make([]float64, ny)
			for y := range waves {
				waves[y] = wave(c, y, l, py)
			}
			for k := range width {
				sum := 0.0
				for y, w := range waves {
					sum += w * half[c][k*ny+y]
				}
				if c == 3 {
					sum = -sum // i squared
				}
				all[(c*py+l)*width+k] = float32(sum)
			}
		}
	}
	return all
}
