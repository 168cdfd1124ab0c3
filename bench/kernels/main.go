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
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/bench/internal/timing"
	"github.com/go-halyard/halyard/hal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "kernels:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	document := flag.String("document", "", "a Markdown file whose part between the markers is replaced; standard output if empty")
	pairs := flag.Int("pairs", 301, "how often each side is timed")
	only := flag.String("only", "", "a regular expression: measure the rows that it matches, such as \"saxpy on PoCL\"")
	vectors := flag.String("vectors", "", "this command, built by Go 1.27 with GOEXPERIMENT=simd: its rows on the host come in addition")
	c := flag.String("c", "", "a library of c/loops.c: rows beside it on one processor of the host come in addition")
	rows := flag.Bool("rows", false, "print rows on the host, and nothing else: those beside C if -c names a library")
	flag.Parse()
	if flag.NArg() > 0 || *pairs < 1 {
		flag.Usage()
		os.Exit(2)
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if *rows {
		list := onHost(512)
		if *c != "" {
			if list, err = besideC(*c, 1024); err != nil {
				return err
			}
		}
		return measureAll(ctx, os.Stdout, list, match, *pairs)
	}
	load, _ := os.ReadFile("/proc/loadavg") // only Linux has it
	first, _, _ := strings.Cut(string(load), " ")
	devices, err := openCL(ctx)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s; %s; Halyard at %s; medians of %d pairs. The load average was %s when it began.\n\n", time.Now().UTC().Format(time.DateOnly), timing.Machine(), timing.Version(), *pairs, first)
	b.WriteString("| kernel | elements | device | by hand | translated | ratio | quartiles |\n|---|--:|---|--:|--:|--:|--:|\n")
	if err := measureAll(ctx, &b, append(onDevices(512, devices), onHost(512)...), match, *pairs); err != nil {
		return err
	}
	more := func(env string, args ...string) error {
		cmd := exec.CommandContext(ctx, *vectors, append(args, "-rows", "-only", *only, "-pairs", strconv.Itoa(*pairs))...)
		// Go 1.27 compiles some operations on vectors of 512 bits wrongly, and Halyard uses none.
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "GODEBUG=simd=256", env), &b, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", *vectors, err)
		}
		return nil
	}
	if *vectors != "" {
		if err := more("GOMAXPROCS=" + strconv.Itoa(runtime.GOMAXPROCS(0))); err != nil {
			return err
		}
		if *c != "" {
			if err := more("GOMAXPROCS=1", "-c", *c); err != nil {
				return err
			}
		}
	}
	b.WriteString("\n")
	for _, d := range devices {
		fmt.Fprintf(&b, "- %s: %s, %s\n", platform(d), d.Model, d.Driver)
	}
	if *document == "" {
		_, err = fmt.Print(b.String())
		return err
	}
	return timing.Replace(*document, "kernels", b.String())
}

// measureAll measures those of the contests whose names match, and writes a row for each.
func measureAll(ctx context.Context, w io.Writer, all []contest, match *regexp.Regexp, pairs int) error {
	for _, c := range all {
		if !match.MatchString(c.String()) {
			continue
		}
		r, err := c.measure(ctx, pairs)
		if err != nil {
			return fmt.Errorf("%v: %w", &c, err)
		}
		row := fmt.Sprintf("| %s | %s | %s | %s | %s | %.3f | %.3f - %.3f |\n", c.name, c.size, c.label, timing.Duration(r.Raw.Median), timing.Duration(r.Ours.Median),
			r.Ratio.Median, r.Ratio.Q1, r.Ratio.Q3)
		fmt.Fprint(os.Stderr, row)
		fmt.Fprint(w, row)
	}
	return nil
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
}

func (c *contest) String() string { return c.name + " on " + c.label }

// onDevices returns the rows with all kernels on all devices, beside kernels by hand.
func onDevices(n int, devices []hal.Info) (list []contest) {
	for _, w := range append(works(n), algorithms(4*n*n)...) {
		for _, d := range devices {
			list = append(list, contest{w.name, w.size, d.Name(), platform(d), w.ready})
		}
	}
	return list
}

// readier returns two functions that do the same work, and return when it is done. It has checked that both compute what plain Go does.
type readier func(ctx context.Context, s *hal.Stream) (ours, hand, close func() error, err error)

// measure compares the two sides.
func (c *contest) measure(ctx context.Context, pairs int) (r timing.Result, err error) {
	err = c.open(ctx, func(ours, hand func() error) error {
		r, err = timing.Compare(ctx, timing.Side{Op: ours}, timing.Side{Op: hand}, timing.Options{Reps: pairs})
		return err
	})
	return r, err
}

// open opens the device, makes both sides ready, and closes all after use.
func (c *contest) open(ctx context.Context, use func(ours, hand func() error) error) (err error) {
	dev, err := hal.Open(ctx, c.device)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	s, err := dev.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ours, hand, closeAll, err := c.ready(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	return use(ours, hand)
}
