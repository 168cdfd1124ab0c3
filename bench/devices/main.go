// Command devices times copies, fills, allocation, events and launches of every device beside the vendor's own calls, or on the host beside
// what Go offers. Batches of the two alternate, on the same memory. A ratio is our time divided by the other: 1 is as fast, below 1 is
// faster. Rates are in 10^9 bytes a second.
//
//	go run -tags "cuda opencl hip vulkan" ./bench/devices
//	go run ./bench/devices -device host:0 -only '^copy' -max-size 1MiB
//	go run -tags opencl ./bench/devices -backend opencl -plot opencl.svg
//	go run ./bench/devices -json > devices.json
//
// Ratios are the median of all pairs of neighbouring batches, with the quartiles beside them. "~" marks a ratio whose quartiles are further
// apart than a fifth of it: run it again on a quieter machine, or longer (-time).
//
// An interrupted run prints what it has. The exit status is 1 if the run was interrupted or a measurement failed, and 2 for wrong usage. A
// simulated device is always printed as simulated: its times say nothing about hardware, only how many calls are made.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/bench/internal/timing"
	"github.com/go-halyard/halyard/hal"
)

// options are the flags.
type options struct {
	devices, backends []string
	json, list        bool
	time              time.Duration
	reps              int
	only              *regexp.Regexp
	most              uint64 // bytes
	plot, doc         string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// errReported ends the program with status 1. What it has printed already says why.
var errReported = errors.New("reported")

// run runs the program and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if err != nil {
		return 2
	}
	switch err = o.run(ctx, stdout); {
	case err == nil:
		return 0
	case errors.Is(err, errReported):
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "devices: interrupted")
	default:
		fmt.Fprintf(stderr, "devices: %s\n", oneLine(err))
	}
	return 1
}

// parse returns the options of a command line. Mistakes are found and printed before anything is measured.
func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{only: regexp.MustCompile(""), most: 64 << 20}
	f := flag.NewFlagSet("devices", flag.ContinueOnError)
	f.SetOutput(stderr)
	list := func(to *[]string, name, usage string) {
		f.Func(name, usage, func(s string) error { *to = append(*to, strings.Split(s, ",")...); return nil })
	}
	list(&o.devices, "device", "only these `devices`, such as host:0,cuda:1")
	list(&o.backends, "backend", "only the devices of these `backends`, such as opencl")
	f.BoolVar(&o.json, "json", false, "print the results as JSON")
	f.BoolVar(&o.list, "list", false, "list what would be measured, and measure nothing")
	f.DurationVar(&o.time, "time", timing.DefaultTime, "how long to time each measurement; unsteady ones take twice as long")
	f.IntVar(&o.reps, "reps", 0, "take this `number` of pairs for each measurement, however long that takes")
	f.Func("only", "only measurements whose name, such as fill/device/1MiB, matches this regular `expression`", func(s string) (err error) {
		o.only, err = regexp.Compile(s)
		return err
	})
	f.Func("max-size", "the largest `size` of copies, fills and blocks, from 4B to 16GiB (default 64MiB)", func(s string) (err error) {
		o.most, err = parseSize(s)
		return err
	})
	f.Func("plot", "draw bandwidth and ratio by size into this `file`.svg", func(s string) error {
		o.plot = s
		_, err := os.Stat(filepath.Dir(s))
		return err
	})
	f.Func("doc", "put the tables, as Markdown, between the markers in this `file`", func(s string) error {
		o.doc = s
		return timing.Marked(s, "bench")
	})
	err := f.Parse(args)
	if err == nil && (f.NArg() > 0 || o.time <= 0 || o.reps < 0) {
		err = fmt.Errorf("there are no arguments, and times and numbers are above 0: %q", args)
		fmt.Fprintln(stderr, err)
	}
	return o, err
}

