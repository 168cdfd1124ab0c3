// Package chart draws pages of panels with curves, as SVG. It knows nothing of what the curves show.
package chart

import (
	"bytes"
	"fmt"
	"math"
	"os"

	"github.com/go-halyard/halyard/internal/svg"
)

// Page is a picture of several panels, from left to right and then downward.
type Page struct {
	Title   string
	Notes   []string // lines below the title
	Columns int
	Width   float64 // of a panel, in pixels; 0 means 400
	Panels  []Panel
}

// Panel is one coordinate system.
type Panel struct {
	Title, X, Y string
	Logarithmic bool     // the axes are logarithmic, except one with names; points that are not above 0 are left out
	Rows        []string // names on the vertical axis, from the lowest: the Y of a point is the index of a name
	Bytes       bool     // the horizontal axis has numbers of bytes: powers of two
	One         bool     // a line marks where the value is 1: Y, or X in a panel with names
	Height      float64  // in pixels; 0 means 280, or what the names need
	Lines       []Line
}

// Line is a sequence of points, joined in their order.
type Line struct {
	Name      string // in the legend; "" leaves the line out of it
	Plain     bool   // without a mark at each point
	Dots      bool   // marks that are not joined
	Dashed    bool
	Look      int // which color and mark it has: 1 is the first, and Black has a cross; 0 means those of its place among the lines
	X, Y      []float64
	Low, High []float64 // the ends of a bar at each point, or nil
}

// Black is the look of what others are compared with.
const Black = -1

// colors can be told apart with color blindness, and marks in a gray print too.
var (
	colors = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}
	marks  = []string{"disk", "square", "triangle", "plus", "box", "ring"}
)

const (
	gray   = "#57606a"
	letter = 5.4 // approximate width of a letter of 10 pixels
	inset  = 14  // between panels, and at the border of the page
)

