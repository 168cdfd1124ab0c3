package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/internal/tracefile"
)

// traceSum adds up the activities of one call, link or line of the program.
type traceSum struct {
	key                            []string
	copies, bytes, avoided, evicts uint64
	took, waited                   time.Duration
}

// traceSums are sums by key.
type traceSums map[string]*traceSum

func (m traceSums) at(key ...string) *traceSum {
	k := strings.Join(key, "\x00")
	if m[k] == nil {
		m[k] = &traceSum{key: key}
	}
	return m[k]
}

// sorted returns the sums, the largest first.
func (m traceSums) sorted() []*traceSum {
	return slices.SortedFunc(maps.Values(m), func(a, b *traceSum) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(b.avoided, a.avoided), cmp.Compare(b.waited, a.waited),
			slices.Compare(a.key, b.key))
	})
}

// sumTrace sums up a trace by call, by link, by line of the program, and as a whole.
func sumTrace(r *tracefile.Trace, label map[string]string) (calls, links, lines traceSums, all traceSum) {
	calls, links, lines = traceSums{}, traceSums{}, traceSums{}
	for _, s := range r.Spans {
		call := s.Cause
		if s.For != 0 {
			call += ", to make room"
		}
		n, c := s.Hi-s.Lo, calls.at(call)
		switch s.Kind {
		case buffer.ActivityCopy:
			link := label[s.From] + " → " + label[s.To]
			for _, x := range []*traceSum{&all, c, links.at(link), lines.at(link, call, callerText(s.Caller))} {
				x.copies++
				x.bytes += n
				x.took += s.End.Sub(s.Begin)
			}
		case buffer.ActivityAvoided:
			all.avoided += n
			c.avoided += n
		case buffer.ActivityEvict:
			all.evicts++
			c.evicts++
		case buffer.ActivityWait:
			all.waited += s.Took
			c.waited += s.Took
		}
	}
	return calls, links, lines, all
}

// printTrace prints these sums.
func printTrace(out io.Writer, r *tracefile.Trace, top int) {
	label := map[string]string{}
	var simulated []string
	for _, p := range r.Places {
		label[p.Name] = p.Label()
		if p.Simulated {
			simulated = append(simulated, p.Name)
		}
	}
	calls, links, lines, all := sumTrace(r, label)
	t := newTable(out)
	t.AppendHeader(table.Row{"call", "copies", "copied", "avoided", "evictions", "host waited"})
	for _, c := range calls.sorted() {
		if c.copies+c.avoided+c.evicts > 0 || c.waited > 0 {
			t.AppendRow(table.Row{c.key[0], c.copies, bytesText(c.bytes), bytesText(c.avoided), c.evicts, waitText(c.waited)})
		}
	}
	renderTrace(out, t)
	t = newTable(out)
	t.AppendHeader(table.Row{"from and to", "copies", "copied", "time"})
	for _, l := range links.sorted() {
		t.AppendRow(table.Row{l.key[0], l.copies, bytesText(l.bytes), waitText(l.took)})
	}
	renderTrace(out, t)
	t = newTable(out)
	t.AppendHeader(table.Row{"what copied the most", "copies", "copied", "from and to", "call"})
	sorted := lines.sorted()
	for _, l := range sorted[:min(top, len(sorted))] {
		t.AppendRow(table.Row{l.key[2], l.copies, bytesText(l.bytes), l.key[0], l.key[1]})
	}
	renderTrace(out, t)
	if len(sorted) > top && top > 0 {
		fmt.Fprintf(out, "and %s more; --top lists more\n\n", plural(len(sorted)-top, "line"))
	}
	if len(simulated) > 0 {
		fmt.Fprintf(out, "simulated: %s\n", strings.Join(simulated, ", "))
	}
	fmt.Fprintf(out, "copied %s in %s, avoided %s, %s, host waited %s\n", bytesText(all.bytes), plural(int(all.copies), "transfer"),
		bytesText(all.avoided), plural(int(all.evicts), "eviction"), waitText(all.waited))
}

func renderTrace(out io.Writer, t table.Writer) {
	if t.Length() > 0 {
		t.Render()
		fmt.Fprintln(out)
	}
}

func waitText(d time.Duration) string {
	if d >= time.Millisecond {
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(100 * time.Nanosecond).String()
}

// callerText formats file:line relative to the current folder, or as its last two elements.
func callerText(caller string) string {
	if caller == "" {
		return "-"
	}
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, caller); err == nil && !strings.HasPrefix(rel, "..") {
			return rel
		}
	}
	dir, file := filepath.Split(caller)
	return filepath.Join(filepath.Base(dir), file)
}
