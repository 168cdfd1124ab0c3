package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/internal/svg"
	"github.com/go-halyard/halyard/internal/tracefile"
)

// look is one kind of bar: its class in the picture, and its name in the legend.
type look struct{ class, name string }

// looks are the kinds of bars, in the order of the legend.
var looks = []look{
	{"in", "copy to a device"}, {"out", "copy to the host"}, {"across", "copy between devices"}, {"fill", "clear"},
	{"use", "work of a lease"}, {"host", "access of the host"}, {"wait", "wait of the host"}, {"evict", "eviction"}, {"res", "resident bytes"},
}

// classOf returns the class of a span's bar, or "" if it has none.
func classOf(s *tracefile.Span) string {
	switch s.Kind {
	case buffer.ActivityCopy:
		switch {
		case s.To == "host":
			return "out"
		case s.From == "host":
			return "in"
		}
		return "across"
	case buffer.ActivityFill:
		return "fill"
	case buffer.ActivityUse:
		if s.Stream == 0 {
			return "host"
		}
		return "use"
	case buffer.ActivityWait:
		return "wait"
	case buffer.ActivityEvict:
		return "evict"
	}
	return "" // not drawn
}

// The style has colors for light and for dark surroundings. Both have their own background, so that
// the picture can be read wherever it is shown.
const style = `<style>
.ground{fill:#ffffff;stroke:#c9d1d9}.bar{stroke:#ffffff;stroke-width:.8}.band{fill:#f3f5f8}.grid{stroke:#dfe4ea}.title{fill:#1b2229}.name{fill:#1b2229}.small{fill:#57606a}.on{fill:#ffffff}
.in{fill:#1f6fc4}.out{fill:#7d4cc2}.across{fill:#0f7f8c}.fill{fill:#7a828c}.use{fill:#2b8a4b}.host{fill:#8a6d1d}.wait{fill:#c0392b}.evict{fill:#c2580e}.res{fill:#1f6fc4;fill-opacity:.18;stroke:#1f6fc4}
@media (prefers-color-scheme:dark){
.ground{fill:#10151c;stroke:#30363d}.bar{stroke:#10151c;stroke-width:.8}.band{fill:#171e27}.grid{stroke:#2a323c}.title{fill:#e6edf3}.name{fill:#e6edf3}.small{fill:#9aa5b1}.on{fill:#0b0f14}
.in{fill:#6cb0f5}.out{fill:#bd97f5}.across{fill:#4cc5d1}.fill{fill:#99a3ae}.use{fill:#5cc97f}.host{fill:#d8b54a}.wait{fill:#f2766a}.evict{fill:#f09a55}.res{fill:#6cb0f5;fill-opacity:.18;stroke:#6cb0f5}
}
</style>
`

const (
	pictureWidth = 1200
	chartLeft    = 150
	chartRight   = 24
	rowHeight    = 28
	barHeight    = 18
	curveHeight  = 24
	markHeight   = 12 // height of the line of marks above the curve
	bandHeight   = 26
	letter       = 6.1 // approximate width of a letter in a bar
)

// traceRow is one line of the picture.
type traceRow struct {
	name   string
	spans  []tracefile.Span
	memory bool // a curve of resident bytes, with evictions as marks
}

// drawTrace draws a trace as a timeline with a title. Time runs from left to right. The places follow each other from top to bottom.
// A device has a row for each stream and a row with the bytes of replicas; the host has rows with the accesses and waits of
// the program. When the mouse is over a bar, a viewer shows the event and its cause.
func drawTrace(w io.Writer, r *tracefile.Trace, title string) error {
	spans := r.Spans
	begin, end := extent(spans)
	total := max(end.Sub(begin), time.Microsecond)
	x := func(t time.Time) float64 {
		return chartLeft + float64(t.Sub(begin))/float64(total)*(pictureWidth-chartLeft-chartRight)
	}

	var body svg.Picture
	const top = 78
	y := float64(top)
	var simulated []string
	for _, p := range r.Places {
		rows := rowsOf(p.Name, spans)
		if len(rows) == 0 {
			continue
		}
		if p.Simulated {
			simulated = append(simulated, p.Name)
		}
		body.Rect(12, y, pictureWidth-24, bandHeight, "class", "band", "rx", 5)
		body.Text(22, y+17, p.Label(), "class", "name", "font-weight", "bold")
		y += bandHeight + 5
		for _, row := range rows {
			at := y + 13
			if row.memory {
				at += markHeight
				drawMemory(&body, row.spans, x, end, y+markHeight)
			}
			body.Text(chartLeft-10, at, row.name, "class", "small", "text-anchor", "end")
			for _, s := range row.spans {
				drawBar(&body, s, x, y)
			}
			y += rowHeight
			if row.memory {
				y += markHeight + curveHeight - barHeight
			}
		}
		y += 5
	}
	drawLegend(&body, spans, y+22)
	if len(simulated) > 0 {
		body.Text(22, y+48, strings.Join(simulated, ", ")+": simulated, there is no such hardware here", "class", "small")
	}

	var all svg.Picture
	height := y + 62
	all.Raw(style)
	all.Rect(0.5, 0.5, pictureWidth-1, height-1, "class", "ground", "rx", 10)
	all.Text(22, 32, title, "class", "title", "font-size", 17, "font-weight", "bold")
	all.Text(pictureWidth-chartRight, 32, sumsText(spans), "class", "small", "text-anchor", "end")
	drawAxis(&all, total, top, y)
	all.Add(&body)
	return all.Write(w, pictureWidth, height, title)
}

