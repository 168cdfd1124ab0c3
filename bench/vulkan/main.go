// Command vulkan measures copies, fills and launches on a Vulkan device beside a program in C that makes the same calls, and writes the ratios as a
// table. The script run builds the C program and calls this command.
//
// Each round starts both programs anew, one after the other. The figures are medians over the rounds, of the least time of an operation in
// each. The device is used as one with memory of its own, so that the host does no part of the work.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

func main() {
	program := flag.String("c", ".cache/vulkan-calls", "the program in C")
	spirv := flag.String("spirv", ".cache/vulkan-five.spv", "the kernel's code")
	rounds := flag.Int("rounds", 7, "how often each program runs")
	document := frame.Document()
	frame.Parse(1, func() bool { return *rounds > 0 && (flag.NArg() == 0 || flag.Arg(0) == "halyard") })
	frame.Main("vulkan", func(ctx context.Context) {
		if flag.NArg() > 0 {
			halyard(ctx, *spirv)
			return
		}
		c := []string{*program, os.Getenv("HALYARD_VULKAN_LIBRARY"), *spirv}
		frame.Write(*document, "vulkan", compare(ctx, *rounds, c, []string{frame.Self(), "-spirv", *spirv, "halyard"}))
	})
}

// compare runs two programs in turns, and returns the table.
func compare(ctx context.Context, rounds int, c, ours []string) string {
	var names []string // in their order
	times := map[string]*[2]frame.Samples{}
	for range rounds {
		for side, args := range [][]string{c, ours} {
			for line := range strings.Lines(frame.Get(frame.Output(ctx, nil, args...))) {
				name, number, _ := strings.Cut(strings.TrimSpace(line), "\t")
				if times[name] == nil {
					names, times[name] = append(names, name), new([2]frame.Samples)
				}
				times[name][side] = append(times[name][side], frame.Get(strconv.ParseFloat(number, 64)))
			}
		}
	}
	var table strings.Builder
	fmt.Fprintf(&table, "\n%s; medians of %d rounds.\n\n| operation | C | Halyard | ratio | lowest to highest |\n|---|--:|--:|--:|--:|\n", frame.Today(), rounds)
	for _, name := range names {
		fmt.Fprintf(&table, "| %s | %s |\n", name, times[name][1].Beside(times[name][0]))
	}
	dev := frame.Get(hal.Open(ctx, "vulkan"))
	defer frame.Close(dev)
	fmt.Fprintf(&table, "\n- %s: %s\n", dev.Info().Model, dev.Info().Driver)
	return table.String()
}

// halyard prints what the program in C prints.
func halyard(ctx context.Context, spirv string) {
	p := kernel.New(kernel.Source{Name: "five", Images: []hal.Image{{Format: hal.FormatVulkan, Data: frame.Get(os.ReadFile(spirv))}}})
	dev := frame.Get(hal.Open(ctx, "vulkan"))
	opened := []io.Closer{dev}
	defer func() { frame.Then(recover(), hal.CloseAll(opened...)) }()
	s := frame.Get(dev.NewStream())
	to, from := frame.Get(dev.Alloc(hal.KindDevice, 64<<20, 0)), frame.Get(dev.Alloc(hal.KindDevice, 64<<20, 0))
	opened = append(opened, s, to, from)
	frame.Must(s.Fill(from.All(), hal.Pattern32(7))) // so that its pages are there
	for _, size := range []struct {
		name string
		n    uint64
	}{{"4 KiB", 4 << 10}, {"64 KiB", 64 << 10}, {"1 MiB", 1 << 20}, {"16 MiB", 16 << 20}} {
		dst, src := to.Region(0, size.n), from.Region(0, size.n)
		least(ctx, s, "copy "+size.name, 0, func() error { return s.Copy(dst, src) })
		least(ctx, s, "fill "+size.name, 0, func() error { return s.Fill(dst, hal.Pattern32(7)) })
	}
	const launches, n = 200, 64
	grid := hal.Blocks(1).Of(n)
	var raw []hal.Arg
	var args []kernel.Arg
	for range 5 {
		m, b := frame.Get(dev.Alloc(hal.KindDevice, 4*n, 0)), frame.Get(buffer.New[float32](n))
		opened = append(opened, m, b)
		raw, args = append(raw, hal.At(m.All())), append(args, kernel.In(b))
		if len(args) == 5 {
			args[4] = kernel.Out(b)
		}
	}
	raw, args = append(raw, hal.Value(uint32(n))), append(args, kernel.Value(uint32(n)))
	k, five := frame.Get(p.Kernel("main").Of(ctx, dev)), p.Kernel("main")
	launch := func() error { return s.Launch(k, grid, raw...) }
	least(ctx, s, "launch and wait", 0, launch)
	least(ctx, s, "launch, the call", launches, launch)
	least(ctx, s, "launch of 5 buffers, the call", launches, func() error { return five.Launch(ctx, s, grid, args...) })
}

// least prints the time of an operation and the wait for it. With calls > 0 it is that of a call alone: as many are made, and the wait for
// them is not counted.
func least(ctx context.Context, s *hal.Stream, name string, calls int, op func() error) {
	const batches = 25
	fixed := calls > 0
	best, calls := time.Duration(1<<62), max(calls, 1)
	for batch := -5; batch < batches; {
		start := time.Now()
		for range calls {
			frame.Must(op())
			if !fixed {
				frame.Must(s.Sync(ctx))
			}
		}
		took := time.Since(start)
		frame.Must(s.Sync(ctx))
		if !fixed && took < 4*time.Millisecond && batch < 0 {
			calls *= 2
			continue
		}
		if batch++; batch > 0 {
			best = min(best, took/time.Duration(calls))
		}
	}
	fmt.Printf("%s\t%d\n", name, best.Nanoseconds())
}