// chosen returns the devices to measure: the named ones and those of the named backends, each once, or all that hal.Devices lists.
func (o *options) chosen(ctx context.Context, reports []hal.Report) (infos []hal.Info, err error) {
	if len(o.devices) == 0 && len(o.backends) == 0 {
		return hal.Devices(ctx)
	}
	for _, name := range slices.Concat(o.devices, o.backends) {
		backend, _, numbered := strings.Cut(name, ":")
		i := slices.IndexFunc(reports, func(r hal.Report) bool { return r.Backend == backend })
		if i < 0 {
			return nil, fmt.Errorf("%q: no such backend", name)
		}
		found := slices.DeleteFunc(slices.Clone(reports[i].Devices), func(i hal.Info) bool { return numbered && i.Name() != name })
		switch {
		case len(found) == 0 && reports[i].Err != nil:
			return nil, fmt.Errorf("%s: %w", name, reports[i].Err)
		case len(found) == 0:
			return nil, fmt.Errorf("%s: no such device", name)
		}
		for _, info := range found {
			if !slices.ContainsFunc(infos, func(i hal.Info) bool { return i.Name() == info.Name() }) {
				infos = append(infos, info)
			}
		}
	}
	return infos, nil
}

// openable leaves out devices that cannot be opened, and returns why, one error each.
func openable(ctx context.Context, infos []hal.Info) (open []hal.Info, refused []error) {
	for _, info := range infos {
		dev, err := hal.Open(ctx, info.Name())
		if err == nil {
			err = dev.Close()
		}
		if err == nil || ctx.Err() != nil {
			open = append(open, info)
		} else {
			refused = append(refused, err)
		}
	}
	return open, refused
}

func (o *options) run(ctx context.Context, out io.Writer) error {
	enumerate, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	reports := hal.List(enumerate)
	infos, err := o.chosen(enumerate, reports)
	if err != nil {
		return err
	}
	infos, refused := openable(enumerate, infos)
	r := newReport(o, reports)
	named := len(o.devices) > 0
	for _, err := range refused {
		r.refused(err, named)
	}
	if len(infos) == 0 {
		r.Failed = append(r.Failed, missing{What: "there is no device to measure"})
	}
	for _, info := range infos {
		r.Devices = append(r.Devices, deviceOf(info))
	}
	tasks := o.tasks(infos)
	if len(infos) > 0 && len(tasks) == 0 {
		return fmt.Errorf("-only %q: no measurement matches; -list shows them", o.only)
	}
	if o.list {
		return printList(out, tasks)
	}
	err = r.measure(ctx, infos, tasks, timing.Options{Time: o.time, Reps: o.reps})
	r.Interrupted = ctx.Err() != nil
	if err != nil && !r.Interrupted {
		r.Failed = append(r.Failed, missing{What: oneLine(err)})
	}
	return o.report(ctx, out, r)
}

// report prints what was measured, and writes the files that are asked for.
func (o *options) report(ctx context.Context, out io.Writer, r *report) (err error) {
	if o.json {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		err = e.Encode(r)
	} else {
		err = r.print(out)
	}
	if r.Interrupted && err == nil {
		err = ctx.Err() // an incomplete run is neither drawn nor written to a document
	}
	if o.plot != "" && err == nil {
		err = r.plot(o.plot)
	}
	if o.doc != "" && err == nil {
		err = r.document(o.doc, o.plot)
	}
	if len(r.Failed) > 0 && err == nil {
		err = errReported
	}
	return err
}

// task is the selected measurements of a family on one device.
type task struct {
	*family
	device string
}

// tasks returns the measurements that the options select, in the order of the devices.
func (o *options) tasks(infos []hal.Info) []task {
	var list []task
	for _, info := range infos {
		for _, f := range familiesOf(info, infos, o.fitting(info)) {
			f.sizes = slices.DeleteFunc(slices.Clone(f.sizes), func(n uint64) bool { return !o.only.MatchString(f.fullName(n)) })
			if len(f.sizes) > 0 {
				list = append(list, task{family: f, device: info.Name()})
			}
		}
	}
	return list
}

// fitting returns the largest size for a device: it leaves room for the other memory that a measurement needs at the
// same time.
func (o *options) fitting(info hal.Info) uint64 {
	most := o.most
	for _, limit := range []uint64{info.MaxAlloc, info.TotalMemory / 4} {
		if limit >= 4 {
			most = min(most, limit&^3)
		}
	}
	return most
}

