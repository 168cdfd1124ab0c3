package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// print writes the report as text, device by device. The last line is the summary.
func (r *report) print(out io.Writer) error {
	fmt.Fprintf(out, "%s\n", r.heading())
	for _, d := range r.Devices {
		rows := r.on(d.Device)
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n%s\n", d.title())
		t := newTable(out)
		t.AppendHeader(table.Row{"what", "size", "ours", "raw", "ratio", "quartiles", "ours GB/s", "raw GB/s", "allocs", "beside"})
		for _, row := range rows {
			t.AppendRow(row.cells())
		}
		numbers := []table.ColumnConfig{}
		for i := 2; i <= 9; i++ {
			numbers = append(numbers, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
		t.SetColumnConfigs(numbers)
		t.Render()
	}
	printReasons(out, "not measured", r.Skipped)
	printReasons(out, "failed", r.Failed)
	_, err := fmt.Fprintf(out, "\n%s\n", r.lastLine())
	return err
}

// newTable returns a table without lines, its columns two spaces apart, which is written to out when it is rendered.
func newTable(out io.Writer) table.Writer {
	style := table.StyleDefault
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = text.FormatUpper
	t := table.NewWriter()
	t.SetOutputMirror(out)
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	return t
}

// heading says on what machine and when the run was made.
func (r *report) heading() string {
	h := fmt.Sprintf("%s, %s, Halyard at %s, %s", r.Date.Format("2006-01-02 15:04 MST"), r.Machine, r.Version, r.Go)
	if r.Load != nil {
		h += fmt.Sprintf(", load average %.1f", *r.Load)
	}
	if r.Simulated {
		h += "\nSome devices are simulated: their times say nothing about hardware."
	}
	return h
}

func (r *report) lastLine() string {
	unsteady := 0
	for _, row := range r.Results {
		if row.Unsteady {
			unsteady++
		}
	}
	line := fmt.Sprintf("%s in %.0f s, %d unsteady, %d failed", plural(len(r.Results), "measurement"), r.Seconds, unsteady, len(r.Failed))
	if r.Interrupted {
		line += "; the run was interrupted"
	}
	return line
}

func printReasons(out io.Writer, title string, reasons []missing) {
	var lines []string
	for _, x := range reasons {
		lines = append(lines, joinNonEmpty(": ", joinNonEmpty(" ", x.Device, x.What), x.Reason))
	}
	if len(lines) > 0 {
		fmt.Fprintf(out, "\n%s\n", strings.ToUpper(title))
	}
	for _, l := range lines {
		fmt.Fprintln(out, l)
	}
}

// on returns the results of a device.
func (r *report) on(device string) []*result {
	var rows []*result
	for i := range r.Results {
		if r.Results[i].Device == device {
			rows = append(rows, &r.Results[i])
		}
	}
	return rows
}

func (r *result) cells() table.Row {
	size, raw, ratio, quartiles, ourRate, rawRate, allocs := "", "-", "-", "-", "-", "-", "-"
	if r.Size > 0 {
		size = bytesText(r.Size)
	}
	if r.Raw != nil {
		raw, ratio = duration(r.Raw.Median), r.ratioText()
		quartiles = figure(r.Ratio.Q1) + " - " + figure(r.Ratio.Q3)
	}
	if r.OursRate > 0 {
		ourRate = figure(r.OursRate / 1e9)
	}
	if r.RawRate > 0 {
		rawRate = figure(r.RawRate / 1e9)
	}
	if r.Allocs >= 0.5 {
		allocs = fmt.Sprintf("%.0f", r.Allocs)
	}
	return table.Row{r.label(), size, duration(r.Ours.Median), raw, ratio, quartiles, ourRate, rawRate, allocs, r.Calls}
}

// label returns the name without the size, marked if a device is simulated.
func (r *result) label() string {
	if r.Simulated {
		return r.Family + " (simulated)"
	}
	return r.Family
}

// ratioText formats the ratio, marked if it is unsteady.
func (r *result) ratioText() string {
	if r.Unsteady {
		return "~" + figure(r.Ratio.Median)
	}
	return figure(r.Ratio.Median)
}

// figure formats a number for display.
func figure(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0"
	case a >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case a >= 9.995:
		return fmt.Sprintf("%.1f", v)
	case a >= 0.00995:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.1g", v)
}

// duration formats nanoseconds for display.
func duration(ns float64) string {
	switch {
	case ns < 999.5:
		return figure(ns) + " ns"
	case ns < 999.5e3:
		return figure(ns/1e3) + " us"
	case ns < 999.5e6:
		return figure(ns/1e6) + " ms"
	}
	return figure(ns/1e9) + " s"
}

// printList prints a line for each family: its sizes and its devices.
func printList(out io.Writer, tasks []task) error {
	t := newTable(out)
	t.AppendHeader(table.Row{"what", "sizes", "devices", "about"})
	sizes, devices, n := map[string][]string{}, map[string][]string{}, 0
	for _, k := range tasks {
		name := k.fullName(0)
		devices[name] = append(devices[name], k.device)
		for _, bytes := range k.sizes {
			if s := sizeName(bytes); bytes > 0 && !slices.Contains(sizes[name], s) {
				sizes[name] = append(sizes[name], s)
			}
		}
		n += len(k.sizes)
	}
	for _, k := range tasks {
		if name := k.fullName(0); devices[name] != nil {
			t.AppendRow(table.Row{name, strings.Join(sizes[name], " "), strings.Join(devices[name], " "), k.about})
			delete(devices, name)
		}
	}
	t.Render()
	_, err := fmt.Fprintf(out, "\n%s\n", plural(n, "measurement"))
	return err
}
