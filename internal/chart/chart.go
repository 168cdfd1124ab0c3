// Package chart draws pages of panels with curves, as SVG or PNG. It knows nothing of what the curves show.
package chart

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Colors and Marks are those of the first, second, ... line of a panel. The colors can be told apart with color blindness, and the
// marks in a gray print too.
var (
	Colors = []color.Color{
		color.RGBA{0x00, 0x72, 0xb2, 0xff}, color.RGBA{0xd5, 0x5e, 0x00, 0xff}, color.RGBA{0x00, 0x9e, 0x73, 0xff},
		color.RGBA{0xcc, 0x79, 0xa7, 0xff}, color.RGBA{0xe6, 0x9f, 0x00, 0xff}, color.RGBA{0x56, 0xb4, 0xe9, 0xff},
	}
	Marks = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PlusGlyph{}, draw.BoxGlyph{}, draw.RingGlyph{}}
)

// Page is a picture of several panels, from left to right and then downward.
type Page struct {
	Title   string
	Notes   []string // lines below the title
	Columns int
	Panels  []Panel
}

// Panel is one coordinate system.
type Panel struct {
	Title, X, Y string
	Logarithmic bool // both axes are logarithmic; points that are not above 0 are left out
	Lines       []Line
}

// Line is a sequence of points, joined in their order.
type Line struct {
	Name  string // in the legend; "" leaves the line out of it
	Plain bool   // without a mark at each point
	X, Y  []float64
}

const (
	panelWidth  = 4.2 * vg.Inch
	panelHeight = 2.9 * vg.Inch
)

// Write draws the page into a file: as PNG if its name ends in .png, else as SVG.
func (g Page) Write(file string) error {
	if len(g.Panels) == 0 {
		return fmt.Errorf("%s: the page has no panels", file)
	}
	columns := max(g.Columns, 1)
	var rows [][]*plot.Plot
	for i, panel := range g.Panels {
		p, err := panel.plot()
		if err != nil {
			return fmt.Errorf("%s: %s: %w", file, panel.Title, err)
		}
		if i%columns == 0 {
			rows = append(rows, make([]*plot.Plot, columns))
		}
		rows[len(rows)-1][i%columns] = p
	}
	head := vg.Length(14*1.5+10*1.5*float64(len(g.Notes))) + 16
	page := NewPage(file, vg.Length(columns)*panelWidth, vg.Length(len(rows))*panelHeight+head)
	page.Head(g.Title, g.Notes...)
	tiles := draw.Tiles{Rows: len(rows), Cols: columns, PadX: 14, PadY: 14, PadLeft: 8, PadRight: 14, PadBottom: 6}
	for i, row := range plot.Align(rows, tiles, draw.Crop(page.Canvas, 0, 0, 0, -head)) {
		for j, canvas := range row {
			if rows[i][j] != nil {
				rows[i][j].Draw(canvas)
			}
		}
	}
	return page.Save()
}

