// Command cg measures examples/cg beside the same loop in C with memory that is managed by hand, on one OpenCL device and on two of two vendors, and
// writes the ratios as a table. The script run builds the C program and calls this command.
//
// Each round starts both programs anew, one after the other, and both take the same number of steps. The figures are medians over the rounds. The
// residuals must agree.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/bench/internal/timing"
	"github.com/go-halyard/halyard/examples/cg/solve"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "cg:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	program := flag.String("c", ".cache/cg", "the program in C")
	document := flag.String("document", "", "a Markdown file whose part between the markers is replaced; standard output if empty")
	versions := flag.String("versions", "", "a file with the versions of what is measured, a line for each")
	rounds := flag.Int("rounds", 7, "how often each program runs")
	flag.Parse()
	if flag.Arg(0) == "halyard" {
		return halyard(ctx, flag.Args()[1:])
	}
	if flag.NArg() > 0 || *rounds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	dir, err := os.MkdirTemp("", "cg")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	text := filepath.Join(dir, "cg.cl")
	if err := os.WriteFile(text, []byte(kernel.Prelude(hal.LanguageOpenCLC)+solve.Text), 0o600); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var table strings.Builder
	fmt.Fprintf(&table, "\n%s; %s; Halyard at %s; medians of %d rounds.\n\n| devices | grid | C, a step | Halyard, a step | ratio | lowest to highest |\n|---|--:|--:|--:|--:|--:|\n",
		time.Now().Format(time.DateOnly), timing.Machine(), timing.Version(), *rounds)
	for _, platforms := range [][]string{{"Intel"}, {"Portable"}, {"Intel", "Portable"}} {
		for _, size := range []struct{ n, steps int }{{64, 112}, {256, 256}, {1024, 64}} { // with more steps the residual would be too small to compare
			n, steps := size.n, strconv.Itoa(size.steps)
			row, err := beside(ctx, *rounds, append([]string{*program, text, strconv.Itoa(n), steps}, platforms...),
				append([]string{self, "halyard", strconv.Itoa(n), steps}, platforms...))
			if err != nil {
				return fmt.Errorf("%s, %d: %w", platforms, n, err)
			}
			fmt.Fprintf(os.Stderr, "%s, %d: %s\n", platforms, n, row)
			fmt.Fprintf(&table, "| %s | %d × %d | %s |\n", strings.Join(platforms, " + "), n, n, row)
		}
	}
	devices, err := hal.Devices(ctx)
	if err != nil {
		return err
	}
	table.WriteString("\n")
	for _, d := range devices {
		if d.Backend == "opencl" {
			fmt.Fprintf(&table, "- %s: %s\n", d.Model, d.Driver)
		}
	}
	if *versions != "" {
		text, err := os.ReadFile(*versions)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			fmt.Fprintf(&table, "- %s\n", strings.TrimSpace(line))
		}
	}
	if *document == "" {
		_, err = fmt.Print(table.String())
		return err
	}
	return timing.Replace(*document, "cg", table.String())
}

// beside runs two programs in turn and returns the columns of their row.
func beside(ctx context.Context, rounds int, c, ours []string) (string, error) {
	var times [2][]float64
	var ratios []float64
	for range rounds {
		var residuals [2]float64
		for i, args := range [][]string{c, ours} {
			cmd := exec.CommandContext(ctx, args[0], args[1:]...)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				return "", fmt.Errorf("%s: %w", args[0], err)
			}
			var ns float64
			if _, err := fmt.Sscan(string(out), &ns, &residuals[i]); err != nil {
				return "", fmt.Errorf("%s printed %q: %w", args[0], out, err)
			}
			times[i] = append(times[i], ns)
		}
		if d := residuals[0] - residuals[1]; max(d, -d) > 1e-3*residuals[0] {
			return "", fmt.Errorf("the residuals are %g in C and %g with Halyard", residuals[0], residuals[1])
		}
		ratios = append(ratios, times[1][len(times[1])-1]/times[0][len(times[0])-1])
	}
	ratio := timing.Summarize(ratios)
	return fmt.Sprintf("%s | %s | %.2f | %.2f - %.2f", timing.Duration(timing.Summarize(times[0]).Median), timing.Duration(timing.Summarize(times[1]).Median),
		ratio.Median, ratio.Min, ratio.Max), nil
}

// halyard takes steps on OpenCL devices whose names contain the given texts, and prints what the program in C prints.
func halyard(ctx context.Context, args []string) (err error) {
	if len(args) < 3 {
		return fmt.Errorf("usage: halyard N STEPS PLATFORM [PLATFORM]")
	}
	n, e1 := strconv.Atoi(args[0])
	last, e2 := strconv.Atoi(args[1])
	if e1 != nil || e2 != nil {
		return fmt.Errorf("usage: halyard N STEPS PLATFORM [PLATFORM]")
	}
	devices, err := hal.Devices(ctx)
	if err != nil {
		return err
	}
	var streams []*hal.Stream
	for _, platform := range args[2:] {
		i := slices.IndexFunc(devices, func(d hal.Info) bool {
			return d.Backend == "opencl" && strings.Contains(d.Model+d.Vendor+d.Driver, platform)
		})
		if i < 0 {
			return fmt.Errorf("no OpenCL device has %q in its name", platform)
		}
		dev, err := hal.Open(ctx, devices[i].Name())
		if err != nil {
			return err
		}
		defer dev.Close()
		s, err := dev.NewStream()
		if err != nil {
			return err
		}
		defer s.Close()
		streams = append(streams, s)
	}
	_, b := solve.Problem(n)
	var begin time.Time
	_, err = solve.Solve(ctx, streams, n, b, func(steps int, residual float32) bool {
		switch steps {
		case solve.Between:
			begin = time.Now()
		case last:
			fmt.Printf("%d %.9g\n", time.Since(begin).Nanoseconds()/int64(last-solve.Between), residual)
			return true
		}
		return false
	})
	return err
}
