package main

import (
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/go-halyard/halyard/internal/chart"
)

// draw draws a mark for each ratio, a line of the picture for each row of the table.
func (r *results) draw(file string) error {
	p := chart.NewPlot()
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
		return nil
	}
	for v := 1; v < len(variants); v++ {
		if len(points[v]) == 0 {
			continue
		}
		marks, err := plotter.NewScatter(points[v])
		if err != nil {
			return err
		}
		marks.Color, marks.Shape, marks.Radius = chart.Colors[(v-1)%len(chart.Colors)], chart.Marks[(v-1)%len(chart.Marks)], 2.6
		p.Add(marks)
		p.Legend.Add(variants[v].Name, marks)
	}
	one, err := plotter.NewLine(plotter.XYs{{X: 1, Y: -0.5}, {X: 1, Y: float64(len(names)) - 0.5}})
	if err != nil {
		return err
	}
	one.Color, one.Width = color.Black, 0.8
	p.Add(one)
	p.NominalY(names...)
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.TickerFunc(chart.Ticks)
	p.X.Min, p.X.Max, p.Y.Min = low, high, -0.5
	p.Y.Max = float64(len(names)) + float64(len(variants))
	p.X.Label.Text = "time by that of OpenCL C by hand; left of 1 is faster"
	p.Legend.Top = true
	head := 14*1.5 + 10*1.5 + vg.Length(16)
	page := chart.NewPage(file, 7.5*vg.Inch, vg.Length(len(names)+len(variants)+4)*14+head)
	page.Head("Whole programs beside OpenCL C by hand", "medians of runs in turns; "+r.Machine+"; "+r.Date)
	p.Draw(draw.Crop(page.Canvas, 8, -14, 6, -head))
	return page.Save()
}