// extent returns when the first span begins, and when the last one ends.
func extent(spans []tracefile.Span) (begin, end time.Time) {
	for _, s := range spans {
		if begin.IsZero() || s.Begin.Before(begin) {
			begin = s.Begin
		}
		if s.End.After(end) {
			end = s.End
		}
	}
	return begin, end
}

// rowsOf sorts the spans of a place into rows in which they do not overlap.
func rowsOf(place string, spans []tracefile.Span) []traceRow {
	streams := map[int]int{} // index of the row
	var memory traceRow
	var calls []traceRow
	var work []traceRow
	for _, s := range spans {
		switch {
		case s.Kind == buffer.ActivityAlloc || s.Kind == buffer.ActivityFree || s.Kind == buffer.ActivityEvict:
			if s.Place == place {
				memory.spans = append(memory.spans, s)
			}
		case s.Place != place || classOf(&s) == "":
		case s.Stream > 0:
			i, ok := streams[s.Stream]
			if !ok {
				i = len(work)
				streams[s.Stream] = i
				work = append(work, traceRow{name: fmt.Sprintf("stream %d", s.Stream)})
			}
			work[i].spans = append(work[i].spans, s)
		default:
			i := slices.IndexFunc(calls, func(r traceRow) bool { return !r.spans[len(r.spans)-1].End.After(s.Begin) })
			if i < 0 {
				i = len(calls)
				calls = append(calls, traceRow{name: "program"})
			}
			calls[i].spans = append(calls[i].spans, s)
		}
	}
	slices.SortFunc(work, func(a, b traceRow) int { return a.spans[0].Stream - b.spans[0].Stream })
	rows := append(calls, work...)
	if place != "host" && len(memory.spans) > 0 {
		memory.name, memory.memory = "memory", true
		if p := peak(memory.spans); p > 0 {
			memory.name = "memory, " + bytesText(uint64(p))
		}
		rows = append(rows, memory)
	}
	return rows
}

func drawBar(p *svg.Picture, s tracefile.Span, x func(time.Time) float64, y float64) {
	class := classOf(&s)
	if class == "" {
		return
	}
	left := x(s.Begin)
	wide := max(x(s.End)-left, 1.5)
	if class == "evict" {
		p.Element("path", svg.Tip(storyOf(&s)), "class", "evict", "d", triangle(left, y))
		return
	}
	p.Element("rect", svg.Tip(storyOf(&s)), "class", "bar "+class, "x", left, "y", y, "width", wide, "height", barHeight, "rx", min(3, wide/3))
	for _, text := range textsOf(&s) {
		if float64(utf8.RuneCountInString(text))*letter+8 <= wide {
			p.Text(left+wide/2, y+13, text, "class", "on", "font-size", 11, "text-anchor", "middle")
			break
		}
	}
}

// triangle is the mark of an eviction, with its top at a point.
func triangle(x, y float64) string {
	return fmt.Sprintf("M%s %sl5 9h-10z", svg.Number(x), svg.Number(y))
}

// textsOf returns the texts for the bar, the longest first.
func textsOf(s *tracefile.Span) []string {
	name := cmp.Or(s.Name, fmt.Sprintf("buffer %d", s.Buffer))
	short := fmt.Sprintf("b%d", s.Buffer)
	switch s.Kind {
	case buffer.ActivityCopy:
		why := s.Cause
		if s.For != 0 {
			why = fmt.Sprintf("room for %d", s.For)
		}
		return []string{name + ": " + why, name, short}
	case buffer.ActivityWait:
		return []string{"wait: " + s.Cause, "wait"}
	case buffer.ActivityUse:
		return []string{name + ": " + s.Action, name, short}
	}
	return []string{name, short}
}

