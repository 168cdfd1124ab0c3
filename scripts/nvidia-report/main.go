// Nvidia-report measures Halyard on a machine with NVIDIA devices that has no Go.
//
// On a machine with Go, any one of the same architecture:
//
//	go run ./scripts/nvidia-report build DIR
//
// builds into DIR the command, the CUDA backend's tests and benchmarks, the PTX example's test,
// and this program. Nothing needs cgo or CUDA. With -linked it also builds the tests of the
// linked binding, which needs cgo, cuda.h (CGO_CFLAGS) and libcuda (CGO_LDFLAGS).
//
// On the NVIDIA machine:
//
//	DIR/nvidia-report run > report.json
//
// lists the devices, runs the conformance suite, the backend's tests with their seeded model
// test, the example, the benchmarks beside raw driver calls and, where Python has CuPy or
// PyTorch, their allocators and copies. It prints one JSON report; what the parts print goes
// to files in DIR/output. The exit status is 0 only if everything passed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

const (
	exitPassed = 0
	exitFailed = 1
	exitUsage  = 2
)

func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("nvidia-report", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintf(stderr, "usage: nvidia-report build [-linked] DIR\n       nvidia-report run [-dir DIR] [-timeout DURATION]\n")
		flags.PrintDefaults()
	}
	linked := flags.Bool("linked", false, "build: also build the tests of the linked binding, with cgo")
	dir := flags.String("dir", "", "run: the folder that was built (default: the one this program lies in)")
	timeout := flags.Duration("timeout", 10*time.Minute, "run: the longest that one part may take")
	verb := ""
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitPassed
		}
		return exitUsage
	}
	switch {
	case verb == "build" && flags.NArg() == 1:
		if err := build(ctx, flags.Arg(0), *linked, stderr); err != nil {
			fmt.Fprintln(stderr, "nvidia-report:", err)
			return exitFailed
		}
		return exitPassed
	case verb == "run" && flags.NArg() == 0:
		if *dir == "" {
			self, err := os.Executable()
			if err != nil {
				fmt.Fprintln(stderr, "nvidia-report:", err)
				return exitFailed
			}
			*dir = filepath.Dir(self)
		}
		report, err := run(ctx, *dir, *timeout, stderr)
		if err == nil {
			err = report.write(stdout)
		}
		if err != nil {
			fmt.Fprintln(stderr, "nvidia-report:", err)
			return exitFailed
		}
		if !report.Passed {
			return exitFailed
		}
		return exitPassed
	}
	flags.Usage()
	return exitUsage
}
