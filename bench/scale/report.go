package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/go-halyard/halyard/bench/internal/chart"
	"github.com/go-halyard/halyard/bench/internal/timing"
)

// results are all curves.
type results struct {
	Date    string        `json:"date"`
	Machine string        `json:"machine"`
	Halyard string        `json:"halyard"`  // which was measured
	Limit   time.Duration `json:"limit_ns"` // of a point
	Curves  []measured    `json:"curves"`
}

// measured is one curve.
type measured struct {
	Name   string   `json:"name"`
	What   string   `json:"what"`
	Series []series `json:"series"`
	Over   int      `json:"over,omitempty"` // the N that took longer than the limit; 0 if there is none
	Notes  []string `json:"notes,omitempty"`
}

// series is the time of an operation by N.
type series struct {
	Name string    `json:"name"`
	Most float64   `json:"exponent_expected"`
	N    []int     `json:"n"`
	NS   []float64 `json:"ns"`
}

// A series bends if its exponent is larger than expected by more than this, over two powers of ten or over the last one. The
// margin is for the processor's caches: as data outgrows one after the other, time can grow tenfold in all, and fourfold
// within one power of ten.
const twoPowers, onePower = 0.5, 0.75

// exponent returns the exponent with which time grows over the last powers of ten, or NaN if there are not enough points.
func (s *series) exponent(powers float64) float64 {
	var x, y []float64
	for i, n := range s.N {
		if float64(n)*math.Pow(10, powers) >= float64(s.N[len(s.N)-1]) {
			x, y = append(x, float64(n)), append(y, s.NS[i])
		}
	}
	if len(x) < 3 {
		return math.NaN()
	}
	return timing.Exponent(x, y)
}

func (s *series) bends() bool {
	return s.exponent(2) > s.Most+twoPowers || s.exponent(1) > s.Most+onePower
}

// growth returns the exponent as text, and says whether it is too large.
func (s *series) growth() string {
	e, last := s.exponent(2), s.exponent(1)
	switch {
	case math.IsNaN(e):
		return "–"
	case e > s.Most+twoPowers:
		return fmt.Sprintf("N^%.2f bends", e)
	case last > s.Most+onePower:
		return fmt.Sprintf("N^%.2f, at last N^%.2f bends", e, last)
	}
	return fmt.Sprintf("N^%.2f", e)
}

// at returns the time at one N, and its ratio to the time at the N before.
func (s *series) at(n int) (ns, times float64, ok bool) {
	for i := range s.N {
		if s.N[i] == n {
			times = math.NaN()
			if i > 0 {
				times = s.NS[i] / s.NS[i-1]
			}
			return s.NS[i], times, true
		}
	}
	return 0, 0, false
}

// text is the table of a curve, a row for each N.
func (m *measured) text(limit time.Duration) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header, t.Style().Format.Footer = text.FormatDefault, text.FormatDefault
	head, foot := table.Row{"N"}, table.Row{"growth"}
	rows := map[int]bool{m.Over: m.Over > 0}
	for i := range m.Series {
		s := &m.Series[i]
		head, foot = append(head, s.Name, "×"), append(foot, s.growth(), "")
		for _, n := range s.N {
			rows[n] = true
		}
	}
	t.AppendHeader(head)
	for _, n := range sizes(1, math.MaxInt32) {
		if !rows[n] {
			continue
		}
		row := table.Row{n}
		for i := range m.Series {
			ns, times, ok := m.Series[i].at(n)
			switch {
			case !ok:
				row = append(row, "> "+limit.String(), "")
			case math.IsNaN(times):
				row = append(row, timing.Duration(ns), "")
			default:
				row = append(row, timing.Duration(ns), fmt.Sprintf("%.1f", times))
			}
		}
		t.AppendRow(row)
	}
	t.AppendFooter(foot)
	lines := []string{m.Name + ": " + m.What, t.Render()}
	return strings.Join(append(lines, m.Notes...), "\n") + "\n"
}

