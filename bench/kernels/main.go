// Command kernels measures kernels that "halyard kernels" translated from Go beside the same kernels written by hand in OpenCL C, on the OpenCL
// devices of the machine, and writes the ratios as a table.
//
// Both are launched in the same way, with the same blocks, on the same buffers, by one process, in turn. The result of each is compared with plain
// Go first, to the bit.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"time"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/bench"
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
	only := flag.String("only", "", "a regular expression: measure the rows whose name it matches")
	flag.Parse()
	if flag.NArg() > 0 || *pairs < 1 {
		flag.Usage()
		os.Exit(2)
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	load, _ := os.ReadFile("/proc/loadavg") // left out elsewhere
	first, _, _ := strings.Cut(string(load), " ")
	devices, err := openCL(ctx)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s; %s; medians of %d pairs. The load average was %s when it began.\n\n", time.Now().UTC().Format(time.DateOnly), bench.Machine(), *pairs, first)
	b.WriteString("| kernel | elements | device | by hand | translated | ratio | quartiles |\n|---|--:|---|--:|--:|--:|--:|\n")
	for _, w := range works(512) {
		for _, d := range devices {
			if !match.MatchString(w.name) {
				continue
			}
			r, err := measure(ctx, d, &w, *pairs)
			if err != nil {
				return fmt.Errorf("%s: %w", platform(d), err)
			}
			row := fmt.Sprintf("| %s | %s | %s | %s | %s | %.3f | %.3f - %.3f |\n", w.name, w.size, platform(d), bench.Duration(r.Raw.Median), bench.Duration(r.Ours.Median),
				r.Ratio.Median, r.Ratio.Q1, r.Ratio.Q3)
			fmt.Fprint(os.Stderr, row)
			b.WriteString(row)
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
	return bench.Replace(*document, "kernels", b.String())
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

// measure compares the two sides of a work on a device.
func measure(ctx context.Context, d hal.Info, w *work, pairs int) (r bench.Result, err error) {
	dev, err := hal.Open(ctx, d.Name())
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	s, err := dev.NewStream()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ours, hand, closeAll, err := w.ready(ctx, s)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	side := func(launch func() error) bench.Side {
		return bench.Side{Op: func() error {
			if err := launch(); err != nil {
				return err
			}
			return s.Sync(ctx)
		}}
	}
	return bench.Compare(ctx, side(ours), side(hand), bench.Options{Reps: pairs})
}
