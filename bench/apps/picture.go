package main

import (
	"math"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/bench/internal/chart"
)

// times has a mark for each ratio: a row for each row of the table.
func (r *results) times() chart.Panel {
	p := chart.Panel{Title: "Time", X: "time by that of OpenCL C by hand; left of 1 is faster", Logarithmic: true, One: true, Lines: marks()}
	for i := len(r.rows) - 1; i >= 0; i-- {
		row := r.rows[i]
		for k := len(row.App.Cases) - 1; k >= 0; k-- {
			name, any := row.App.Cases[k], false
			for v := 1; v < len(variants); v++ {
				if x := r.ratio(row, &variants[v], name); row.base() == &variants[0] && !math.IsNaN(x) {
					mark(&p.Lines[v], x, len(p.Rows))
					any = true
				}
			}
			if any {
				p.Rows = append(p.Rows, strings.Replace(row.label(name), " |", ",", 1))
			}
		}
	}
	return p
}

// code has a mark for the lines of code of each program: a row for each piece of work.
func (r *results) code() chart.Panel {
	p := chart.Panel{Title: "Lines of code", X: "lines that are neither empty nor only a comment", Lines: marks()}
	apps := r.apps()
	slices.Reverse(apps)
	for i, a := range apps {
		p.Rows = append(p.Rows, a.Title)
		for v := range variants {
			if n := r.Lines[a.Title][variants[v].Name]; n > 0 {
				mark(&p.Lines[v], float64(n), i)
			}
		}
	}
	return p
}

// marks returns a line without points for each variant. A variant looks the same in all panels.
func marks() []chart.Line {
	lines := make([]chart.Line, len(variants))
	for v := range variants {
		lines[v] = chart.Line{Name: variants[v].Name, Dots: true, Look: v}
	}
	lines[0].Look = chart.Black
	return lines
}

func mark(l *chart.Line, x float64, row int) {
	l.X, l.Y = append(l.X, x), append(l.Y, float64(row))
}

// draw draws the times, and below them the lines of code.
func (r *results) draw(file string) error {
	times := r.times()
	if len(times.Rows) == 0 {
		return nil
	}
	date := r.Date
	if r.Halyard != "" {
		date += "; Halyard at " + r.Halyard
	}
	page := chart.Page{Title: "Whole programs beside OpenCL C by hand", Notes: []string{"medians of runs in turns; " + r.Machine, date}, Width: 700,
		Panels: []chart.Panel{times, r.code()}}
	return page.Write(file)
}
