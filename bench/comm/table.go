package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/bench/internal/timing"
)

// samples are the figures of a program's runs, by case.
type samples struct{ runs []map[string][]float64 }

// read adds a run. Each line of the program is a case and a number with a tab between them. Lines without a tab are ignored.
func (s *samples) read(text string) {
	run := map[string][]float64{}
	for line := range strings.Lines(text) {
		if name, number, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			run[name] = append(run[name], frame.Get(strconv.ParseFloat(number, 64)))
		}
	}
	s.runs = append(s.runs, run)
}

// lowest returns the lowest figure of each run.
func (s *samples) lowest(name string) (all []float64) {
	if len(s.runs) == 0 {
		frame.Must(fmt.Errorf("no run has a figure of %q", name))
	}
	for i, run := range s.runs {
		if len(run[name]) == 0 {
			frame.Must(fmt.Errorf("run %d has no figure of %q", i+1, name))
		}
		all = append(all, timing.Summarize(run[name]).Min)
	}
	return all
}

// row is a case of Halyard beside one of the program in C. c is "" if the program has no such case.
type row struct{ text, c, ours string }

var rows = []row{
	{"8 bytes, Go slices, one way", "8 bytes", "slices, 8 bytes"},
	{"8 bytes, buffers on the host, one way", "8 bytes", "buffers, 8 bytes"},
	{"8 bytes, buffers of `comm.NewBuffer`, one way", "8 bytes", "own, 8 bytes"},
	{"1 MiB, Go slices, one way", "1 MiB", "slices, 1 MiB"},
	{"1 MiB, buffers on the host, one way", "1 MiB", "buffers, 1 MiB"},
	{"1 MiB, buffers of `comm.NewBuffer`, one way", "1 MiB", "own, 1 MiB"},
	{"two halos of 64 bytes, slices that a discrete device has written", "halos", "halos"},
	{"the same by `part.Buffer.Exchange`", "halos", "part, written"},
	{"`Exchange` of ghosts that are current", "", "part, clean"},
}

// table is a table of the medians over the runs.
func table(c, ours *samples) string {
	var b strings.Builder
	b.WriteString("| | C | Halyard | Halyard - C | Halyard / C | lowest to highest | Go allocations |\n|---|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range rows {
		mine, allocs := ours.lowest(r.ours), ours.lowest(r.ours+", allocations")
		m, a := timing.Summarize(mine).Median, timing.Summarize(allocs).Median
		if r.c == "" {
			fmt.Fprintf(&b, "| %s | | %s | | | | %.3g |\n", r.text, micro(m), a)
			continue
		}
		theirs := c.lowest(r.c)
		var ratios, more []float64
		for i := range mine {
			ratios, more = append(ratios, mine[i]/theirs[i]), append(more, mine[i]-theirs[i])
		}
		s := timing.Summarize(ratios)
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.2f | %.2f - %.2f | %.3g |\n", r.text, micro(timing.Summarize(theirs).Median), micro(m),
			micro(timing.Summarize(more).Median), s.Median, s.Min, s.Max, a)
	}
	fmt.Fprintf(&b, "\nA rank that waits takes %.1f %% of a processor after the first millisecond; in C, by `MPI_Recv`, it takes %.0f %%.\n",
		100*timing.Summarize(ours.lowest("waiting")).Median, 100*timing.Summarize(c.lowest("waiting")).Median)
	return b.String()
}

// micro is a time in microseconds.
func micro(ns float64) string { return fmt.Sprintf("%.2f µs", ns/1e3) }
