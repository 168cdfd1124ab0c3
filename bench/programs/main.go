// Command programs measures twelve published programs, whose kernels are written in Go, beside the same work in C on one processor.
// It measures six of them beside kernels by hand in OpenCL C, too, on the OpenCL devices of the machine.
// First the results of all sides are compared with those of plain Go.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/ebitengine/purego"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/bench/internal/timing"
	"github.com/go-halyard/halyard/hal"
)

func main() {
	rounds := flag.Int("rounds", 5, "how often each side is timed")
	only := flag.String("only", "", "a regular expression: measure the programs that it matches")
	options := flag.String("cflags", "-O3", "options of gcc; no options make it fuse products with sums")
	devices := flag.Bool("devices", true, "measure on OpenCL devices, too")
	frame.Parse(0, func() bool { return *rounds > 0 })
	frame.Main("programs", func(ctx context.Context) {
		run(ctx, *rounds, frame.Get(regexp.Compile(*only)), *options, *devices)
	})
}

func run(ctx context.Context, rounds int, match *regexp.Regexp, options string, devices bool) {
	dir := frame.Get(os.MkdirTemp("", "programs"))
	defer os.RemoveAll(dir)
	library, missing := compile(ctx, dir, strings.Fields(options)...)
	fmt.Printf("%s; Halyard at %s; medians of %d rounds; gcc %s\n\n", timing.Machine(), timing.Version(), rounds, options)
	fmt.Print("| program | size | device | by hand | translated | ratio | quartiles | vectors |\n|---|---|---|--:|--:|--:|--:|---|\n")
	row := func(s *setting, p *program, label string, hand func() error, missing error, clock func() time.Duration) error {
		r, err := timing.Compare(ctx, timing.Side{Op: s.ours(ctx, p)}, timing.Side{Op: hand}, timing.Options{Reps: rounds, Clock: clock})
		byHand, ratio := "-", fmt.Sprintf("%v | -", missing)
		if hand != nil {
			byHand = timing.Duration(r.Raw.Median)
			ratio = fmt.Sprintf("%.2f | %.2f - %.2f", r.Ratio.Median, r.Ratio.Q1, r.Ratio.Q3)
		}
		ours := timing.Duration(r.Ours.Median)
		fmt.Printf("| %s | %s | %s | %s | %s | %s | %s |\n", p.name, p.size, label, byHand, ours, ratio, p.vectors(s.device))
		return err
	}
	before := runtime.GOMAXPROCS(1)
	err := each(ctx, host, match, func(s *setting, p *program) error {
		inC, err := s.inC(p, library)
		if err != nil {
			return err
		}
		return row(s, p, "host, 1 processor, beside C", inC, missing, processorTime(library))
	})
	runtime.GOMAXPROCS(before)
	frame.Must(err)
	for _, d := range frame.Get(hal.Devices(ctx)) {
		if !devices || d.Backend != "opencl" {
			continue
		}
		frame.Must(each(ctx, d.Name(), match, func(s *setting, p *program) error {
			if p.hand == nil {
				return nil
			}
			return row(s, p, d.Model+", beside OpenCL C", s.byHand(ctx, p), nil, nil)
		}))
	}
}

// host is the device that works on the program's own memory.
const host = "host:0"

//go:embed c/programs.c
var inC []byte

// compile makes a library of the programs in C. Its error says why there is none.
func compile(ctx context.Context, dir string, options ...string) (library uintptr, err error) {
	source, object := filepath.Join(dir, "programs.c"), filepath.Join(dir, "programs.so")
	if err := os.WriteFile(source, inC, 0o600); err != nil {
		return 0, err
	}
	options = append(options, "-ffp-contract=off", "-shared", "-fPIC", "-o", object, source, "-lm")
	out, err := exec.CommandContext(ctx, "gcc", options...).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("no gcc: %w %s", err, out)
	}
	return purego.Dlopen(object, purego.RTLD_NOW)
}

// processorTime returns a clock that only runs while this process has a processor, so that other programs take no part.
// Without a library it returns nil.
func processorTime(library uintptr) func() time.Duration {
	if library == 0 {
		return nil
	}
	clock, err := purego.Dlsym(library, "clock") // of C's library
	if err != nil {
		return nil
	}
	return func() time.Duration {
		microseconds, _, _ := purego.SyscallN(clock)
		return time.Duration(microseconds) * time.Microsecond
	}
}

// setting is a device with a stream.
type setting struct {
	device string
	stream *hal.Stream
}

// each does something with each program on a device, once the program has computed there what plain Go computes.
func each(ctx context.Context, device string, match *regexp.Regexp, do func(s *setting, p *program) error) error {
	return frame.Do(func() {
		dev := frame.Get(hal.Open(ctx, device))
		defer frame.Close(dev)
		s := &setting{device: device, stream: frame.Get(dev.NewStream())}
		defer frame.Close(s.stream)
		for _, make := range programs {
			p := make()
			err := p.err
			if err == nil && match.MatchString(p.name) {
				if err = s.ours(ctx, p)(); err == nil {
					err = p.check(ctx, p.data, false)
				}
				if err == nil {
					err = do(s, p)
				}
			}
			for _, d := range append(p.data, p.inC...) {
				err = errors.Join(err, d.close())
			}
			if err != nil {
				frame.Must(fmt.Errorf("%s on %s: %w", p.name, device, err))
			}
		}
	})
}

// on returns a function that prepares the data, launches kernels, and waits.
func (s *setting) on(ctx context.Context, p *program, launch func(ctx context.Context, s *hal.Stream) error) func() error {
	return func() error {
		for _, d := range p.data {
			if err := d.reset(ctx); err != nil {
				return err
			}
		}
		if err := launch(ctx, s.stream); err != nil {
			return err
		}
		return s.stream.Sync(ctx)
	}
}

func (s *setting) ours(ctx context.Context, p *program) func() error { return s.on(ctx, p, p.ours) }

// byHand returns a function that runs the kernels by hand, whose results it has checked.
func (s *setting) byHand(ctx context.Context, p *program) func() error {
	run, checked := s.on(ctx, p, p.hand), false
	return func() error {
		err := run()
		if err == nil && !checked {
			checked = true
			err = p.check(ctx, p.data, false)
		}
		return err
	}
}

// inC returns a function that runs the program in C, whose results it has checked. It returns nil without a library.
func (s *setting) inC(p *program, library uintptr) (func() error, error) {
	if library == 0 {
		return nil, nil
	}
	function, err := purego.Dlsym(library, p.c)
	if err != nil {
		return nil, err
	}
	var args []uintptr
	for _, n := range p.ints {
		args = append(args, uintptr(n))
	}
	data := p.data
	if p.inC != nil {
		data = p.inC
	}
	for _, d := range data {
		args = append(args, d.address())
	}
	run := func() error {
		for _, d := range data {
			d.resetC()
		}
		purego.SyscallN(function, args...)
		return nil
	}
	return run, errors.Join(run(), p.check(context.Background(), data, true))
}
