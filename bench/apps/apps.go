package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/go-halyard/halyard/examples/kmeans/lloyd"
	"github.com/go-halyard/halyard/examples/pathtracer/spheres"
)

// app is a program that all variants write.
type app struct {
	Name, Title, What string
	N, Steps, Repeats int
	Cases             []string
	Ranks             bool // it runs in several ranks, too
	input             func(n int) []byte
	// reference computes the result in plain Go. It returns a function that compares another result with it, and returns how far that is off.
	reference func(a *app) func(result []byte) (float64, error)
	// rounded is for programs in a language that leaves the rounding of operations to the driver; nil means reference.
	rounded func(a *app) func(result []byte) (float64, error)
}

var apps = []app{
	{Name: "stream", Title: "BabelStream", What: "five kernels and dot on arrays of 2²² doubles, each waited for", N: 1 << 22, Steps: 6, Repeats: 1,
		Cases: []string{"copy", "mul", "add", "triad", "nstream", "dot"}, input: noInput, reference: streamReference},
	{Name: "mandelbrot", Title: "Mandelbrot", What: "1024×1024 points, up to 256 steps, and the picture on the host", N: 1024, Steps: 256, Repeats: 3,
		Cases: []string{"run"}, input: noInput, reference: mandelbrotReference(0), rounded: mandelbrotReference(0.01)},
	{Name: "nbody", Title: "n-body", What: "4096 bodies, 3 steps", N: 4096, Steps: 3, Repeats: 3, Cases: []string{"run"}, input: bodies, reference: nbodyReference},
	{Name: "cg", Title: "Conjugate gradient", What: "512×512 points, 60 steps", N: 512, Steps: 60, Repeats: 3, Cases: []string{"run"}, Ranks: true,
		input: square, reference: cgReference},
	{Name: "heat", Title: "Heat", What: "1024×1024 points, 100 steps; halos go between devices, and between ranks by MPI", N: 1024, Steps: 100, Repeats: 3,
		Cases: []string{"run"}, Ranks: true, input: square, reference: heatReference},
	{Name: "kmeans", Title: "k-means", What: "2¹⁷ points of eight numbers, 32 clusters, 10 steps", N: 1 << 17, Steps: 10, Repeats: 3, Cases: []string{"run"},
		input: cloud, reference: kmeansReference},
	{Name: "pathtracer", Title: "Path tracer", What: "256×256 points of a picture of spheres, 16 rays each", N: 256, Steps: 16, Repeats: 3,
		Cases: []string{"run"}, input: func(int) []byte { return encode(spheres.Scene) }, reference: pathtracerReference,
		rounded: pathtracerMeans},
}

func noInput(int) []byte { return nil }

// decode returns a result of count elements, no more and no fewer.
func decode[T any](result []byte, count int) ([]T, error) {
	out := make([]T, count)
	if len(result) != binary.Size(out) {
		return nil, fmt.Errorf("the result has %d bytes, and should have %d", len(result), binary.Size(out))
	}
	return out, binary.Read(bytes.NewReader(result), binary.NativeEndian, out)
}

func streamReference(a *app) func([]byte) (float64, error) {
	x, y, z, dot := 0.1, 0.2, 0.0, 0.0
	for range a.Steps {
		z = x
		y = 0.4 * z
		z = x + y
		x = y + float64(0.4*z)
		x += y + float64(0.4*z)
		dot = float64(a.N) * float64(x*y)
	}
	return func(result []byte) (float64, error) {
		got, err := decode[float64](result, 3*a.N+1)
		if err != nil {
			return 0, err
		}
		off := 0.0
		for i, want := range []float64{x, y, z} {
			for _, v := range got[i*a.N : (i+1)*a.N] {
				off = max(off, math.Abs(v/want-1))
			}
		}
		return within(max(off, math.Abs(got[3*a.N]/dot-1)), 1e-8)
	}
}

