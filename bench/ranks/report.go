package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-halyard/halyard/bench/internal/chart"
	"github.com/go-halyard/halyard/bench/internal/timing"
	"github.com/go-halyard/halyard/coherence"
)

const writing = coherence.Overwrite

// curve is one problem by the number of ranks.
type curve struct {
	name   string
	points []point
}

// markdown is the table, below the picture if there is one.
func markdown(all []curve, picture string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured %s on %s, Halyard at %s; ranks are goroutines of one process. %d elements of 8 bytes each rank.\n\n", time.Now().Format(time.DateOnly), timing.Machine(), timing.Version(), each)
	if picture != "" {
		fmt.Fprintf(&b, "![What a rank sends, and its share of the time](%s)\n\n", picture)
	}
	b.WriteString("| layout | ranks | messages of a rank | bytes of a rank | making it | first exchange | exchange of nothing new | its bytes |\n|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, c := range all {
		for _, p := range c.points {
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %s | %s | %s | %d |\n", c.name, p.ranks, p.messages, p.bytes,
				duration(p.made), duration(p.moved), duration(p.clean), p.cleanBytes)
		}
	}
	return b.String()
}

// duration rounds to two digits.
func duration(d time.Duration) string {
	unit := time.Nanosecond
	for d/unit >= 100 {
		unit *= 10
	}
	return strings.Replace(d.Round(unit).String(), "µ", " µ", 1)
}

// page is the picture: messages, bytes and times by ranks.
func page(all []curve) chart.Page {
	page := chart.Page{Title: "Exchanges by the number of ranks", Columns: 3, Notes: []string{timing.Machine() + ", Halyard at " + timing.Version() + "; ranks are goroutines of one process"}}
	for _, panel := range []struct {
		title, unit string
		value       func(point) float64
	}{
		{"messages of a rank", "messages", func(p point) float64 { return float64(p.messages) }},
		{"bytes of a rank", "bytes", func(p point) float64 { return float64(p.bytes) }},
		{"making it, a rank's share", "µs", func(p point) float64 { return float64(p.made) / 1e3 }},
		{"moving, a rank's share", "µs", func(p point) float64 { return float64(p.moved) / 1e3 }},
	} {
		out := chart.Panel{Title: panel.title, X: "ranks", Y: panel.unit, Logarithmic: true}
		for _, c := range all[:min(drawn, len(all))] {
			l := chart.Line{Name: c.name}
			for _, p := range c.points {
				l.X, l.Y = append(l.X, float64(p.ranks)), append(l.Y, panel.value(p))
			}
			out.Lines = append(out.Lines, l)
		}
		page.Panels = append(page.Panels, out)
	}
	return page
}
