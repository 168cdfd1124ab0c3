// Command kernels measures kernels that "halyard kernels" translated from Go beside the same kernels written by hand in OpenCL C, on the OpenCL
// devices of the machine. It also measures kernels that run on the host beside parallel loops in Go. It writes the ratios as a table.
//
// On devices both are launched in the same way, with the same blocks, on the same buffers. One process does all, one after the other. First the
// results are compared with those of plain Go: they must have the same bits. A part of the table is of kernels as vectors on one processor beside loops in C.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/bench/internal/timing"
	"github.com/go-halyard/halyard/hal"
)

func main() {
	document := frame.Document()
	pairs := flag.Int("pairs", 301, "how often each side is timed")
	only := flag.String("only", "", "a regular expression: measure the rows that it matches, such as \"saxpy on PoCL\"")
	vectors := flag.String("vectors", "", "this command, built by Go 1.27 with GOEXPERIMENT=simd: its rows on the host come in addition")
	c := flag.String("c", "", "a library of c/loops.c: rows beside it on one processor of the host come in addition")
	rows := flag.Bool("rows", false, "print rows on the host, and nothing else: those beside C if -c names a library")
	frame.Parse(0, func() bool { return *pairs > 0 })
	frame.Main("kernels", func(ctx context.Context) {
		match := frame.Get(regexp.Compile(*only))
		if *rows {
			list := onHost(512)
			if *c != "" {
				list = frame.Get(besideC(*c, 1024))
			}
			measureAll(ctx, os.Stdout, list, match, *pairs)
			return
		}
		var b strings.Builder
		devices := frame.Get(openCL(ctx))
		fmt.Fprintf(&b, "\n%s; medians of %d pairs, a tenth of that where a run takes milliseconds. The load average was %s when it began.\n\n", frame.Today(), *pairs, frame.Load())
		b.WriteString("| kernel | elements | device | by hand | translated | ratio | quartiles |\n|---|--:|---|--:|--:|--:|--:|\n")
		measureAll(ctx, &b, append(onDevices(512, devices), onHost(512)...), match, *pairs)
		more := func(env string, args ...string) {
			// Go 1.27 compiles some operations on vectors of 512 bits wrongly, and Halyard uses none.
			b.WriteString(frame.Get(frame.Output(ctx, []string{"GODEBUG=simd=256", env}, append(args, "-rows", "-only", *only, "-pairs", strconv.Itoa(*pairs))...)))
		}
		if *vectors != "" {
			more("GOMAXPROCS="+strconv.Itoa(runtime.GOMAXPROCS(0)), *vectors)
			if *c != "" {
				more("GOMAXPROCS=1", *vectors, "-c", *c)
			}
		}
		b.WriteString("\n")
		for _, d := range devices {
			fmt.Fprintf(&b, "- %s: %s, %s\n", platform(d), d.Model, d.Driver)
		}
		frame.Write(*document, "kernels", b.String())
	})
}

// measureAll measures those of the contests whose names match, and writes a row for each.
func measureAll(ctx context.Context, w io.Writer, all []contest, match *regexp.Regexp, pairs int) {
	for _, c := range all {
		if !match.MatchString(c.String()) {
			continue
		}
		r, err := c.measure(ctx, pairs)
		if err != nil {
			frame.Must(fmt.Errorf("%v: %w", &c, err))
		}
		row := fmt.Sprintf("| %s | %s | %s | %s | %s | %.3f | %.3f - %.3f |\n", c.name, c.size, c.label, timing.Duration(r.Raw.Median), timing.Duration(r.Ours.Median),
			r.Ratio.Median, r.Ratio.Q1, r.Ratio.Q3)
		fmt.Fprint(os.Stderr, row)
		fmt.Fprint(w, row)
	}
}

// openCL returns the OpenCL devices.
func openCL(ctx context.Context) (list []hal.Info, err error) {
	devices, err := hal.Devices(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range devices {
		if d.Backend == "opencl" {
			list = append(list, d)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("there is no OpenCL device")
	}
	return list, nil
}

// platform is a short name of a device's platform.
func platform(d hal.Info) string {
	text := d.Model + d.Vendor + d.Driver
	for _, p := range [][2]string{{"Portable", "PoCL"}, {"pocl", "PoCL"}, {"Intel(R) OpenCL", "Intel"}} {
		if strings.Contains(text, p[0]) {
			return p[1]
		}
	}
	return d.Name()
}

// host is the device that works on the program's own memory.
const host = "host:0"

// contest is a row of the table: a kernel on a device, and what it is compared with.
type contest struct {
	name, size    string
	device, label string
	ready         readier
	long          bool // a run takes long, and is timed a tenth as often
}

func (c *contest) String() string { return c.name + " on " + c.label }

// onDevices returns the rows with all kernels on all devices, beside kernels by hand.
func onDevices(n int, devices []hal.Info) (list []contest) {
	for _, w := range append(works(n), algorithms(4*n*n)...) {
		for _, d := range devices {
			list = append(list, contest{w.name, w.size, d.Name(), platform(d), w.ready, w.long})
		}
	}
	return list
}

// readier returns two functions that do the same work, and return when it is done. It has checked that both compute what plain Go does.
type readier func(ctx context.Context, s *hal.Stream) (ours, hand, close func() error, err error)

// measure compares the two sides.
func (c *contest) measure(ctx context.Context, pairs int) (r timing.Result, err error) {
	if c.long {
		pairs = max(pairs/10, 1)
	}
	err = c.open(ctx, func(ours, hand func() error) error {
		r, err = timing.Compare(ctx, timing.Side{Op: ours}, timing.Side{Op: hand}, timing.Options{Reps: pairs})
		return err
	})
	return r, err
}

// open opens the device, makes both sides ready, and closes all after use.
func (c *contest) open(ctx context.Context, use func(ours, hand func() error) error) error {
	return frame.Do(func() {
		dev := frame.Get(hal.Open(ctx, c.device))
		defer frame.Close(dev)
		s := frame.Get(dev.NewStream())
		defer frame.Close(s)
		ours, hand, closeAll, err := c.ready(ctx, s)
		frame.Must(err)
		defer func() { frame.Then(recover(), closeAll()) }()
		frame.Must(use(ours, hand))
	})
}
