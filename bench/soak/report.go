package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/go-halyard/halyard/bench/internal/chart"
	"github.com/go-halyard/halyard/bench/internal/timing"
)

// results is the outcome of a run.
type results struct {
	Took        time.Duration
	Interrupted bool
	Requests    uint64
	Kinds       []string // how many of each
	Samples     []sample
	Wrong       uint64 // bytes
	Failed      uint64 // requests, and what stayed open
	Failures    map[string]uint64
}

// add adds a sample. running is how long requests ran since the last sample.
func (r *results) add(s sample, running time.Duration) {
	var last float64
	if n := len(r.Samples); n > 0 {
		last = r.Samples[n-1].Requests
	}
	s.Rate = (s.Requests - last) / running.Seconds()
	r.Samples = append(r.Samples, s)
}

func (r *results) failed() bool {
	for _, b := range bounds {
		if b.exceeded(grown(r.Samples, b.of)) {
			return true
		}
	}
	return r.Wrong > 0 || r.Failed > 0
}

func rate(s sample) float64 { return s.Rate }

func (r *results) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d requests in %s", r.Requests, r.Took.Round(time.Second))
	if r.Interrupted {
		b.WriteString(", interrupted")
	}
	b.WriteString(": " + strings.Join(r.Kinds, ", ") + "\n")
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(table.Row{"second half", "from", "to", "per 100,000 requests", "allowed", ""})
	for _, bound := range bounds {
		g := grown(r.Samples, bound.of)
		per, verdict := fmt.Sprintf("%+.1f", g.Per), "ok"
		switch {
		case !g.Judged:
			per, verdict = "–", "too few samples"
		case bound.exceeded(g):
			verdict = "GROWS"
		}
		t.AppendRow(table.Row{bound.name, figure(g.First), figure(g.Last), per, figure(bound.per), verdict})
	}
	g := grown(r.Samples, rate)
	t.AppendRow(table.Row{"requests a second", figure(g.First), figure(g.Last), "", "", "not judged"})
	b.WriteString(t.Render() + "\n")
	for _, f := range slices.Sorted(maps.Keys(r.Failures)) {
		fmt.Fprintf(&b, "FAILED  %s (%d times)\n", strings.ReplaceAll(f, "\n", "; "), r.Failures[f])
	}
	fmt.Fprintf(&b, "%d wrong bytes, %d failures\n", r.Wrong, r.Failed)
	return b.String()
}

func figure(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf("%.0f", x)
}

// page is the picture: a panel for each series.
func (r *results) page() chart.Page {
	page := chart.Page{Title: "A server under load", Columns: 2, Notes: []string{time.Now().Format(time.DateOnly) + ", " + timing.Machine() + ", Halyard at " + timing.Version()}}
	panel := func(name string, of func(sample) float64) {
		l := chart.Line{Plain: true}
		for _, s := range r.Samples {
			l.X, l.Y = append(l.X, s.At.Seconds()), append(l.Y, of(s))
		}
		page.Panels = append(page.Panels, chart.Panel{Title: name, X: "seconds", Lines: []chart.Line{l}})
	}
	for _, b := range bounds {
		panel(b.name, b.of)
	}
	panel("requests a second", rate)
	return page
}
