package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-halyard/halyard/buffer/trace"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/tracefile"
)

// traceOptions are the flags of trace.
type traceOptions struct {
	selection
	out, svg string
	top      int
}

func newTrace() *cobra.Command {
	o := &traceOptions{}
	cmd := &cobra.Command{
		Use:   "trace (DEMO | -- PROGRAM [ARGUMENT]...)",
		Short: "Show what a demonstration, or a program, copies between places and why",
		Long: `Run a small workload on coherent buffers, or a program of yours, and print what was copied
between places, which calls needed these copies, how many bytes need not be copied, and what was
evicted to make room. --out writes a trace for ui.perfetto.dev or chrome://tracing, --svg a picture.

The demonstrations are:
` + demoList() + `
Each is run twice, and the second run is shown. They use the devices of --device and --backend.
Without these flags they use all discrete devices that programs see, or all devices if none is
discrete. A device that works on the host's memory in place needs no copies, and so shows none.

A program is traced if it imports github.com/go-halyard/halyard, or its package buffer/trace: it is
run with HALYARD_TRACE set. Its exit status becomes that of this command, or 128 plus the number
of the signal that ended it. If the program's status is 0 and it wrote no trace, the status is 1.`,
		Example: `  halyard trace sweep --out sweep.json
  HALYARD_HOST_DEVICES=2 halyard trace ranges --svg ranges.svg
  halyard trace --out run.json -- ./program --its-flag`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.devices, "device", nil, "only these `devices`, such as host:1,cuda:0")
	f.StringSliceVar(&o.backends, "backend", nil, "only the devices of these `backends`, such as opencl")
	f.StringVar(&o.out, "out", "", "write a trace in the Trace Event Format to this `file`")
	f.StringVar(&o.svg, "svg", "", "draw a timeline into this `file`")
	f.IntVar(&o.top, "top", 10, "how many lines of the program to list, from the one that copied the most")
	return cmd
}

func (o *traceOptions) run(cmd *cobra.Command, args []string) error {
	for _, name := range []string{"out", "svg"} {
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			return usage("--%s needs the name of a file", name)
		}
	}
	if o.top < 0 {
		return usage("--top must not be negative, but is %d", o.top)
	}
	if n := cmd.ArgsLenAtDash(); n >= 0 {
		switch {
		case n > 0:
			return usage("a demonstration and a program cannot be used together: %q", args[0])
		case len(args) == 0:
			return usage("name a program after --")
		case len(o.devices) > 0 || len(o.backends) > 0:
			return usage("--device and --backend are for demonstrations; %s chooses a program's devices", hal.EnvDevices)
		}
		return o.runProgram(cmd, args)
	}
	if len(args) != 1 {
		return usage("name one demonstration, of %s, or a program after --", strings.Join(demoNames(), ", "))
	}
	i := slices.IndexFunc(demos, func(d demo) bool { return d.name == args[0] })
	if i < 0 {
		return usage("unknown demonstration %q; there are %s", args[0], strings.Join(demoNames(), ", "))
	}
	return o.runDemo(cmd, demos[i])
}

// runDemo runs a demonstration and shows what it did.
func (o *traceOptions) runDemo(cmd *cobra.Command, d demo) (err error) {
	ctx := cmd.Context()
	infos, err := o.choose(ctx)
	if err != nil {
		return err
	}
	var devs []*hal.Device
	defer func() {
		for _, dev := range devs {
			if cerr := dev.Close(); err == nil {
				err = cerr
			}
		}
	}()
	out := cmd.OutOrStdout()
	unified := true
	var titles []string
	for _, info := range infos {
		dev, err := hal.Open(ctx, info.Name())
		if err != nil {
			return err
		}
		devs = append(devs, dev)
		titles = append(titles, deviceTitle(info))
		unified = unified && info.SharesHostMemory
		if len(devs) == d.devices {
			break
		}
	}
	fmt.Fprintf(out, "%s: %s\non %s\n", d.name, d.what, strings.Join(titles, ",\n   "))
	if unified {
		fmt.Fprintln(out, "Only devices that work on the host's memory in place are used, so nothing needs to be copied.")
		fmt.Fprintln(out, "HALYARD_HOST_DEVICES=2 adds two simulated devices with their own memory.")
	}
	fmt.Fprintln(out)
	if err := d.run(ctx, devs); err != nil { // does work that is needed only once, such as compiling fills, and is not to be shown
		return fmt.Errorf("%s: %w", d.name, err)
	}
	name, err := tempTrace()
	if err != nil {
		return err
	}
	defer os.Remove(name)
	if err := traced(name, func() error { return d.run(ctx, devs) }); err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	return o.show(out, name, "halyard trace "+d.name)
}

// tempTrace makes an empty file for a trace, which the caller removes.
func tempTrace() (name string, err error) {
	f, err := os.CreateTemp("", "halyard-trace-*.json")
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// traced runs fn, and writes a trace of what it does into a file.
func traced(name string, fn func() error) error {
	f, err := trace.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(fn(), f.Close())
}

// choose returns the devices of the demonstrations.
func (o *traceOptions) choose(ctx context.Context) ([]hal.Info, error) {
	enumerate, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	infos, err := o.resolve(enumerate, hal.List(enumerate))
	if err != nil {
		return nil, err
	}
	if len(o.devices) > 0 {
		return infos, nil
	}
	infos, _ = openable(enumerate, infos)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if discrete := slices.DeleteFunc(slices.Clone(infos), func(i hal.Info) bool { return i.SharesHostMemory }); len(discrete) > 0 {
		infos = discrete
	}
	if len(infos) == 0 {
		return nil, fmt.Errorf("no device can be opened")
	}
	return infos, nil
}

// show sums up the trace in a file, and writes the files that the flags name.
func (o *traceOptions) show(says io.Writer, name, title string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	r, err := tracefile.Read(bytes.NewReader(data))
	if err != nil {
		return err
	}
	printTrace(says, r, o.top)
	for _, w := range []struct {
		name  string
		write func(io.Writer) error
		says  string
	}{
		{o.out, func(w io.Writer) error { _, err := w.Write(data); return err }, "trace written to %s: open it at ui.perfetto.dev or chrome://tracing\n"},
		{o.svg, func(w io.Writer) error { return drawTrace(w, r, title) }, "picture written to %s\n"},
	} {
		if w.name == "" {
			continue
		}
		f, err := os.Create(w.name)
		if err != nil {
			return err
		}
		if err := w.write(f); err != nil {
			_ = f.Close()
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		fmt.Fprintf(says, w.says, w.name)
	}
	return nil
}
