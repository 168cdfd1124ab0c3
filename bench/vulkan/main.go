// Command vulkan measures copies, fills and launches on a Vulkan device beside a program in C that makes the same calls, and two whole programs
// of bench/apps beside the same in C (apps.go), and writes the ratios as a table. The script run builds the C programs and calls this command.
//
// Each round starts both programs anew, one after the other. The figures are medians over the rounds, of the least time of an operation in
// each. For single operations the device is used as one with memory of its own, so that the host does no part of the work.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/bench/internal/timing"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "vulkan:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	program := flag.String("c", ".cache/vulkan-calls", "the program in C")
	spirv := flag.String("spirv", ".cache/vulkan-five.spv", "the kernel's code")
	document := flag.String("document", "", "a Markdown file whose part between the markers is replaced; standard output if empty")
	folder := flag.String("programs", ".cache", "the folder with vulkan-apps, the programs in C, and vulkan-frontdoor, those of bench/apps")
	rounds := flag.Int("rounds", 7, "how often each program runs")
	flag.Parse()
	if flag.Arg(0) == "halyard" {
		return halyard(ctx, *spirv)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	all := samples{times: map[string]*[2][]float64{}}
	for range *rounds {
		for side, args := range [][]string{{*program, os.Getenv("HALYARD_VULKAN_LIBRARY"), *spirv}, {self, "-spirv", *spirv, "halyard"}} {
			out, err := output(ctx, args...)
			if err != nil {
				return err
			}
			for line := range strings.Lines(out) {
				name, number, _ := strings.Cut(strings.TrimSpace(line), "\t")
				ns, err := strconv.ParseFloat(number, 64)
				if err != nil {
					return fmt.Errorf("%s printed %q", args[0], line)
				}
				all.add(name, side, ns)
			}
		}
	}
	if err := all.programs(ctx, *folder, *rounds); err != nil {
		return err
	}
	dev, err := hal.Open(ctx, "vulkan")
	if err != nil {
		return err
	}
	info := dev.Info()
	var table strings.Builder
	fmt.Fprintf(&table, "\n%s; %s; Halyard at %s; medians of %d rounds.\n\n"+
		"| operation | C | Halyard | ratio | lowest to highest |\n|---|--:|--:|--:|--:|\n", time.Now().Format(time.DateOnly), timing.Machine(), timing.Version(), *rounds)
	for _, name := range all.names {
		t := all.times[name]
		var ratios []float64
		for i := range t[0] {
			ratios = append(ratios, t[1][i]/t[0][i])
		}
		r := timing.Summarize(ratios)
		c, ours := timing.Summarize(t[0]).Median, timing.Summarize(t[1]).Median
		fmt.Fprintf(&table, "| %s | %s | %s | %.2f | %.2f - %.2f |\n", name, timing.Duration(c), timing.Duration(ours), r.Median, r.Min, r.Max)
	}
	fmt.Fprintf(&table, "\n- %s: %s\n", info.Model, info.Driver)
	if err := dev.Close(); err != nil {
		return err
	}
	if *document == "" {
		_, err = fmt.Print(table.String())
		return err
	}
	return timing.Replace(*document, "vulkan", table.String())
}

// samples are the times of both sides, in nanoseconds: those of C first.
type samples struct {
	names []string // in their order
	times map[string]*[2][]float64
}

func (s *samples) add(name string, side int, ns float64) {
	if s.times[name] == nil {
		s.names, s.times[name] = append(s.names, name), new([2][]float64)
	}
	s.times[name][side] = append(s.times[name][side], ns)
}

func output(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", args[0], err)
	}
	return string(out), nil
}

// halyard prints what the program in C prints.
func halyard(ctx context.Context, spirv string) (err error) {
	code, err := os.ReadFile(spirv)
	if err != nil {
		return err
	}
	dev, err := hal.Open(ctx, "vulkan")
	if err != nil {
		return err
	}
	opened := []io.Closer{dev}
	defer func() { err = errors.Join(err, hal.CloseAll(opened...)) }()
	s, err := dev.NewStream()
	if err != nil {
		return err
	}
	opened = append(opened, s)
	to, e1 := dev.Alloc(hal.KindDevice, 64<<20, 0)
	from, e2 := dev.Alloc(hal.KindDevice, 64<<20, 0)
	if err := errors.Join(e1, e2); err != nil {
		return err
	}
	opened = append(opened, to, from)
	if err := s.Fill(from.All(), hal.Pattern32(7)); err != nil { // so that its pages are there
		return err
	}
	measure := func(name string, calls int, op func() error) {
		if err == nil {
			err = least(ctx, s, name, calls, op)
		}
	}
	for _, size := range []struct {
		name string
		n    uint64
	}{{"4 KiB", 4 << 10}, {"64 KiB", 64 << 10}, {"1 MiB", 1 << 20}, {"16 MiB", 16 << 20}} {
		dst, src := to.Region(0, size.n), from.Region(0, size.n)
		measure("copy "+size.name, 0, func() error { return s.Copy(dst, src) })
		measure("fill "+size.name, 0, func() error { return s.Fill(dst, hal.Pattern32(7)) })
	}
	p := kernel.New(kernel.Source{Name: "five", Images: []hal.Image{{Format: hal.FormatVulkan, Data: code}}})
	k, e := p.Kernel("main").Of(ctx, dev)
	if e != nil {
		return e
	}
	const launches, n = 200, 64
	grid := hal.Blocks(1).Of(n)
	var raw []hal.Arg
	var args []kernel.Arg
	for i := range 5 {
		m, e1 := dev.Alloc(hal.KindDevice, 4*n, 0)
		b, e2 := buffer.New[float32](n)
		if err := errors.Join(e1, e2); err != nil {
			return err
		}
		opened = append(opened, m, b)
		raw = append(raw, hal.At(m.All()))
		if i < 4 {
			args = append(args, kernel.In(b))
		} else {
			args = append(args, kernel.Out(b))
		}
	}
	raw, args = append(raw, hal.Value(uint32(n))), append(args, kernel.Value(uint32(n)))
	launch := func() error { return s.Launch(k, grid, raw...) }
	measure("launch and wait", 0, launch)
	measure("launch, the call", launches, launch)
	five := p.Kernel("main")
	measure("launch of 5 buffers, the call", launches, func() error { return five.Launch(ctx, s, grid, args...) })
	return err
}

// least prints the time of an operation and the wait for it. With calls > 0 it is that of a call alone: as many are made, and the wait for
// them is not counted.
func least(ctx context.Context, s *hal.Stream, name string, calls int, op func() error) error {
	const batches = 25
	fixed := calls > 0
	best, calls := time.Duration(1<<62), max(calls, 1)
	for batch := -5; batch < batches; {
		start := time.Now()
		for range calls {
			if err := op(); err != nil {
				return err
			}
			if !fixed {
				if err := s.Sync(ctx); err != nil {
					return err
				}
			}
		}
		took := time.Since(start)
		if err := s.Sync(ctx); err != nil {
			return err
		}
		if !fixed && took < 4*time.Millisecond && batch < 0 {
			calls *= 2
			continue
		}
		if batch++; batch > 0 {
			best = min(best, took/time.Duration(calls))
		}
	}
	_, err := fmt.Printf("%s\t%d\n", name, best.Nanoseconds())
	return err
}