// report is the result of a run, as -json prints it.
type report struct {
	Version     string    `json:"version"`
	Date        time.Time `json:"date"`
	Machine     string    `json:"machine"` // processors and system
	Processors  int       `json:"processors"`
	Go          string    `json:"go"`
	Load        *float64  `json:"load_average,omitempty"` // of the minute before the run; nil if the system does not report it
	Simulated   bool      `json:"simulated"`              // whether a measured device is simulated
	Interrupted bool      `json:"interrupted"`
	TimeSeconds float64   `json:"time_seconds,omitempty"` // -time
	Reps        int       `json:"reps,omitempty"`         // -reps
	MaxSize     uint64    `json:"max_size"`               // bytes
	Seconds     float64   `json:"seconds"`                // the whole run
	Devices     []device  `json:"devices"`
	Results     []result  `json:"results"`
	Skipped     []missing `json:"skipped,omitempty"`
	Failed      []missing `json:"failed,omitempty"`
}

// missing says why something was not measured.
type missing struct {
	Device string `json:"device,omitempty"`
	What   string `json:"what"`
	Reason string `json:"reason,omitempty"`
}

// result is the figures of one measurement. Times are in nanoseconds, for one operation.
type result struct {
	Device    string `json:"device"`
	To        string `json:"to,omitempty"` // the other device of a copy between two
	Simulated bool   `json:"simulated"`
	Name      string `json:"name"`           // group/variant/size
	Family    string `json:"family"`         // group/variant
	Size      uint64 `json:"size,omitempty"` // bytes
	About     string `json:"about"`

	Ours  timing.Summary  `json:"ours_ns"`
	Raw   *timing.Summary `json:"raw_ns,omitempty"`
	Ratio *timing.Summary `json:"ratio,omitempty"` // ours divided by raw, pair by pair
	Calls string          `json:"raw_calls,omitempty"`

	OursRate float64 `json:"ours_bytes_per_second,omitempty"`
	RawRate  float64 `json:"raw_bytes_per_second,omitempty"`

	Pairs     int     `json:"pairs"`
	OursBatch int     `json:"ours_batch"` // calls in a batch
	RawBatch  int     `json:"raw_batch,omitempty"`
	Allocs    float64 `json:"allocs"` // Go heap objects for one operation of ours
	Unsteady  bool    `json:"unsteady"`
}

// bytes returns how many bytes one operation moves, or 0 if the measurement is not about bytes.
func (r *result) bytes() uint64 {
	switch group, _, _ := strings.Cut(r.Family, "/"); group {
	case "alloc":
		return 0
	case "buffer":
		return 2 * r.Size // there and back
	}
	return r.Size
}

func newReport(o *options, reports []hal.Report) *report {
	r := &report{
		Version: timing.Version(), Date: time.Now().UTC().Truncate(time.Second), Processors: runtime.NumCPU(),
		Go: runtime.Version(), Machine: machineName(reports), MaxSize: o.most, Devices: []device{}, Results: []result{},
	}
	if load, err := strconv.ParseFloat(frame.Load(), 64); err == nil {
		r.Load = &load
	}
	if r.Reps = o.reps; o.reps == 0 {
		r.TimeSeconds = o.time.Seconds()
	}
	return r
}

// machineName describes the processors and the system, as the host backend reports them.
func machineName(reports []hal.Report) string {
	name := ""
	for _, rep := range reports {
		for _, info := range rep.Devices {
			if info.Backend == "host" && info.Ordinal == 0 {
				name = info.Model
			}
		}
	}
	return joinNonEmpty(", ", name, runtime.GOOS+"/"+runtime.GOARCH)
}

// parseSize reads a number of bytes with a unit, as in 4B, 512KiB, 64MiB or 1GiB. It rounds down to whole patterns of fills.
func parseSize(text string) (uint64, error) {
	number, shift := text, 0
	for i, unit := range []string{"KiB", "MiB", "GiB"} {
		if n, ok := strings.CutSuffix(text, unit); ok {
			number, shift = n, 10*(i+1)
		}
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(number, "B"), 10, 64-shift)
	if n <<= shift; err == nil && (n < 4 || n > 16<<30 || uint64(int(n)) != n) {
		err = errors.New("it is not between 4B and 16GiB, or this machine cannot address as much")
	}
	return n &^ 3, err
}
