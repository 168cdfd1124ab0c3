package timing

import "math"

// Line is the straight line y = Base + Slope*x.
type Line struct{ Base, Slope float64 }

// Fit returns the line through points by least squares in y. If all points have the same x, the line is flat, at the mean
// of their y; without points it is the zero Line.
func Fit(x, y []float64) Line {
	if len(x) == 0 {
		return Line{}
	}
	n := float64(len(x))
	var mx, my, xx, xy float64
	for i := range x {
		mx, my = mx+x[i]/n, my+y[i]/n
	}
	for i := range x {
		xx, xy = xx+(x[i]-mx)*(x[i]-mx), xy+(x[i]-mx)*(y[i]-my)
	}
	if xx == 0 {
		return Line{Base: my}
	}
	return Line{Base: my - xy/xx*mx, Slope: xy / xx}
}

// Exponent returns the p for which y grows like x to the power of p: the slope of the line through the logarithms. Points
// that are not above 0 have no logarithm and are left out. With fewer than two points it returns NaN.
func Exponent(x, y []float64) float64 {
	var lx, ly []float64
	for i := range x {
		if x[i] > 0 && y[i] > 0 {
			lx, ly = append(lx, math.Log(x[i])), append(ly, math.Log(y[i]))
		}
	}
	if len(lx) < 2 {
		return math.NaN()
	}
	return Fit(lx, ly).Slope
}
