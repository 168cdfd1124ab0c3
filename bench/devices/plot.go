package main

import (
	"errors"
	"fmt"

	"github.com/go-halyard/halyard/bench/internal/chart"
)

// curves are the families that are drawn.
var curves = []string{"copy-in/pageable-device", "copy-in/pinned-device", "copy-out/device-pageable", "copy-out/device-pinned",
	"copy/device-device", "fill/device"}

// least is drawn in place of anything smaller, since a logarithmic axis has no zero.
const least = 1e-6

// plot draws bandwidth and ratio by size, a row of two panels for each device.
func (r *report) plot(path string) error {
	title := "copies and fills by size"
	if r.Simulated {
		title += " (some devices are SIMULATED: their times say nothing about hardware)"
	}
	page := chart.Page{Title: title, Columns: 2, Width: 500, Notes: []string{
		joinNonEmpty(", ", r.Machine, r.Date.Format("2006-01-02"), "Halyard at "+r.Version, r.Go),
		"Left: rate, ours solid, the raw call dashed. Right: our time divided by the raw call's, with quartiles; " +
			"1 is as fast, below 1 is faster.",
	}}
	for _, d := range r.Devices {
		if rates := r.rates(d); len(rates.Lines) > 0 {
			page.Panels = append(page.Panels, rates, r.ratios(d))
		}
	}
	if len(page.Panels) == 0 {
		return errors.New("-plot: there is nothing to draw; no measurement of copy-in, copy-out, copy or fill succeeded")
	}
	if err := page.Write(path); err != nil {
		return fmt.Errorf("-plot: %w", err)
	}
	return nil
}

// rates returns the panel of a device's rates. It has no lines if nothing was measured.
func (r *report) rates(d device) chart.Panel {
	p := chart.Panel{Title: d.title(), X: "size", Y: "GB/s", Logarithmic: true, Bytes: true}
	for i, family := range curves {
		ours, raw := chart.Line{Name: family, Look: i + 1}, chart.Line{Look: i + 1, Dashed: true, Plain: true}
		for _, row := range r.drawn(d, family) {
			add(&ours, row.Size, row.OursRate/1e9)
			if row.RawRate > 0 {
				add(&raw, row.Size, row.RawRate/1e9)
			}
		}
		if len(ours.X) > 0 {
			p.Lines = append(p.Lines, ours, raw)
		}
	}
	return p
}

// ratios returns the panel of a device's ratios.
func (r *report) ratios(d device) chart.Panel {
	p := chart.Panel{Title: d.title(), X: "size", Y: "our time / raw time", Logarithmic: true, Bytes: true, One: true}
	for i, family := range curves {
		l := chart.Line{Look: i + 1}
		for _, row := range r.drawn(d, family) {
			if row.Ratio != nil {
				add(&l, row.Size, row.Ratio.Median)
				l.Low, l.High = append(l.Low, max(row.Ratio.Q1, least)), append(l.High, max(row.Ratio.Q3, least))
			}
		}
		if len(l.X) > 0 {
			p.Lines = append(p.Lines, l)
		}
	}
	if len(p.Lines) == 0 {
		p.Title += ": nothing to compare with"
	}
	return p
}

// drawn returns the results of a family on a device, by size.
func (r *report) drawn(d device, family string) (rows []*result) {
	for _, row := range r.on(d.Device) {
		if row.Family == family && row.Size > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

func add(l *chart.Line, size uint64, y float64) {
	l.X, l.Y = append(l.X, float64(size)), append(l.Y, max(y, least))
}
