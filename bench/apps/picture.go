package main

import (
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/go-halyard/halyard/internal/chart"
)

const legend = 4.5 // the height of the legend, in lines of the picture

// times draws a mark for each ratio, a line of the picture for each row of the table. It returns how many lines there are.
func (r *results) times() (*plot.Plot, int, error) {
	p := chart.NewPlot()
	chart.SetTitle(p, "Time")
	var names []string
	points := make([]plotter.XYs, len(variants))
	low, high := 0.5, 2.0
	for i := len(r.rows) - 1; i >= 0; i-- {
		row := r.rows[i]
		for k := len(row.App.Cases) - 1; k >= 0; k-- {
			name, any := row.App.Cases[k], false
			for v := 1; v < len(variants); v++ {
				if x := r.ratio(row, &variants[v], name); !math.IsNaN(x) {
					points[v] = append(points[v], plotter.XY{X: x, Y: float64(len(names))})
					low, high, any = min(low, x/1.1), max(high, x*1.1), true
				}
			}
			if any {
				names = append(names, strings.Replace(row.label(name), " |", ",", 1))
			}
		}
	}
	if len(names) == 0 {
		return nil, 0, nil
	}
	if err := marks(p, points); err != nil {
		return nil, 0, err
	}
	one, err := plotter.NewLine(plotter.XYs{{X: 1, Y: -0.5}, {X: 1, Y: float64(len(names)) - 0.5}})
	if err != nil {
		return nil, 0, err
	}
	one.Color, one.Width = color.Black, 0.8
	p.Add(one)
	p.NominalY(names...)
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.TickerFunc(chart.Ticks)
	p.X.Min, p.X.Max, p.Y.Min = low, high, -0.5
	p.Y.Max = float64(len(names)) + legend
	p.X.Label.Text = "time by that of OpenCL C by hand; left of 1 is faster"
	p.Legend.Top = true
	return p, len(names), nil
}

// code draws a mark for the lines of code of each program, a line of the picture for each piece of work.
func (r *results) code() (*plot.Plot, int, error) {
	p := chart.NewPlot()
	chart.SetTitle(p, "Lines of code")
	apps := r.apps()
	slices.Reverse(apps)
	var names []string
	points := make([]plotter.XYs, len(variants))
	for i, a := range apps {
		names = append(names, a.Title)
		for v := range variants {
			if n := r.Lines[a.Title][variants[v].Name]; n > 0 {
				points[v] = append(points[v], plotter.XY{X: float64(n), Y: float64(i)})
			}
		}
	}
	if err := marks(p, points); err != nil {
		return nil, 0, err
	}
	p.NominalY(names...)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, p.X.Max*1.05, -0.5, float64(len(names))+legend
	p.X.Label.Text = "lines that are neither empty nor only a comment"
	p.Legend.Top = true
	return p, len(names), nil
}

// marks draws the points of each variant that has some, and names it. A variant looks the same in all plots.
func marks(p *plot.Plot, points []plotter.XYs) error {
	for v := range variants {
		if len(points[v]) == 0 {
			continue
		}
		marks, err := plotter.NewScatter(points[v])
		if err != nil {
			return err
		}
		marks.Color, marks.Shape, marks.Radius = color.Black, draw.CrossGlyph{}, 2.6
		if v > 0 {
			marks.Color, marks.Shape = chart.Colors[(v-1)%len(chart.Colors)], chart.Marks[(v-1)%len(chart.Marks)]
		}
		p.Add(marks)
		p.Legend.Add(variants[v].Name, marks)
	}
	return nil
}

// draw draws the times, and below them the lines of code.
func (r *results) draw(file string) error {
	times, rows, err := r.times()
	if err != nil || rows == 0 {
		return err
	}
	code, programs, err := r.code()
	if err != nil {
		return err
	}
	head := 14*1.5 + 2*10*1.5 + vg.Length(16)
	date := r.Date
	if r.Halyard != "" {
		date += "; Halyard at " + r.Halyard
	}
	above, below := (vg.Length(rows)+legend+5)*14, (vg.Length(programs)+legend+5)*14
	page := chart.NewPage(file, 7.5*vg.Inch, above+below+head)
	page.Head("Whole programs beside OpenCL C by hand", "medians of runs in turns; "+r.Machine, date)
	upper, lower := draw.Crop(page.Canvas, 8, -14, below+6, -head), draw.Crop(page.Canvas, 8, -14, 6, -head-above)
	times.Draw(upper)
	// The names of the rows below are shorter: both axes begin at the same place.
	code.Draw(draw.Crop(lower, times.DataCanvas(upper).Min.X-code.DataCanvas(lower).Min.X, 0, 0, 0))
	return page.Save()
}
