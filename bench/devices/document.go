package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/bench/internal/timing"
)

// document puts the tables into a file, and a picture if there is one.
func (r *report) document(path, picture string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s; %s; Halyard at %s; %s.", r.Date.Format("2006-01-02"), r.Machine, r.Version, r.Go)
	if r.Load != nil {
		fmt.Fprintf(&b, " The load average when the run began was %.1f on %s: on a machine that does nothing else it is near 0.", *r.Load, plural(r.Processors, "processor"))
	}
	b.WriteString("\n")
	if r.Simulated {
		b.WriteString("\n**Some of these devices are simulated.** Their times say nothing about hardware.\n")
	}
	if picture != "" {
		fmt.Fprintf(&b, "\n![Bandwidth and ratio by size](%s)\n", frame.Relative(path, picture))
	}
	for _, d := range r.Devices {
		rows := r.on(d.Device)
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s.\n", d.Device, joinNonEmpty("; ", strings.TrimPrefix(d.title(), d.Device+"  "), d.Driver))
		r.sized(&b, rows)
		r.calls(&b, rows)
	}
	r.slower(&b)
	fmt.Fprintln(&b)
	return timing.Replace(path, "bench", b.String())
}

// markdown writes a table, its first column to the left and the others to the right.
func markdown(b *strings.Builder, header []string, rows [][]string) {
	fmt.Fprintf(b, "\n| %s |\n|---|%s\n", strings.Join(header, " | "), strings.Repeat("--:|", len(header)-1))
	for _, row := range rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
	}
}

// sized writes ratios by size, and rates by size below them.
func (r *report) sized(b *strings.Builder, rows []*result) {
	var families []string
	var sizes []uint64
	cell := map[string]map[uint64]*result{}
	for _, row := range rows {
		if row.bytes() == 0 || strings.HasPrefix(row.Family, "enqueue/") {
			continue
		}
		if cell[row.Family] == nil {
			cell[row.Family] = map[uint64]*result{}
			families = append(families, row.Family)
		}
		cell[row.Family][row.Size] = row
		if !slices.Contains(sizes, row.Size) {
			sizes = append(sizes, row.Size)
		}
	}
	if len(families) == 0 {
		return
	}
	slices.Sort(sizes)
	write := func(title string, sizes []uint64, text func(*result) string) {
		header, lines := []string{title}, [][]string{}
		for _, n := range sizes {
			header = append(header, bytesText(n))
		}
		for _, f := range families {
			line := []string{f}
			for _, n := range sizes {
				if row := cell[f][n]; row != nil {
					line = append(line, text(row))
				} else {
					line = append(line, "")
				}
			}
			lines = append(lines, line)
		}
		markdown(b, header, lines)
	}
	write("our time / raw time", sizes, func(row *result) string {
		if row.Ratio == nil {
			return "-"
		}
		return row.ratioText()
	})
	large := slices.DeleteFunc(slices.Clone(sizes), func(n uint64) bool { return n < 16<<10 })
	if len(large) > 0 {
		write("ours (raw), GB/s", large, func(row *result) string {
			if row.RawRate == 0 {
				return figure(row.OursRate / 1e9)
			}
			return figure(row.OursRate/1e9) + " (" + figure(row.RawRate/1e9) + ")"
		})
	}
}

// calls writes the figures about single calls.
func (r *report) calls(b *strings.Builder, rows []*result) {
	var lines [][]string
	for _, row := range rows {
		if row.bytes() > 0 && !strings.HasPrefix(row.Family, "enqueue/") {
			continue
		}
		line := []string{row.Name, duration(row.Ours.Median), "-", "-", "-", fmt.Sprintf("%.0f", row.Allocs), ""}
		if row.Raw != nil {
			line[2], line[3], line[4], line[6] = duration(row.Raw.Median), row.ratioText(), figure(row.Ratio.Q1)+" - "+figure(row.Ratio.Q3), row.Calls
		}
		lines = append(lines, line)
	}
	if len(lines) > 0 {
		markdown(b, []string{"call", "ours", "raw", "ratio", "quartiles", "allocations", "beside"}, lines)
	}
}

// slowerFrom is the ratio above which a figure is listed as slower.
const slowerFrom = 1.1

// slower lists the measurements whose ratio is at least slowerFrom in three quarters of all pairs.
func (r *report) slower(b *strings.Builder) {
	type entry struct {
		device, family string
		sizes          []string
		most, costs    float64
	}
	var list []*entry
	for i := range r.Results {
		row := &r.Results[i]
		if row.Ratio == nil || row.Ratio.Q1 < slowerFrom {
			continue
		}
		j := slices.IndexFunc(list, func(e *entry) bool { return e.device == row.Device && e.family == row.Family })
		if j < 0 {
			j = len(list)
			list = append(list, &entry{device: row.Device, family: row.Family})
		}
		e := list[j]
		if row.Size > 0 {
			e.sizes = append(e.sizes, bytesText(row.Size))
		}
		if row.Ratio.Median > e.most {
			e.most, e.costs = row.Ratio.Median, row.Ours.Median-row.Raw.Median
		}
	}
	fmt.Fprintf(b, "\n### Where we are slower\n\nEverything above whose ratio is over %.1f in three quarters of the pairs; \"adds\" is our time less the raw time, at the size with the worst ratio.\n", slowerFrom)
	if len(list) == 0 {
		b.WriteString("\nNothing.\n")
		return
	}
	var lines [][]string
	for _, e := range list {
		lines = append(lines, []string{e.device + " " + e.family, strings.Join(e.sizes, ", "), figure(e.most), duration(e.costs)})
	}
	markdown(b, []string{"what", "sizes", "worst ratio", "adds"}, lines)
}
