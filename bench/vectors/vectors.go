// Package vectors has kernels that the host runs as vectors, to compare with the loops that run their threads one by one.
package vectors

import (
	"math"

	"github.com/go-halyard/halyard/kernel/grid"
)

//halyard:kernel
func saxpy(t grid.Thread, a float32, x, y []float32) {
	if i := t.Global(0); i < len(y) {
		y[i] += float32(a * x[i])
	}
}

// heat is a step of heat that spreads on a plate of n columns.
//
//halyard:kernel
func heat(t grid.Thread, n int, from []float32, to grid.Out[float32]) {
	j, i := t.Global(0), (t.Global(1)+1)*n+t.Global(0)
	if j >= n {
		return
	}
	left, right := float32(0), float32(0)
	if j > 0 {
		left = from[i-1]
	}
	if j < n-1 {
		right = from[i+1]
	}
	to[i] = from[i] + float32(0.1*(from[i-n]+from[i+n]+left+right-float32(4*from[i])))
}

// attract adds up the pull of all bodies on each.
//
//halyard:kernel
func attract(t grid.Thread, px, py, pz, mass []float32, ax, ay, az grid.Out[float32]) {
	i := t.Global(0)
	if i >= len(px) {
		return
	}
	x, y, z := px[i], py[i], pz[i]
	sx, sy, sz := float32(0), float32(0), float32(0)
	for k := range px {
		dx, dy, dz := px[k]-x, py[k]-y, pz[k]-z
		d := float32(dx*dx) + float32(dy*dy) + float32(dz*dz) + 0.01
		pull := mass[k] / float32(d*root(d))
		sx += float32(dx * pull)
		sy += float32(dy * pull)
		sz += float32(dz * pull)
	}
	ax[i], ay[i], az[i] = sx, sy, sz
}

func root(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// mandelbrot counts the rounds until points of a row of n leave the circle.
//
//halyard:kernel
func mandelbrot(t grid.Thread, n, limit int32, out grid.Out[uint16]) {
	if t.Global(0) >= int(n) {
		return
	}
	step := 2.4 / float32(n)
	a, b := -1.7+float32(step*float32(t.Global(0))), -0.2+float32(step*float32(t.Global(1)))
	x, y, count := float32(0), float32(0), int32(0)
	for count < limit && float32(x*x)+float32(y*y) <= 4 {
		x, y = float32(x*x)-float32(y*y)+a, float32(2*x*y)+b
		count++
	}
	out[t.Global(1)*int(n)+t.Global(0)] = uint16(count)
}

// products are the terms of a dot product.
//
//halyard:kernel
func products(t grid.Thread, a, b []float64, sums grid.Out[float64], each int) {
	i, sum := t.Global(0), 0.0
	if i >= len(sums) {
		return
	}
	for k := range each {
		sum += float64(a[k*len(sums)+i] * b[k*len(sums)+i])
	}
	sums[i] = sum
}

// price values options by the formula of Black and Scholes.
//
//halyard:kernel
func price(t grid.Thread, rate, volatility float32, share, strike, years []float32, call, put grid.Out[float32]) {
	i := t.Global(0)
	if i >= len(share) {
		return
	}
	s, k, y := share[i], strike[i], years[i]
	spread := volatility * float32(math.Sqrt(float64(y)))
	d1 := (logarithm(s/k) + float32((rate+float32(float32(volatility*volatility)*0.5))*y)) / spread
	d2 := d1 - spread
	discounted := k * power(-float32(rate*y))
	c := float32(s*normal(d1)) - float32(discounted*normal(d2))
	call[i] = c
	put[i] = c - s + discounted
}

// normal is the share of the normal distribution below d, by the approximation of Abramowitz and Stegun, 26.2.17.
func normal(d float32) float32 {
	x := d
	if x < 0 {
		x = -x
	}
	k := 1 / (1 + float32(0.2316419*x))
	p := float32(1.330274429*k) - 1.821255978
	p = float32(p*k) + 1.781477937
	p = float32(p*k) - 0.356563782
	p = float32(p*k) + 0.319381530
	above := float32(0.39894228*power(-float32(float32(x*x)*0.5))) * float32(p*k)
	if d < 0 {
		return above
	}
	return 1 - above
}

// power is e to the x, for x below 80; the smallest results are 0.
func power(x float32) float32 {
	if x < -80 {
		return 0
	}
	n := float32(x * 1.44269504)
	if n < 0 {
		n -= 0.5
	} else {
		n += 0.5
	}
	whole := int32(n)
	r := x - float32(float32(whole)*0.693359375) + float32(float32(whole)*2.12194440e-4)
	p := float32(r*1.9875691500e-4) + 1.3981999507e-3
	p = float32(p*r) + 8.3334519073e-3
	p = float32(p*r) + 4.1665795894e-2
	p = float32(p*r) + 1.6666665459e-1
	p = float32(p*r) + 5.0000001201e-1
	p = float32(float32(p*r)*r) + r + 1
	return p * math.Float32frombits(uint32(whole+127)<<23)
}

// logarithm is the natural logarithm of a positive number that is not subnormal: of 2^e * m with m near 1, e*ln 2 plus a series in (m-1)/(m+1).
func logarithm(x float32) float32 {
	bits := math.Float32bits(x)
	e := int32(bits>>23) - 127
	m := math.Float32frombits(bits&0x7fffff | 127<<23)
	if m > 1.41421356 {
		m *= 0.5
		e++
	}
	z := (m - 1) / (m + 1)
	zz := float32(z * z)
	p := float32(zz*0.22222222) + 0.28571429
	p = float32(p*zz) + 0.4
	p = float32(p*zz) + 0.66666667
	p = float32(p*zz) + 2
	return float32(p*z) + float32(float32(e)*0.69314718)
}
