package trace

import (
	"fmt"
	"html"
	"io"
	"strings"
	"time"

	"github.com/go-halyard/halyard/buffer"
)

var colours = map[buffer.EventKind]string{
	buffer.EventCopy:  "#3b82c4",
	buffer.EventFill:  "#8a8f98",
	buffer.EventAlloc: "#3f9b57",
	buffer.EventFree:  "#c2803a",
	buffer.EventWait:  "#b9504f",
}

// WriteSVG draws the recording as a timeline: a row per track, time from left to right. The mouse over a
// bar tells what it is.
func (r *Recording) WriteSVG(w io.Writer) error {
	const (
		left, right, top = 120, 20, 34
		width, row, bar  = 960, 30, 18
	)
	spans := r.Spans()
	names := tracks(spans)
	begin, end := r.begun, r.begun
	for i, s := range spans {
		if i == 0 {
			begin = s.At
		}
		if s.End.After(end) {
			end = s.End
		}
	}
	total := max(end.Sub(begin), time.Microsecond)
	at := func(t time.Time) float64 {
		return left + float64(t.Sub(begin))/float64(total)*(width-left-right)
	}
	height := top + row*len(names) + 44
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	const ticks = 6
	for i := range ticks + 1 {
		x := left + float64(i)/ticks*(width-left-right)
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#dddddd"/>`, x, top-6, x, top+row*len(names))
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" fill="#555555" text-anchor="middle">%s</text>`+"\n", x, top-14, span(total*time.Duration(i)/ticks))
	}
	for i, n := range names {
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#222222" text-anchor="end">%s</text>`+"\n", left-10, top+i*row+bar-4, html.EscapeString(n))
	}
	for _, s := range spans {
		for i, n := range names {
			if n != s.Track {
				continue
			}
			x := at(s.At)
			wide := max(at(s.End)-x, 2)
			fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s" fill-opacity="0.85"><title>%s</title></rect>`+"\n",
				x, top+i*row, wide, bar, colours[s.Kind], html.EscapeString(fmt.Sprintf("%s, buffer %d [%d, %d), %s, %s",
					s.label(), s.Buffer, s.Lo, s.Hi, s.Cause, span(s.End.Sub(s.At)))))
		}
	}
	x := left
	for _, k := range []buffer.EventKind{buffer.EventCopy, buffer.EventFill, buffer.EventAlloc, buffer.EventFree, buffer.EventWait} {
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="12" height="12" fill="%s"/><text x="%d" y="%d" fill="#222222">%s</text>`+"\n",
			x, height-24, colours[k], x+18, height-14, k)
		x += 90
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func span(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", float64(d)/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.2f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