// mandelbrotReference allows that a part of the points take other numbers of steps.
func mandelbrotReference(limit float64) func(a *app) func([]byte) (float64, error) {
	return func(a *app) func([]byte) (float64, error) {
		want := make([]uint16, a.N*a.N)
		step := 2.4 / float32(a.N)
		for i := range want {
			cx, cy := -1.7+float32(step*float32(i%a.N)), -1.2+float32(step*float32(i/a.N))
			var x, y float32
			for int(want[i]) < a.Steps && float32(x*x)+float32(y*y) <= 4 {
				x, y = float32(x*x)-float32(y*y)+cx, float32(2*x*y)+cy
				want[i]++
			}
		}
		return func(result []byte) (float64, error) {
			got, err := decode[uint16](result, len(want))
			if err != nil {
				return 0, err
			}
			off := 0
			for i := range want {
				if got[i] != want[i] {
					off++
				}
			}
			return within(float64(off)/float64(len(want)), limit)
		}
	}
}

// within refuses a result that is off by more than the limit, or not a number.
func within(off, limit float64) (float64, error) {
	if !(off <= limit) {
		return off, fmt.Errorf("the result is off by %.2g; up to %.2g is allowed", off, limit)
	}
	return off, nil
}

func encode(data []float32) []byte {
	out := make([]byte, 0, 4*len(data))
	for _, v := range data {
		out = binary.NativeEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

// square are the values of n×n points.
func square(n int) []byte {
	data := make([]float32, n*n)
	for i := range data {
		data[i] = float32(i*7%19-9+i/n%5) / 8
	}
	return encode(data)
}

// bodies are the places and masses of n bodies in a cube.
func bodies(n int) []byte {
	data := make([]float32, 4*n)
	for i := range n {
		data[4*i], data[4*i+1], data[4*i+2] = float32(i*7919%1024)/1024, float32(i*104729%1000)/1000, float32(i*1299709%997)/997
		data[4*i+3] = 1 / float32(n)
	}
	return encode(data)
}

// doubled is an input in double precision, in which references compute.
func doubled(in []byte) []float64 {
	out := make([]float64, len(in)/4)
	for i := range out {
		out[i] = float64(math.Float32frombits(binary.NativeEndian.Uint32(in[4*i:])))
	}
	return out
}

// near returns a function that compares a result with numbers. No difference may be more than limit times the largest number.
func near(want []float64, limit float64) func([]byte) (float64, error) {
	most := 0.0
	for _, v := range want {
		most = max(most, math.Abs(v))
	}
	return func(result []byte) (float64, error) {
		got, err := decode[float32](result, len(want))
		if err != nil {
			return 0, err
		}
		off := 0.0
		for i, v := range got {
			off = max(off, math.Abs(float64(v)-want[i])/most)
		}
		return within(off, limit)
	}
}

func nbodyReference(a *app) func([]byte) (float64, error) {
	now, v := doubled(a.input(a.N)), make([]float64, 3*a.N)
	next := make([]float64, len(now))
	const dt = 0.01
	for range a.Steps {
		for i := range a.N {
			b, sum := now[4*i:4*i+4], [3]float64{}
			for k := range a.N {
				o := now[4*k : 4*k+4]
				dx, dy, dz := o[0]-b[0], o[1]-b[1], o[2]-b[2]
				d := dx*dx + dy*dy + dz*dz + 0.01
				pull := o[3] / (d * math.Sqrt(d))
				sum[0] += dx * pull
				sum[1] += dy * pull
				sum[2] += dz * pull
			}
			for c := range 3 {
				v[3*i+c] += sum[c] * dt
				next[4*i+c] = b[c] + v[3*i+c]*dt
			}
			next[4*i+3] = b[3]
		}
		now, next = next, now
	}
	return near(now, 1e-5)
}

// around adds up the neighbours of a point. Those beyond the border are 0.
func around(v []float64, n, at int) (sum float64) {
	if at >= n {
		sum += v[at-n]
	}
	if at < n*(n-1) {
		sum += v[at+n]
	}
	if at%n > 0 {
		sum += v[at-1]
	}
	if at%n < n-1 {
		sum += v[at+1]
	}
	return sum
}

func heatReference(a *app) func([]byte) (float64, error) {
	now := doubled(a.input(a.N))
	next := make([]float64, len(now))
	for range a.Steps {
		for i, v := range now {
			next[i] = v + 0.1*(around(now, a.N, i)-4*v)
		}
		now, next = next, now
	}
	return near(now, 1e-5)
}

func cgReference(a *app) func([]byte) (float64, error) {
	r := doubled(a.input(a.N))
	p, q, x := append([]float64(nil), r...), make([]float64, len(r)), make([]float64, len(r))
	dot := func(a, b []float64) (sum float64) {
		for i := range a {
			sum += a[i] * b[i]
		}
		return sum
	}
	rr := dot(r, r)
	for range a.Steps {
		for i, v := range p {
			q[i] = 4*v - around(p, a.N, i)
		}
		alpha := rr / dot(p, q)
		for i := range x {
			x[i] += alpha * p[i]
			r[i] -= alpha * q[i]
		}
		before := rr
		rr = dot(r, r)
		for i := range p {
			p[i] = r[i] + rr/before*p[i]
		}
	}
	return near(x, 1e-3)
}

// cloud are the numbers of n points.
func cloud(n int) []byte {
	var data []float32
	for _, p := range lloyd.Cloud(n) {
		data = append(data, p[:]...)
	}
	return encode(data)
}

func kmeansReference(a *app) func([]byte) (float64, error) {
	const k = lloyd.K
	points := doubled(a.input(a.N))
	centres := append([]float64(nil), points[:8*k]...)
	for range a.Steps {
		var sums [k][9]float64
		for p := points; len(p) > 0; p = p[8:] {
			best, least := 0, math.Inf(1)
			for c := range k {
				away := 0.0
				for d, x := range p[:8] {
					away += (x - centres[8*c+d]) * (x - centres[8*c+d])
				}
				if away < least {
					best, least = c, away
				}
			}
			for d, x := range p[:8] {
				sums[best][d] += x
			}
			sums[best][8]++
		}
		for i := range centres {
			centres[i] = sums[i/8][i%8] / max(sums[i/8][8], 1)
		}
	}
	return near(centres, 1e-3)
}

// traced is the picture of the path tracer in plain Go.
func traced(a *app) (picture []uint8) {
	for i := range a.N * a.N {
		light := spheres.Pixel(i%a.N, i/a.N, a.N, a.N, a.Steps, spheres.Scene)
		for _, v := range []float32{light.X, light.Y, light.Z} {
			picture = append(picture, uint8(255*math.Sqrt(float64(v))))
		}
		picture = append(picture, 255)
	}
	return picture
}

// pathtracerReference allows that a few numbers differ: where a device rounds otherwise, a ray may go elsewhere.
func pathtracerReference(a *app) func([]byte) (float64, error) {
	want := traced(a)
	return func(result []byte) (float64, error) {
		got, err := decode[uint8](result, len(want))
		if err != nil {
			return 0, err
		}
		off := 0
		for i, v := range want {
			switch d := int(got[i]) - int(v); {
			case i%4 == 3 && d != 0:
				return 1, fmt.Errorf("point %d is transparent", i/4)
			case d < -1 || d > 1:
				off++
			}
		}
		return within(float64(off)/float64(len(want)), 0.02)
	}
}

// pathtracerMeans compares the means of squares of 16×16 points, of each colour: where a driver fuses operations, many rays go elsewhere.
func pathtracerMeans(a *app) func([]byte) (float64, error) {
	want := traced(a)
	return func(result []byte) (float64, error) {
		got, err := decode[uint8](result, len(want))
		if err != nil {
			return 0, err
		}
		side := (a.N + 15) / 16
		sums := make([]int, side*side*4)
		for i := range want {
			x, y := i/4%a.N, i/4/a.N
			sums[(y/16*side+x/16)*4+i%4] += int(got[i]) - int(want[i])
		}
		off := 0
		for _, sum := range sums {
			off = max(off, sum, -sum)
		}
		return within(float64(off)/256/255, 8./255)
	}
}
