package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/go-halyard/halyard/bench/internal/timing"
)

// rows are the cases in the order of the table.
var rows = []struct {
	key, title string
}{
	{"acquire-valid 1048576", "make current what is current"},
	{"ping-pong 1", "ping-pong, 1 byte"},
	{"ping-pong 1048576", "ping-pong, 1 MiB"},
	{"ping-pong 67108864", "ping-pong, 64 MiB"},
	{"update-1KiB 1073741824", "update of 1 KiB in 1 GiB"},
	{"alloc-free 4096", "allocate and free 4 KiB"},
	{"alloc-free 1048576", "allocate and free 1 MiB"},
	{"alloc-free-svm 4096", "the same, clSVMAlloc, 4 KiB"},
	{"alloc-free-svm 1048576", "the same, clSVMAlloc, 1 MiB"},
	{"sweep-8x 33554432", "sweep over 8 times the budget of 32 MiB"},
}

// markdown is the table and what is needed to read it.
func (r *results) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured %s on %s, Halyard at %s; %d rounds, medians.\n\n", r.Date, r.Machine, r.Halyard, r.Rounds)
	t := table.NewWriter()
	head := table.Row{"operation"}
	for _, p := range r.Peers {
		head = append(head, p.Name)
	}
	t.AppendHeader(head)
	for _, row := range rows {
		cells, found := table.Row{row.title}, false
		for _, p := range r.Peers {
			cell := "–"
			if s := p.Samples[row.key]; len(s) > 0 {
				cell, found = r.cell(p, row.key), true
			}
			cells = append(cells, cell)
		}
		if found {
			t.AppendRow(cells)
		}
	}
	b.WriteString(t.RenderMarkdown())
	b.WriteString("\n\n")
	for _, p := range r.Peers {
		fmt.Fprintf(&b, "- %s: %s, on %s", p.Name, p.Version, p.Device)
		if p.Shared {
			b.WriteString("; host and device are one memory, nothing is copied")
		}
		if p.Note != "" {
			fmt.Fprintf(&b, "; %s", p.Note)
		}
		b.WriteString(".\n")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Missing)) {
		fmt.Fprintf(&b, "- %s is missing: %s.\n", name, r.Missing[name])
	}
	return b.String()
}

// cell is the median. For a peer it also has the ratio to Halyard, whose figure is that of the first system in the table with
// the same kind of memory, shared or not. If that has no figure there is no ratio.
func (r *results) cell(p *peer, key string) string {
	m := timing.Summarize(p.Samples[key]).Median
	text := timing.Duration(m)
	i := slices.IndexFunc(r.Peers, func(other *peer) bool { return other.Shared == p.Shared })
	if ours := r.Peers[i].Samples[key]; r.Peers[i] != p && len(ours) > 0 {
		text += fmt.Sprintf(" (%s)", times(m/timing.Summarize(ours).Median))
	}
	return text
}

func times(x float64) string {
	switch {
	case x >= 10:
		return fmt.Sprintf("×%.0f", x)
	case x >= 0.1:
		return fmt.Sprintf("×%.1f", x)
	}
	return fmt.Sprintf("×%.2g", x)
}
