// Nvidia-report measures Halyard on a machine that has NVIDIA devices and no Go.
//
// On a machine with Go, any one of the same architecture:
//
//	go run ./scripts/nvidia-report build DIR
//
// builds into DIR the command, the CUDA backend's tests and benchmarks, tests of examples and of
// package comm/nccl, and this program. None of them needs cgo or CUDA. If there are a C compiler and
// cuda.h it also builds the tests of the linked binding.
//
// On the NVIDIA machine:
//
//	DIR/nvidia-report run > report.json
//
// lists the devices and runs the conformance suite, the backend's tests with the seeded model of a
// buffer over the host and all devices, kernels that NVRTC compiles to PTX and to a cubin, NCCL with
// two ranks on one device, and the benchmarks beside raw driver calls. If Python has CuPy, PyTorch
// or RMM, it also measures their allocators, copies and launches. It prints one JSON report. DIR/output
// gets what the parts printed, and the report as a page to read, report.md. A part that fails or takes
// too long says so in the report, and the others go on. The exit status is 0 only if everything passed.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

const (
	exitPassed = 0
	exitFailed = 1
	exitUsage  = 2
)

const usage = `usage: nvidia-report build [-linked] [-simulated] [-nvrtc FILE] [-nccl FILE] DIR
       nvidia-report run [-dir DIR] [-limit DURATION] [-parts REGEXP] [-simulated]
`

func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("nvidia-report", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	linked := flags.Bool("linked", false, "build: fail if the tests of the linked binding cannot be built")
	simulated := flags.Bool("simulated", false, "build: also the simulated driver and NCCL; run: use them, to try the report without a device")
	nvrtc := flags.String("nvrtc", "", "build: NVRTC's library, to be copied with its builtins (default: what HALYARD_NVRTC_LIBRARY names)")
	nccl := flags.String("nccl", "", "build: NCCL's library, to be copied (default: what HALYARD_NCCL_LIBRARY names)")
	dir := flags.String("dir", "", "run: the folder that was built (default: the one this program lies in)")
	parts := flags.String("parts", "", "run: only the parts whose whole names match this regular expression")
	limit := flags.Duration("limit", 7*time.Minute+30*time.Second, "run: how long it may take")
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
	fail := func(err error) int {
		fmt.Fprintln(stderr, "nvidia-report:", err)
		return exitFailed
	}
	switch {
	case verb == "build" && flags.NArg() == 1:
		o := buildOptions{linked: *linked, simulated: *simulated, nvrtc: *nvrtc, nccl: *nccl}
		if err := build(ctx, flags.Arg(0), o, stderr); err != nil {
			return fail(err)
		}
		return exitPassed
	case verb == "run" && flags.NArg() == 0 && *limit > 0:
		only, err := regexp.Compile("^(" + cmp.Or(*parts, ".*") + ")$")
		if err != nil {
			return fail(err)
		}
		if *dir == "" {
			self, err := os.Executable()
			if err != nil {
				return fail(err)
			}
			*dir = filepath.Dir(self)
		}
		report, err := run(ctx, runOptions{dir: *dir, limit: *limit, parts: only, simulated: *simulated}, stderr)
		if err == nil {
			err = report.write(stdout)
		}
		if err != nil {
			return fail(err)
		}
		if !report.Passed {
			return exitFailed
		}
		return exitPassed
	}
	flags.Usage()
	return exitUsage
}
