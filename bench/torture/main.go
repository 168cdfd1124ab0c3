//go:build cuda && hip && opencl && linux

// Command torture drives Halyard for as long as it is told to, over every backend at once, with the faults that
// programs meet rarely: work in any order that streams and events allow, driver calls that fail, memory that
// runs out, devices that go away, objects that are closed while others use them, functions of the program that panic, signals in the middle of
// a copy. It counts its actions, the bytes that were wrong, the handles and goroutines that were left, and the calls that did not end.
//
//	go run -tags "cuda hip opencl vulkan" ./bench/torture -for 10m
//
// CUDA and HIP devices are simulated. OpenCL and Vulkan devices are those of the libraries that are installed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/bench/internal/timing"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		child(os.Args[2:])
		return
	}
	var o options
	flag.DurationVar(&o.time, "for", 5*time.Minute, "how long to go on")
	flag.Uint64Var(&o.seed, "seed", 1, "the first seed")
	flag.BoolVar(&o.short, "short", false, "a short round of each scenario, whatever -for says")
	flag.StringVar(&o.only, "only", "", "only scenarios whose name matches this regular expression")
	flag.StringVar(&o.json, "json", "", "a file for the summary")
	flag.StringVar(&o.document, "document", "", "a Markdown file for the summary")
	merge := flag.Bool("merge", false, "only add up the summaries of runs that went on side by side; the arguments are their JSON files")
	frame.Parse(math.MaxInt, func() bool { return *merge || flag.NArg() == 0 })
	frame.Main("torture", func(ctx context.Context) {
		if *merge {
			o.merge(flag.Args())
		} else if !o.run(ctx, frame.Get(regexp.Compile(o.only))) {
			frame.Must(errors.New("something failed"))
		}
	})
}

type options struct {
	time                 time.Duration
	seed                 uint64
	short                bool
	only, json, document string
}

// run runs all scenarios again and again until the time is over, each time with the next seed.
func (o options) run(ctx context.Context, only *regexp.Regexp) (ok bool) {
	w := newWorld()
	chosen := slices.DeleteFunc(slices.Clone(scenarios), func(s scenario) bool { return !only.MatchString(s.name) })
	if len(chosen) == 0 {
		w.close()
		frame.Must(fmt.Errorf("no scenario has a name that matches %q", only))
	}
	sum := &summary{Date: time.Now().Format(time.DateOnly), Machine: timing.Machine(), Halyard: timing.Version(), FirstSeed: o.seed}
	for _, s := range chosen {
		sum.Scenarios = append(sum.Scenarios, &tally{Name: s.name, What: s.what, Errors: map[string]uint64{}})
	}
	start := time.Now()
	tty := isTerminal()
	for seed := o.seed; ; seed++ {
		for i, s := range chosen {
			if ctx.Err() != nil || sum.Stopped != "" || !o.short && time.Since(start) >= o.time {
				break
			}
			if s.every > 1 && !o.short && (seed-o.seed+1)%s.every != 0 {
				continue
			}
			if tty {
				fmt.Fprintf(os.Stderr, "\r\x1b[K%s of %s, seed %d: %s", time.Since(start).Round(time.Second), o.time, seed, s.name)
			}
			r := &run{w: w, seed: seed, tally: sum.Scenarios[i], short: o.short}
			r.do(ctx, s)
			if r.hung && (r.simulate || !r.ended.Load()) {
				sum.Stopped = s.name + " hangs, and still uses what the other scenarios need"
			}
			if len(sum.Scenarios[i].Failures) >= 5 {
				sum.Stopped = s.name + " failed five times"
			}
		}
		sum.Seeds = seed - o.seed + 1
		if o.short || ctx.Err() != nil || sum.Stopped != "" || time.Since(start) >= o.time {
			break
		}
	}
	if tty {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
	if ctx.Err() != nil {
		sum.Stopped = "interrupted"
	}
	sum.Seconds = time.Since(start).Seconds()
	sum.Devices = w.names
	if !sum.hung() { // else it has goroutines, and may keep devices from closing
		w.close()
		sum.goroutines()
	}
	return o.report(sum)
}

// report prints the summary and writes the files that are asked for.
func (o options) report(sum *summary) (ok bool) {
	text := sum.text()
	fmt.Print(text)
	frame.JSON(o.json, sum)
	if o.document != "" {
		frame.Must(os.WriteFile(o.document, []byte(sum.markdown()), 0o644))
	}
	return !strings.Contains(text, "FAILED")
}

// merge adds up summaries.
func (o options) merge(files []string) {
	if len(files) == 0 {
		frame.Must(errors.New("-merge needs files"))
	}
	var sum *summary
	for _, file := range files {
		one := &summary{Processes: 1}
		err := json.Unmarshal(frame.Get(os.ReadFile(file)), one)
		if sum == nil {
			sum = one
		} else if err == nil {
			err = sum.add(one)
		}
		if err != nil {
			frame.Must(fmt.Errorf("%s: %w", file, err))
		}
	}
	o.report(sum)
}

func isTerminal() bool {
	s, err := os.Stderr.Stat()
	return err == nil && s.Mode()&os.ModeCharDevice != 0
}