// Write draws the page into a file.
func (g Page) Write(file string) error {
	if len(g.Panels) == 0 {
		return fmt.Errorf("%s: the page has no panels", file)
	}
	columns, width := max(g.Columns, 1), g.Width
	if width == 0 {
		width = 400
	}
	var p svg.Picture
	wide := float64(columns)*(width+inset) + inset
	p.Text(inset, 24, g.Title, "font-size", 15, "font-weight", "bold")
	y := 30.0
	for _, note := range g.Notes {
		y += 14
		p.Text(inset, y, note, "font-size", 10, "fill", gray)
	}
	y += inset
	for first := 0; first < len(g.Panels); first += columns {
		high := 0.0
		for i, panel := range g.Panels[first:min(first+columns, len(g.Panels))] {
			high = max(high, panel.draw(&p, inset+float64(i)*(width+inset), y, width))
		}
		y += high + inset
	}
	var all svg.Picture
	all.Rect(0, 0, wide, y, "fill", "#ffffff")
	all.Add(&p)
	var b bytes.Buffer
	if err := all.Write(&b, wide, y, g.Title); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// axis maps values to pixels.
type axis struct {
	low, high   float64 // values
	from, to    float64 // pixels
	logarithmic bool
}

func (a axis) at(v float64) float64 {
	low, high := a.low, a.high
	if a.logarithmic {
		v, low, high = math.Log(max(v, a.low)), math.Log(low), math.Log(high)
	}
	return a.from + (v-low)/(high-low)*(a.to-a.from)
}

// shown reports whether the axes have a place for point i.
func (panel *Panel) shown(l *Line, i int) bool {
	return !panel.Logarithmic || l.X[i] > 0 && (l.Y[i] > 0 || panel.Rows != nil)
}

// axes returns the axes for all points, without their pixels.
func (panel *Panel) axes() (x, y axis) {
	x, y = axis{low: math.Inf(1), high: math.Inf(-1)}, axis{low: math.Inf(1), high: math.Inf(-1)}
	for _, l := range panel.Lines {
		for i := range l.X {
			if !panel.shown(&l, i) {
				continue
			}
			x.low, x.high = min(x.low, l.X[i]), max(x.high, l.X[i])
			y.low, y.high = min(y.low, l.Y[i]), max(y.high, l.Y[i])
			if l.Low != nil {
				y.low, y.high = min(y.low, max(l.Low[i], l.Y[i]/10)), max(y.high, l.High[i])
			}
		}
	}
	if x.low > x.high { // no point at all
		x.low, x.high, y.low, y.high = 1, 10, 1, 10
	}
	one := &y
	if panel.Rows != nil {
		one = &x
	}
	if panel.One {
		one.low, one.high = min(one.low, 0.5), max(one.high, 2)
	}
	x.logarithmic, y.logarithmic = panel.Logarithmic, panel.Logarithmic && panel.Rows == nil
	if x.logarithmic {
		x.high = max(x.high, 2*x.low)
	} else {
		x.high = max(x.high, x.low+1)
	}
	switch {
	case panel.Rows != nil:
		x.low, x.high = x.low/1.1, x.high*1.1
		if !x.logarithmic {
			x.low = 0
		}
		y.low, y.high = -0.5, float64(len(panel.Rows))-0.5
	case y.logarithmic:
		y.low, y.high = y.low/1.2, max(y.high*1.2, 2*y.low)
	default:
		y.low = min(y.low, 0)
		y.high = max(y.high*1.1, y.low+1)
	}
	return x, y
}

// draw draws the panel with its left upper corner at a point, and returns its height.
func (panel *Panel) draw(p *svg.Picture, left, top, width float64) (height float64) {
	x, y := panel.axes()
	size := 11.0
	if len(panel.Title) > 60 {
		size = 9
	}
	p.Text(left+width/2, top+11, panel.Title, "font-size", size, "font-weight", "bold", "text-anchor", "middle")
	above := panel.legend(p, left, top+26, width) - top
	margin := 52.0
	for _, name := range panel.Rows {
		margin = max(margin, float64(len(name))*letter+10)
	}
	if height = panel.Height; height == 0 {
		height = 280
		if panel.Rows != nil {
			height = above + float64(len(panel.Rows))*14 + 40
		}
	}
	x.from, x.to = left+margin, left+width-6
	y.from, y.to = top+height-34, top+above
	for _, t := range panel.ticks(x, panel.Bytes) {
		at := x.at(t.value)
		p.Line(at, y.from, at, y.to, "stroke", "#dddddd")
		p.Text(at, y.from+13, t.label, "font-size", 9, "text-anchor", "middle")
	}
	for _, t := range panel.steps(y) {
		at := y.at(t.value)
		p.Line(x.from, at, x.to, at, "stroke", "#dddddd")
		p.Text(x.from-5, at+3, t.label, "font-size", 9, "text-anchor", "end")
	}
	p.Path(fmt.Sprintf("M%s %sV%sH%s", svg.Number(x.from), svg.Number(y.to), svg.Number(y.from), svg.Number(x.to)),
		"fill", "none", "stroke", "#000000")
	p.Text((x.from+x.to)/2, y.from+28, panel.X, "font-size", 10, "text-anchor", "middle")
	at := (y.from + y.to) / 2
	p.Text(left+9, at, panel.Y, "font-size", 10, "text-anchor", "middle",
		"transform", fmt.Sprintf("rotate(-90 %s %s)", svg.Number(left+9), svg.Number(at)))
	switch {
	case panel.One && panel.Rows != nil:
		p.Line(x.at(1), y.from, x.at(1), y.to, "stroke", "#000000")
	case panel.One:
		p.Line(x.from, y.at(1), x.to, y.at(1), "stroke", "#000000")
	}
	for i, l := range panel.Lines {
		panel.line(p, &l, i, x, y)
	}
	return height
}

// look returns the color and the mark of a line.
func (l *Line) look(place int) (color, mark string) {
	if l.Look == Black {
		return "#000000", "cross"
	}
	if l.Look > 0 {
		place = l.Look - 1
	}
	return colors[place%len(colors)], marks[place%len(marks)]
}

// legend names the lines, and returns where the axes can begin.
func (panel *Panel) legend(p *svg.Picture, left, y, width float64) float64 {
	x := left + 8
	for i, l := range panel.Lines {
		long := 26 + float64(len(l.Name))*letter
		if l.Name == "" || len(l.X) == 0 {
			continue
		}
		if x+long > left+width && x > left+8 {
			x, y = left+8, y+13
		}
		color, mark := l.look(i)
		if !l.Dots {
			p.Line(x, y-3, x+16, y-3, "stroke", color, "stroke-width", 1.4)
		}
		if !l.Plain {
			drawMark(p, mark, color, x+8, y-3)
		}
		p.Text(x+20, y, l.Name, "font-size", 10)
		x += long + 6
	}
	return y + 8
}

func (panel *Panel) line(p *svg.Picture, l *Line, place int, x, y axis) {
	color, mark := l.look(place)
	path := ""
	for i := range l.X {
		if !panel.shown(l, i) {
			continue
		}
		path += map[bool]string{true: "M", false: "L"}[path == ""] + svg.Number(x.at(l.X[i])) + " " + svg.Number(y.at(l.Y[i]))
	}
	if path == "" {
		return
	}
	if !l.Dots {
		style := []any{"fill", "none", "stroke", color, "stroke-width", 1.4}
		if l.Dashed {
			style = append(style, "stroke-dasharray", "4 3")
		}
		p.Path(path, style...)
	}
	for i := range l.X {
		if !panel.shown(l, i) {
			continue
		}
		at := x.at(l.X[i])
		if l.Low != nil {
			p.Line(at, y.at(l.Low[i]), at, y.at(l.High[i]), "stroke", color, "stroke-width", 0.7)
		}
		if !l.Plain {
			drawMark(p, mark, color, at, y.at(l.Y[i]))
		}
	}
}

func drawMark(p *svg.Picture, mark, color string, x, y float64) {
	full, hollow := []any{"fill", color}, []any{"fill", "#ffffff", "stroke", color}
	circle := func(style []any) { p.Element("circle", "", append([]any{"cx", x, "cy", y, "r", 2.8}, style...)...) }
	path := func(d string, style []any) {
		p.Path("M"+svg.Number(x)+" "+svg.Number(y)+d, style...)
	}
	switch mark {
	case "disk":
		circle(full)
	case "ring":
		circle(hollow)
	case "square":
		p.Rect(x-2.5, y-2.5, 5, 5, full...)
	case "box":
		p.Rect(x-2.5, y-2.5, 5, 5, hollow...)
	case "triangle":
		path("m0 -3.4l3.2 5.8h-6.4z", full)
	case "plus":
		path("m-3.5 0h7m-3.5 -3.5v7", []any{"fill", "none", "stroke", color, "stroke-width", 1.4})
	case "cross":
		path("m-2.6 -2.6l5.2 5.2m0 -5.2l-5.2 5.2", []any{"fill", "none", "stroke", color, "stroke-width", 1.4})
	}
}