// storyOf describes everything known about a span, for display.
func storyOf(s *tracefile.Span) string {
	t := fmt.Sprintf("%s, buffer %d%s, bytes [%d, %d)", s.What, s.Buffer, strings.TrimSuffix(" "+s.Name, " "), s.Lo, s.Hi)
	if d := s.End.Sub(s.Begin); d > 0 {
		t += ", " + durationText(d)
	}
	if s.Cause != "" {
		t += fmt.Sprintf("; because of %s for %v", s.Cause, s.Action)
	}
	if s.For != 0 {
		t += fmt.Sprintf("; room for buffer %d (%s)", s.For, s.Why)
	}
	if s.Sources != "" {
		t += "; current at " + s.Sources
	}
	if s.Caller != "" {
		dir, file := path.Split(filepath.ToSlash(s.Caller))
		t += "; " + path.Join(path.Base(dir), file)
	}
	return t
}

// peak returns the most bytes that replicas have at once.
func peak(spans []tracefile.Span) (most int64) {
	var now int64
	for _, s := range spans {
		now += change(s)
		most = max(most, now)
	}
	return most
}

// change returns the number of bytes by which replicas have grown after the span.
func change(s tracefile.Span) int64 {
	switch s.Kind {
	case buffer.ActivityAlloc:
		return int64(s.Hi - s.Lo)
	case buffer.ActivityFree:
		return -int64(s.Hi - s.Lo)
	}
	return 0
}

// drawMemory draws the bytes of replicas as steps.
func drawMemory(p *svg.Picture, spans []tracefile.Span, x func(time.Time) float64, end time.Time, y float64) {
	most := peak(spans)
	if most == 0 {
		return
	}
	var now int64
	bottom := y + curveHeight
	path := "M" + svg.Number(x(spans[0].Begin)) + " " + svg.Number(bottom)
	for _, s := range spans {
		if d := change(s); d != 0 {
			now += d
			path += "H" + svg.Number(x(s.Begin)) + "V" + svg.Number(bottom-float64(max(now, 0))/float64(most)*(curveHeight-2))
		}
	}
	path += "H" + svg.Number(x(end)) + "V" + svg.Number(bottom) + "Z"
	p.Element("path", svg.Tip("at most "+bytesText(uint64(most))), "class", "res", "d", path)
}

// drawAxis draws lines at round times.
func drawAxis(p *svg.Picture, total time.Duration, top, bottom float64) {
	const lines = 9
	step := math.Pow(10, math.Floor(math.Log10(float64(total)/lines)))
	for _, f := range []float64{1, 2, 5, 10} {
		if float64(total)/(step*f) <= lines {
			step *= f
			break
		}
	}
	unit, name := 1e3, "µs"
	switch {
	case float64(total) >= 2e9:
		unit, name = 1e9, "s"
	case float64(total) >= 2e6:
		unit, name = 1e6, "ms"
	}
	for i := 0; float64(i)*step <= float64(total); i++ {
		t := float64(i) * step
		x := chartLeft + t/float64(total)*(pictureWidth-chartLeft-chartRight)
		p.Line(x, top-8, x, bottom, "class", "grid")
		p.Text(x, top-14, fmt.Sprintf("%g %s", math.Round(t/unit*1e3)/1e3, name), "class", "small", "text-anchor", "middle", "font-size", 11)
	}
}

// drawLegend names the kinds of bars in the picture.
func drawLegend(p *svg.Picture, spans []tracefile.Span, y float64) {
	x := 22.0
	for _, l := range looks {
		if !slices.ContainsFunc(spans, func(s tracefile.Span) bool {
			return classOf(&s) == l.class || l.class == "res" && s.Kind == buffer.ActivityAlloc && s.Place != "host"
		}) {
			continue
		}
		if l.class == "evict" {
			p.Path(triangle(x+6, y-9), "class", "evict")
		} else {
			p.Rect(x, y-10, 12, 12, "class", l.class, "rx", 2)
		}
		p.Text(x+18, y, l.name, "class", "small")
		x += 18 + float64(len(l.name))*letter + 22
	}
}

// sumsText returns one line with the bytes that were copied, the bytes that needed no copy, and the number of evictions.
func sumsText(spans []tracefile.Span) string {
	var copied, avoided uint64
	evictions := 0
	for _, s := range spans {
		switch s.Kind {
		case buffer.ActivityCopy:
			copied += s.Hi - s.Lo
		case buffer.ActivityAvoided:
			avoided += s.Hi - s.Lo
		case buffer.ActivityEvict:
			evictions++
		}
	}
	t := fmt.Sprintf("copied %s, avoided %s", bytesText(copied), bytesText(avoided))
	switch {
	case evictions == 1:
		t += ", 1 eviction"
	case evictions > 1:
		t += fmt.Sprintf(", %d evictions", evictions)
	}
	return t
}

func durationText(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.1f µs", float64(d)/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.2f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
