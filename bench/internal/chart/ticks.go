package chart

import (
	"fmt"
	"math"
)

// tick is a line across a panel, with a label at its end.
type tick struct {
	value float64
	label string
}

// steps returns the ticks of the vertical axis.
func (panel *Panel) steps(y axis) (all []tick) {
	for i, name := range panel.Rows {
		all = append(all, tick{float64(i), name})
	}
	if panel.Rows != nil {
		return all
	}
	return panel.ticks(y, false)
}

func (panel *Panel) ticks(a axis, bytes bool) []tick {
	switch {
	case bytes:
		return sizes(a.low, a.high)
	case a.logarithmic:
		return powers(a.low, a.high)
	}
	return even(a.low, a.high)
}

// even has ticks at equal distances: 1, 2 or 5 times a power of ten.
func even(low, high float64) (all []tick) {
	const most = 7
	step := math.Pow(10, math.Floor(math.Log10((high-low)/most)))
	for _, f := range []float64{1, 2, 5, 10} {
		if (high-low)/(step*f) <= most {
			step *= f
			break
		}
	}
	for i := math.Ceil(low / step); i*step <= high; i++ {
		all = append(all, tick{i * step, fmt.Sprintf("%.6g", i*step)})
	}
	return all
}

// powers has ticks at 1, 2 and 5 times each power of ten, with labels where there is room.
func powers(low, high float64) (all []tick) {
	crowded := math.Log10(high/low) > 2.5
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for _, m := range []float64{1, 2, 5} {
			t := tick{value: m * math.Pow(10, e)}
			if t.value < low || t.value > high {
				continue
			}
			if m == 1 || !crowded {
				t.label = fmt.Sprintf("%.4g", t.value)
			}
			all = append(all, t)
		}
	}
	return all
}

// sizes has ticks at every second power of two, with a label at every second tick.
func sizes(low, high float64) (all []tick) {
	for e := 2 * math.Floor(math.Log2(low)/2); e <= math.Ceil(math.Log2(high)); e += 2 {
		t := tick{value: math.Exp2(e)}
		if t.value < low*0.999 || t.value > high*1.001 {
			continue
		}
		if math.Mod(e-2, 4) == 0 {
			unit := min(int(max(e, 0))/10, 6)
			units := [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
			t.label = fmt.Sprintf("%g %s", math.Exp2(e-float64(10*unit)), units[unit])
		}
		all = append(all, t)
	}
	return all
}
