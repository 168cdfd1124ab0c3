package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"github.com/spf13/cobra"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/bench"
)

// benchOptions are the flags of bench.
type benchOptions struct {
	devices, backends []string
	json, list        bool
	time              time.Duration
	reps              int
	only, maxSize     string
	plot, doc         string

	most uint64 // maxSize in bytes
}

// benchMost is the largest size that bench measures.
const benchMost = 16 << 30 // bytes

func newBench() *cobra.Command {
	o := &benchOptions{}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure copies, fills, allocation and events beside the vendor's own calls",
		Long: `Measure every available device: copies and fills by size and kind of memory, copies
between devices, allocation, events, and accesses to coherent buffers. Each of our calls is
compared with the vendor's own call, or on the host with what Go offers. Batches of the two
alternate, on the same memory. The ratio is our time divided by the other:
1 is as fast, below 1 is faster. Rates are in 10^9 bytes a second.

Ratios are the median of all pairs of neighbouring batches, with the quartiles beside
them. "~" marks a ratio whose quartiles are further apart than a fifth of it: run it
again on a quieter machine, or longer (--time).

An interrupted run prints what it has. The exit status is 1 if the run was interrupted or a
measurement failed. A simulated device is always printed as simulated: its times say nothing
about hardware, only how many calls are made.`,
		Example: `  halyard bench
  halyard bench --device host:0 --only '^copy' --max-size 1MiB
  halyard bench --backend opencl --plot opencl.svg
  halyard bench --json > bench.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.devices, "device", nil, "only these `devices`, such as host:0,cuda:1")
	f.StringSliceVar(&o.backends, "backend", nil, "only the devices of these `backends`, such as opencl")
	f.BoolVar(&o.json, "json", false, "print the results as JSON")
	f.BoolVar(&o.list, "list", false, "list what would be measured, and measure nothing")
	f.DurationVar(&o.time, "time", bench.DefaultTime, "how long to time each measurement; unsteady ones take twice as long")
	f.IntVar(&o.reps, "reps", 0, "take this `number` of pairs for each measurement, however long that takes")
	f.StringVar(&o.only, "only", "", "only measurements whose name, such as fill/device/1MiB, matches this regular `expression`")
	f.StringVar(&o.maxSize, "max-size", "64MiB", "the largest `size` of copies, fills and blocks, from 4B to 16GiB")
	f.StringVar(&o.plot, "plot", "", "draw bandwidth and ratio by size into this `file`, .svg or .png")
	f.StringVar(&o.doc, "doc", "", "put the tables, as Markdown, between the markers in this `file`")
	return cmd
}

// validate returns an error for invalid flags, before anything is measured.
func (o *benchOptions) validate(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	if _, err := regexp.Compile(o.only); err != nil {
		return usage("--only: %w", err)
	}
	most, err := pool.ParseSize(o.maxSize)
	switch {
	case err != nil:
		return usage("--max-size %q is not a size; write it as 64MiB", o.maxSize)
	case most < 4 || most > benchMost:
		return usage("--max-size must be between 4 B and %s, but is %s", bytesText(benchMost), bytesText(most))
	case uint64(int(most)) != most:
		return usage("--max-size %s is more than this machine can address", bytesText(most))
	case o.time <= 0:
		return usage("--time must be positive, not %s", o.time)
	case changed("reps") && o.reps <= 0:
		return usage("--reps must be positive, not %d", o.reps)
	case changed("reps") && changed("time"):
		return usage("--reps and --time cannot be used together")
	}
	o.most = most &^ 3 // fills are of whole patterns
	if changed("plot") {
		switch strings.ToLower(filepath.Ext(o.plot)) {
		case ".svg", ".png":
		default:
			return usage("--plot %q: the name must end in .svg or .png", o.plot)
		}
		if dir, err := os.Stat(filepath.Dir(o.plot)); err != nil || !dir.IsDir() {
			return usage("--plot %q: there is no such folder", o.plot)
		}
	}
	if o.list {
		for _, other := range []string{"plot", "doc", "time", "reps"} {
			if changed(other) {
				return usage("--list and --%s cannot be used together", other)
			}
		}
	}
	if changed("doc") {
		if _, _, err := cutDoc(o.doc); err != nil {
			return usage("--doc: %w", err)
		}
	}
	return nil
}

func (o *benchOptions) run(cmd *cobra.Command) error {
	if err := o.validate(cmd); err != nil {
		return err
	}
	ctx := cmd.Context()
	enumerate, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	reports := hal.List(enumerate)
	chosen := &selection{devices: o.devices, backends: o.backends}
	infos, err := chosen.resolve(enumerate, reports)
	if err != nil {
		return err
	}
	infos, refused := openable(enumerate, infos)
	run := newBenchRun(o, reports)
	named := len(o.devices) > 0
	for _, err := range refused {
		run.refused(err, named)
	}
	if len(infos) == 0 {
		run.Failed = append(run.Failed, benchReason{What: "there is no device to measure"})
	}
	for _, info := range infos {
		run.Devices = append(run.Devices, deviceEntryOf(info))
	}
	tasks := o.tasks(infos)
	if len(infos) > 0 && len(tasks) == 0 {
		return usage("--only %q: no measurement matches; halyard bench --list shows them", o.only)
	}
	if o.list {
		return o.printList(cmd, tasks)
	}
	if o.plot != "" && !slices.ContainsFunc(tasks, func(t task) bool { return isCurve(t.name) }) {
		return usage("--plot: nothing would be drawn; select measurements of copy-in, copy-out, copy or fill")
	}
	total := 0
	for _, t := range tasks {
		total += len(t.sizes)
	}
	m := newMeter(cmd.ErrOrStderr(), int64(total), progress.UnitsDefault)
	last := ""
	err = run.measure(ctx, infos, tasks, o.options(), func(n int64, what string) {
		if n == 0 {
			last = what
		}
		m.step(n, last)
	})
	m.stop()
	run.Interrupted = ctx.Err() != nil
	if err != nil && !run.Interrupted {
		run.Failed = append(run.Failed, benchReason{What: oneLine(err)})
	}
	if o.json {
		err = writeJSON(cmd.OutOrStdout(), run)
	} else {
		err = run.print(cmd.OutOrStdout())
	}
	if err != nil {
		return err
	}
	if run.Interrupted {
		return ctx.Err() // an incomplete run is neither drawn nor written to a document
	}
	if o.plot != "" {
		if err := run.plot(o.plot); err != nil {
			return err
		}
	}
	if o.doc != "" {
		if err := run.document(o.doc, o.plot); err != nil {
			return err
		}
	}
	if len(run.Failed) > 0 {
		return errReported
	}
	return nil
}

func (o *benchOptions) options() bench.Options { return bench.Options{Time: o.time, Reps: o.reps} }

// task is the selected measurements of a family on one device.
type task struct {
	*family
	device string
}

// tasks returns the measurements that the options select, in the order of the devices.
func (o *benchOptions) tasks(infos []hal.Info) []task {
	match := regexp.MustCompile(o.only) // validate has compiled it before
	var list []task
	for _, info := range infos {
		for _, f := range familiesOf(info, infos, o.fitting(info)) {
			f.sizes = slices.DeleteFunc(slices.Clone(f.sizes), func(n uint64) bool { return !match.MatchString(f.fullName(n)) })
			if len(f.sizes) > 0 {
				list = append(list, task{family: f, device: info.Name()})
			}
		}
	}
	return list
}

// fitting returns the largest size for a device: it leaves room for the other memory that a measurement needs at the
// same time.
func (o *benchOptions) fitting(info hal.Info) uint64 {
	most := o.most
	for _, limit := range []uint64{info.MaxAlloc, info.TotalMemory / 4} {
		if limit >= 4 {
			most = min(most, limit&^3)
		}
	}
	return most
}

// benchRun is the result of a run, as bench --json prints it.
type benchRun struct {
	Version     string        `json:"version"`
	Date        time.Time     `json:"date"`
	Machine     string        `json:"machine"` // processors and system
	Processors  int           `json:"processors"`
	Go          string        `json:"go"`
	Load        *float64      `json:"load_average,omitempty"` // of the minute before the run; nil if the system does not report it
	Simulated   bool          `json:"simulated"`              // whether a measured device is simulated
	Interrupted bool          `json:"interrupted"`
	TimeSeconds float64       `json:"time_seconds,omitempty"` // --time
	Reps        int           `json:"reps,omitempty"`         // --reps
	MaxSize     uint64        `json:"max_size"`               // bytes
	Seconds     float64       `json:"seconds"`                // the whole run
	Devices     []deviceEntry `json:"devices"`
	Results     []benchResult `json:"results"`
	Skipped     []benchReason `json:"skipped,omitempty"`
	Failed      []benchReason `json:"failed,omitempty"`
}

// benchReason says why something was not measured.
type benchReason struct {
	Device string `json:"device,omitempty"`
	What   string `json:"what"`
	Reason string `json:"reason,omitempty"`
}

// benchResult is the figures of one measurement. Times are in nanoseconds, for one operation.
type benchResult struct {
	Device    string `json:"device"`
	To        string `json:"to,omitempty"` // the other device of a copy between two
	Simulated bool   `json:"simulated"`
	Name      string `json:"name"`           // group/variant/size
	Family    string `json:"family"`         // group/variant
	Size      uint64 `json:"size,omitempty"` // bytes
	About     string `json:"about"`

	Ours  bench.Summary  `json:"ours_ns"`
	Raw   *bench.Summary `json:"raw_ns,omitempty"`
	Ratio *bench.Summary `json:"ratio,omitempty"` // ours divided by raw, pair by pair
	Calls string         `json:"raw_calls,omitempty"`

	OursRate float64 `json:"ours_bytes_per_second,omitempty"`
	RawRate  float64 `json:"raw_bytes_per_second,omitempty"`

	Pairs     int     `json:"pairs"`
	OursBatch int     `json:"ours_batch"` // calls in a batch
	RawBatch  int     `json:"raw_batch,omitempty"`
	Allocs    float64 `json:"allocs"` // Go heap objects for one operation of ours
	Unsteady  bool    `json:"unsteady"`
}

// bytes returns how many bytes one operation moves, or 0 if the measurement is not about bytes.
func (r *benchResult) bytes() uint64 {
	switch group, _, _ := strings.Cut(r.Family, "/"); group {
	case "alloc":
		return 0
	case "buffer":
		return 2 * r.Size // there and back
	}
	return r.Size
}

func newBenchRun(o *benchOptions, reports []hal.Report) *benchRun {
	r := &benchRun{
		Version: bench.Version(), Date: time.Now().UTC().Truncate(time.Second), Processors: runtime.NumCPU(),
		Go: runtime.Version(), Machine: machineName(reports), MaxSize: o.most, Devices: []deviceEntry{}, Results: []benchResult{},
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		if load, err := strconv.ParseFloat(strings.Fields(string(text) + " -")[0], 64); err == nil {
			r.Load = &load
		}
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
