// Package spheres draws spheres of matt, metal and glass by following rays of light backwards, as "Ray Tracing in One Weekend" describes it.
package spheres

import (
	"image"
	"math"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/kernel/grid"
)

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

type vec struct{ X, Y, Z float32 }

func (a vec) add(b vec) vec       { return vec{a.X + b.X, a.Y + b.Y, a.Z + b.Z} }
func (a vec) sub(b vec) vec       { return vec{a.X - b.X, a.Y - b.Y, a.Z - b.Z} }
func (a vec) mul(b vec) vec       { return vec{float32(a.X * b.X), float32(a.Y * b.Y), float32(a.Z * b.Z)} }
func (a vec) scale(f float32) vec { return a.mul(vec{f, f, f}) }
func (a vec) unit() vec           { return a.scale(1 / root(a.dot(a))) }
func (a vec) dot(b vec) float32   { return float32(a.X*b.X) + float32(a.Y*b.Y) + float32(a.Z*b.Z) }
func (a vec) mirror(n vec) vec    { return a.sub(n.scale(2 * a.dot(n))) }
func root(x float32) float32      { return float32(math.Sqrt(float64(x))) }

// random returns a number from 0 to 1, and changes the state.
func random(state *uint32) float32 {
	*state = *state*747796405 + 2891336453
	word := (*state>>(*state>>28+4) ^ *state) * 277803737
	return float32((word>>22^word)>>8) / (1 << 24)
}

// inside returns a place in the unit sphere.
func inside(state *uint32) vec {
	p := vec{1, 1, 1}
	for p.dot(p) >= 1 {
		p = vec{2*random(state) - 1, 2*random(state) - 1, 2*random(state) - 1}
	}
	return p
}

const (
	size = 9 // numbers of a sphere in the buffer: centre, radius, colour, material, and the metal's roughness or the glass's refraction

	matt, metal, glass = 0, 1, 2 // materials
)

func at(s []float32, i int) vec { return vec{s[i], s[i+1], s[i+2]} }

// nearest returns the sphere that a ray meets first, and -1 if it meets none. far becomes the distance.
func nearest(spheres []float32, from, ray vec, far *float32) int {
	found := -1
	for i := 0; i < len(spheres); i += size {
		to := at(spheres, i).sub(from)
		h := ray.dot(to)
		d := float32(h*h) - to.dot(to) + float32(spheres[i+3]*spheres[i+3])
		if d < 0 {
			continue
		}
		near := h - root(d)
		if near < 1e-3 {
			near = h + root(d)
		}
		if near >= 1e-3 && near < *far {
			found, *far = i, near
		}
	}
	return found
}

// refract returns the direction behind the surface of glass, or that of a mirror.
func refract(ray, n vec, ratio float32, state *uint32) vec {
	cos := min(-ray.dot(n), 1)
	r0 := (1 - ratio) / (1 + ratio)
	r0 = float32(r0 * r0)
	f := 1 - cos
	aside := ray.add(n.scale(cos)).scale(ratio)
	if rest := 1 - aside.dot(aside); rest > 0 && r0+float32((1-r0)*float32(float32(f*f)*float32(f*f))*f) <= random(state) {
		return aside.sub(n.scale(root(rest)))
	}
	return ray.mirror(n)
}

// colour follows a ray.
func colour(spheres []float32, from, ray vec, state *uint32) vec {
	light := vec{1, 1, 1}
	for bounce := 0; bounce < 20; bounce++ {
		far := float32(math.MaxFloat32)
		i := nearest(spheres, from, ray, &far)
		if i < 0 {
			sky := 0.5 * (ray.Y + 1)
			return light.mul(vec{1, 1, 1}.scale(1 - sky).add(vec{0.5, 0.7, 1}.scale(sky)))
		}
		from = from.add(ray.scale(far))
		n := from.sub(at(spheres, i)).scale(1 / spheres[i+3])
		light = light.mul(at(spheres, i+4))
		switch spheres[i+7] {
		case metal:
			ray = ray.mirror(n).add(inside(state).scale(spheres[i+8])).unit()
		case glass:
			ratio := 1 / spheres[i+8]
			if ray.dot(n) > 0 {
				n, ratio = n.scale(-1), spheres[i+8]
			}
			ray = refract(ray, n, ratio, state).unit()
		default:
			ray = n.add(inside(state).unit()).unit()
		}
	}
	return vec{}
}

// Pixel returns the light that falls on a point of a picture.
func Pixel(x, y, width, height, samples int, spheres []float32) vec {
	state, sum := uint32(y)*uint32(width)+uint32(x), vec{}
	for range samples {
		right := (float32(x) + random(&state) - float32(width)/2) / float32(height)
		up := (float32(height)/2 - float32(y) - random(&state)) / float32(height)
		sum = sum.add(colour(spheres, vec{0, 1, 4}, vec{right, up - 0.15, -1}.unit(), &state))
	}
	return sum.scale(1 / float32(samples))
}

//halyard:kernel
func trace(t grid.Thread, width, height, samples int32, spheres []float32, picture grid.Out[uint8]) {
	x, y := t.Global(0), t.Global(1)
	if x >= int(width) || y >= int(height) {
		return
	}
	c, i := Pixel(x, y, int(width), int(height), int(samples), spheres), 4*(y*int(width)+x)
	picture[i], picture[i+1], picture[i+2], picture[i+3] = uint8(255*root(c.X)), uint8(255*root(c.Y)), uint8(255*root(c.Z)), 255
}

// Draw returns a picture of the spheres.
func Draw(q *halyard.Queue, width, height, samples int, spheres []float32) *image.RGBA {
	picture := halyard.New[uint8](q, 4*width*height)
	Trace(q, int32(width), int32(height), int32(samples), halyard.From(q, spheres), picture)
	return &image.RGBA{Pix: picture.Values(), Stride: 4 * width, Rect: image.Rect(0, 0, width, height)}
}

// Scene is a few spheres.
var Scene = []float32{
	0, -1000, 0, 1000, 0.5, 0.5, 0.5, matt, 0,
	0, 1, 0, 1, 1, 1, 1, glass, 1.5,
	-2, 1, -1, 1, 0.4, 0.2, 0.1, matt, 0,
	2, 1, -1, 1, 0.7, 0.6, 0.5, metal, 0.05,
	0.8, 0.3, 1.3, 0.3, 0.8, 0.3, 0.3, matt, 0,
	-0.9, 0.3, 1.2, 0.3, 0.3, 0.5, 0.8, metal, 0.3,
}