// bent lists the series that grow too fast, the curves that went over the limit, and the notes.
func (r *results) bent() (list []string) {
	for i := range r.Curves {
		m := &r.Curves[i]
		for k := range m.Series {
			if s := &m.Series[k]; s.bends() {
				list = append(list, m.Name+", "+s.Name+": "+strings.TrimSuffix(s.growth(), " bends"))
			}
		}
		if m.Over > 0 {
			list = append(list, fmt.Sprintf("%s: over the limit of %s at N = %d", m.Name, r.Limit, m.Over))
		}
		for _, n := range m.Notes {
			list = append(list, m.Name+": "+n)
		}
	}
	return list
}

func (r *results) summary() string {
	list := r.bent()
	if len(list) == 0 {
		return "No curve bends.\n"
	}
	return "Bends:\n  " + strings.Join(list, "\n  ") + "\n"
}

// markdown is one table of all series, with a column for each power of ten, and the list of those that bend.
func (r *results) markdown(picture string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured %s on %s, Halyard at %s; %s for a point.\n\n", r.Date, r.Machine, r.Halyard, r.Limit)
	if picture != "" {
		fmt.Fprintf(&b, "![Time of an operation by N](%s)\n\n", picture)
	}
	var columns []int
	for _, n := range sizes(1, math.MaxInt32) {
		if math.Pow(10, math.Round(math.Log10(float64(n)))) == float64(n) && r.has(n) {
			columns = append(columns, n)
		}
	}
	t := table.NewWriter()
	head := table.Row{"curve", "time of"}
	for _, n := range columns {
		head = append(head, fmt.Sprintf("N = %d", n))
	}
	t.AppendHeader(append(head, "growth"))
	for i := range r.Curves {
		m := &r.Curves[i]
		name := m.Name
		for k := range m.Series {
			s := &m.Series[k]
			row := table.Row{name, s.Name}
			for _, n := range columns {
				ns, _, ok := s.at(n)
				switch {
				case ok:
					row = append(row, timing.Duration(ns))
				case n == m.Over:
					row = append(row, "> "+r.Limit.String())
				default:
					row = append(row, "")
				}
			}
			t.AppendRow(append(row, s.growth()))
			name = ""
		}
	}
	b.WriteString(t.RenderMarkdown() + "\n\n")
	for i := range r.Curves {
		fmt.Fprintf(&b, "- `%s`: %s.\n", r.Curves[i].Name, r.Curves[i].What)
	}
	list := r.bent()
	if len(list) == 0 {
		b.WriteString("\nNo curve bends.\n")
		return b.String()
	}
	b.WriteString("\nWhat bends, or took too long:\n\n- " + strings.Join(list, "\n- ") + "\n")
	return b.String()
}

func (r *results) has(n int) bool {
	for i := range r.Curves {
		for k := range r.Curves[i].Series {
			if _, _, ok := r.Curves[i].Series[k].at(n); ok {
				return true
			}
		}
	}
	return false
}

// page is the picture: a panel for each curve.
func (r *results) page() chart.Page {
	page := chart.Page{Title: "Time of an operation by the number of things", Columns: 3, Notes: []string{
		r.Date + ", " + r.Machine + ", Halyard at " + r.Halyard,
		fmt.Sprintf("A line that is level costs the same however many there are. A curve ends where a point took more than %s.", r.Limit),
	}}
	for i := range r.Curves {
		m := &r.Curves[i]
		panel := chart.Panel{Title: m.Name, X: "N", Y: "ns", Logarithmic: true}
		if m.Over > 0 {
			panel.Title += fmt.Sprintf(" (over the limit at %d)", m.Over)
		}
		for k := range m.Series {
			s := &m.Series[k]
			l := chart.Line{Name: s.Name + ": " + s.growth(), Y: s.NS}
			for _, n := range s.N {
				l.X = append(l.X, float64(n))
			}
			panel.Lines = append(panel.Lines, l)
		}
		page.Panels = append(page.Panels, panel)
	}
	return page
}
