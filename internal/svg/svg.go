// Package svg writes pictures: timelines of package buffer/trace, the charts of module bench, and the diagram of the protocol.
package svg

import (
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
	"strings"
)

// A Picture collects the elements of a picture, in the order in which they are drawn. Attributes of an element are a list of names and
// values in turn. A value is a string, which is escaped, an int or a float64.
type Picture struct{ b strings.Builder }

// Rect draws a rectangle.
func (p *Picture) Rect(x, y, w, h float64, attributes ...any) {
	p.Element("rect", "", append([]any{"x", x, "y", y, "width", w, "height", h}, attributes...)...)
}

// Line draws a line between two points.
func (p *Picture) Line(x1, y1, x2, y2 float64, attributes ...any) {
	p.Element("line", "", append([]any{"x1", x1, "y1", y1, "x2", x2, "y2", y2}, attributes...)...)
}

// Path draws what the commands d of SVG say.
func (p *Picture) Path(d string, attributes ...any) {
	p.Element("path", "", append([]any{"d", d}, attributes...)...)
}

// Text writes text that begins at a point. The attribute text-anchor makes the point the middle or the end of the text.
func (p *Picture) Text(x, y float64, text string, attributes ...any) {
	if text == "" {
		return
	}
	p.Element("text", html.EscapeString(text), append([]any{"x", x, "y", y}, attributes...)...)
}

// Tip is the content of an element for which a viewer shows a text while the mouse is over it.
func Tip(text string) string { return "<title>" + html.EscapeString(text) + "</title>" }

// Element writes an element with contents that are SVG already.
func (p *Picture) Element(name, contents string, attributes ...any) {
	p.b.WriteString("<" + name)
	for i := 0; i+1 < len(attributes); i += 2 {
		fmt.Fprintf(&p.b, ` %s="%s"`, attributes[i], value(attributes[i+1]))
	}
	if contents == "" {
		p.b.WriteString("/>\n")
		return
	}
	p.b.WriteString(">" + contents + "</" + name + ">\n")
}

// Add adds all of another picture.
func (p *Picture) Add(q *Picture) { p.b.WriteString(q.b.String()) }

// Raw adds text that is SVG already, such as a style.
func (p *Picture) Raw(text string) { p.b.WriteString(text) }

// Write writes a file with the picture, in pixels. Its title is for those who cannot see it.
func (p *Picture) Write(w io.Writer, width, height float64, title string) error {
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%[1]s" height="%[2]s" role="img" `+
		`aria-labelledby="title" `+
		`font-family="Helvetica, Arial, 'Liberation Sans', sans-serif" font-size="12">`+"\n<title id=\"title\">%s</title>\n%s</svg>\n",
		Number(width), Number(height), html.EscapeString(title), p.b.String())
	return err
}

func value(v any) string {
	switch v := v.(type) {
	case float64:
		return Number(v)
	case int:
		return strconv.Itoa(v)
	}
	return html.EscapeString(fmt.Sprint(v))
}

// Number formats a coordinate, to a tenth of a pixel.
func Number(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64) }
