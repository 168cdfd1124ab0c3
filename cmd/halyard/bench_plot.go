package main

import (
	"errors"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/go-halyard/halyard/internal/chart"
)

// curves are the families that are drawn. The colors can be told apart with color blindness, and the marks in a gray print too.
var curves = []struct {
	family string
	color  color.Color
	mark   draw.GlyphDrawer
}{
	{"copy-in/pageable-device", color.RGBA{0x00, 0x72, 0xb2, 0xff}, draw.CircleGlyph{}},
	{"copy-in/pinned-device", color.RGBA{0x56, 0xb4, 0xe9, 0xff}, draw.RingGlyph{}},
	{"copy-out/device-pageable", color.RGBA{0xd5, 0x5e, 0x00, 0xff}, draw.SquareGlyph{}},
	{"copy-out/device-pinned", color.RGBA{0xe6, 0x9f, 0x00, 0xff}, draw.BoxGlyph{}},
	{"copy/device-device", color.RGBA{0x00, 0x9e, 0x73, 0xff}, draw.TriangleGlyph{}},
	{"fill/device", color.RGBA{0xcc, 0x79, 0xa7, 0xff}, draw.PlusGlyph{}},
}

func isCurve(family string) bool {
	for _, c := range curves {
		if c.family == family {
			return true
		}
	}
	return false
}

// least is drawn in place of anything smaller, since a logarithmic axis has no zero.
const least = 1e-6

const (
	panelWidth  = 5.2 * vg.Inch
	panelHeight = 3.3 * vg.Inch
	titleHeight = 0.9 * vg.Inch
)

// plot draws bandwidth and ratio by size, a row of two panels for each device.
func (r *benchRun) plot(path string) error {
	var rows [][]*plot.Plot
	for _, d := range r.Devices {
		rate, err := r.panel(d, true)
		if err != nil {
			return err
		}
		ratio, err := r.panel(d, false)
		if err != nil {
			return err
		}
		if rate != nil {
			rows = append(rows, []*plot.Plot{rate, ratio})
		}
	}
	if len(rows) == 0 {
		return errors.New("--plot: there is nothing to draw; no measurement of copy-in, copy-out, copy or fill succeeded")
	}
	w, h := 2*panelWidth, vg.Length(len(rows))*panelHeight+titleHeight
	page := chart.NewPage(path, w, h)
	r.head(page)
	below := draw.Crop(page.Canvas, 0, 0, 0, -titleHeight)
	tiles := draw.Tiles{Rows: len(rows), Cols: 2, PadX: 14, PadY: 14, PadLeft: 8, PadRight: 14, PadBottom: 6}
	for i, row := range plot.Align(rows, tiles, below) {
		for j, canvas := range row {
			rows[i][j].Draw(canvas)
		}
	}
	if err := page.Save(); err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	return nil
}

// head writes on what machine and when the run was made, and what the lines mean.
func (r *benchRun) head(page *chart.Canvas) {
	title := "halyard bench: copies and fills by size"
	if r.Simulated {
		title += " (some devices are SIMULATED: their times say nothing about hardware)"
	}
	page.Head(title,
		joinNonEmpty(", ", r.Machine, r.Date.Format("2006-01-02"), "Halyard at "+r.Version, r.Go),
		"Left: rate, ours solid, the raw call dashed. Right: our time divided by the raw call's, with quartiles; 1 is as fast, below 1 is faster.")
}

// panel returns one of a device's two plots, nil if it has no curves.
func (r *benchRun) panel(d deviceEntry, rate bool) (*plot.Plot, error) {
	p := chart.NewPlot()
	chart.SetTitle(p, d.title())
	p.X.Label.Text = "size"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(sizeTicks), plot.TickerFunc(chart.Ticks)
	p.Y.Label.Text = "our time / raw time"
	if rate {
		p.Y.Label.Text = "GB/s"
	}
	drawn := false
	for _, c := range curves {
		ours, raw := r.points(d.Device, c.family, rate)
		if len(ours) == 0 {
			continue
		}
		drawn = true
		line, marks, err := plotter.NewLinePoints(ours)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = c.color, 1.2
		marks.Color, marks.Shape, marks.Radius = c.color, c.mark, 2.2
		p.Add(line, marks)
		if rate { // one legend is enough for a row
			p.Legend.Add(c.family, line, marks)
		}
		if !rate {
			bars, err := plotter.NewYErrorBars(r.quartiles(d.Device, c.family, ours))
			if err != nil {
				return nil, err
			}
			bars.Color, bars.Width, bars.CapWidth = c.color, 0.5, 3
			p.Add(bars)
		}
		if len(raw) > 0 {
			dashed, err := plotter.NewLine(raw)
			if err != nil {
				return nil, err
			}
			dashed.Color, dashed.Width, dashed.Dashes = c.color, 0.9, []vg.Length{3, 2.5}
			p.Add(dashed)
		}
	}
	if !drawn {
		if rate {
			return nil, nil
		}
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 4, 64, 0.5, 2
		p.Title.Text += ": nothing to compare with"
		return p, nil
	}
	p.X.Max = max(p.X.Max, 2*p.X.Min)
	if !rate {
		p.Y.Min, p.Y.Max = min(p.Y.Min, 0.5), max(p.Y.Max, 2)
		one, err := plotter.NewLine(plotter.XYs{{X: p.X.Min, Y: 1}, {X: p.X.Max, Y: 1}})
		if err != nil {
			return nil, err
		}
		one.Color, one.Width = color.Black, 0.8
		p.Add(one)
	}
	p.Y.Min, p.Y.Max = p.Y.Min/1.2, max(p.Y.Max*1.2, 2*p.Y.Min)
	return p, nil
}

// points returns the figures of a family by size: both rates, or only the ratio.
func (r *benchRun) points(device, family string, rate bool) (ours, raw plotter.XYs) {
	for _, row := range r.on(device) {
		if row.Family != family || row.Size == 0 {
			continue
		}
		x := float64(row.Size)
		switch {
		case rate:
			ours = append(ours, plotter.XY{X: x, Y: max(row.OursRate/1e9, least)})
			if row.RawRate > 0 {
				raw = append(raw, plotter.XY{X: x, Y: max(row.RawRate/1e9, least)})
			}
		case row.Ratio != nil:
			ours = append(ours, plotter.XY{X: x, Y: max(row.Ratio.Median, least)})
		}
	}
	return ours, raw
}

// spread is points with the distances to the quartiles below and above.
type spread struct {
	plotter.XYs
	plotter.YErrors
}

// quartiles returns the quartiles of the ratios that the points show.
func (r *benchRun) quartiles(device, family string, points plotter.XYs) spread {
	s := spread{XYs: points}
	for _, row := range r.on(device) {
		if row.Family == family && row.Size > 0 && row.Ratio != nil {
			y := points[len(s.YErrors)].Y
			s.YErrors = append(s.YErrors, struct{ Low, High float64 }{max(y-max(row.Ratio.Q1, least), 0), max(row.Ratio.Q3-y, 0)})
		}
	}
	return s
}

// sizeTicks marks powers of two, with a label at every fourth.
func sizeTicks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for e := math.Floor(math.Log2(low)); e <= math.Ceil(math.Log2(high)); e += 2 {
		t := plot.Tick{Value: math.Exp2(e)}
		if math.Mod(e-2, 4) == 0 {
			t.Label = bytesText(uint64(t.Value))
		}
		if t.Value >= low*0.999 && t.Value <= high*1.001 {
			ticks = append(ticks, t)
		}
	}
	return ticks
}