func (panel Panel) plot() (*plot.Plot, error) {
	p := NewPlot()
	SetTitle(p, panel.Title)
	p.X.Label.Text, p.Y.Label.Text = panel.X, panel.Y
	p.Legend.Top, p.Legend.Left = true, true
	for i, l := range panel.Lines {
		var points plotter.XYs
		for k := range l.X {
			if !panel.Logarithmic || l.X[k] > 0 && l.Y[k] > 0 {
				points = append(points, plotter.XY{X: l.X[k], Y: l.Y[k]})
			}
		}
		if len(points) == 0 {
			continue
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = Colors[i%len(Colors)], 1.2
		marks.Color, marks.Shape, marks.Radius = Colors[i%len(Colors)], Marks[i%len(Marks)], 2.2
		shown := []plot.Thumbnailer{line}
		p.Add(line)
		if !l.Plain {
			p.Add(marks)
			shown = append(shown, marks)
		}
		if l.Name != "" {
			p.Legend.Add(l.Name, shown...)
		}
	}
	if p.X.Min > p.X.Max { // no line at all
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 1, 10, 1, 10
	}
	if panel.Logarithmic {
		p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
		p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(Ticks), plot.TickerFunc(Ticks)
		p.X.Max = max(p.X.Max, 2*p.X.Min)
		// The legend stands above the lines.
		p.Y.Min, p.Y.Max = p.Y.Min/1.5, max(p.Y.Max*math.Pow(3, float64(len(panel.Lines))), 10*p.Y.Min)
		return p, nil
	}
	p.X.Max = max(p.X.Max, p.X.Min+1)
	p.Y.Min, p.Y.Max = min(p.Y.Min, 0), max(p.Y.Max*1.1, p.Y.Min+1)
	return p, nil
}

// NewPlot returns an empty plot with a grid, in the style of all pictures.
func NewPlot() *plot.Plot {
	p := plot.New()
	for _, s := range []*font.Font{&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font} {
		*s = sans(10)
	}
	for _, s := range []*font.Font{&p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.Legend.TextStyle.Font} {
		*s = sans(8)
	}
	p.Legend.Padding, p.Legend.ThumbnailWidth = 1.5, 18
	grid := plotter.NewGrid()
	for _, s := range []*draw.LineStyle{&grid.Vertical, &grid.Horizontal} {
		s.Color, s.Width = color.Gray{0xdd}, 0.5
	}
	p.Add(grid)
	return p
}

// sans returns the font of all text.
func sans(size vg.Length) font.Font {
	f := font.From(plot.DefaultFont, size)
	f.Variant = "Sans"
	return f
}

// SetTitle sets a title, in a smaller font if it is too long for a panel.
func SetTitle(p *plot.Plot, title string) {
	p.Title.Text = title
	if len(title) > 60 {
		p.Title.TextStyle.Font = sans(7.5)
	}
}

// Canvas is a white page that is written to a file.
type Canvas struct {
	draw.Canvas
	out  vg.CanvasWriterTo
	file string
}

// NewPage returns an empty page for a file: PNG if its name ends in .png, else SVG.
func NewPage(file string, w, h vg.Length) *Canvas {
	var c interface {
		vg.CanvasSizer
		vg.CanvasWriterTo
	}
	if isPNG(file) {
		c = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(110))}
	} else {
		c = vgsvg.New(w, h)
	}
	page := draw.New(c)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())
	return &Canvas{page, c, file}
}

func isPNG(file string) bool { return strings.EqualFold(filepath.Ext(file), ".png") }

// Head writes a title and lines below it at the top.
func (c *Canvas) Head(title string, notes ...string) {
	style := plot.New().Title.TextStyle
	style.XAlign, style.YAlign = draw.XLeft, draw.YTop
	y := c.Max.Y - 8
	for i, text := range append([]string{title}, notes...) {
		size := vg.Length(10)
		if i == 0 {
			size = 14
		}
		style.Font = sans(size)
		c.FillText(style, vg.Point{X: c.Min.X + 12, Y: y}, text)
		y -= size * 1.5
	}
}

// Save writes the file. In an SVG it names fonts of the same width for viewers that lack the font.
func (c *Canvas) Save() error {
	var b bytes.Buffer
	if _, err := c.out.WriteTo(&b); err != nil {
		return err
	}
	text := b.Bytes()
	if !isPNG(c.file) {
		text = bytes.ReplaceAll(text, []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
	}
	return os.WriteFile(c.file, text, 0o644)
}

// Ticks marks 1, 2 and 5 times each power of ten, with labels where there is room.
func Ticks(low, high float64) []plot.Tick {
	crowded := math.Log10(high/low) > 2.5
	var ticks []plot.Tick
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for _, m := range []float64{1, 2, 5} {
			t := plot.Tick{Value: m * math.Pow(10, e)}
			if t.Value < low || t.Value > high {
				continue
			}
			if m == 1 || !crowded {
				t.Label = fmt.Sprintf("%.4g", t.Value)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}
