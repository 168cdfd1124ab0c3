// Command soak is a server under load: workers answer requests with streams that live for one request, buffers, slices,
// leases, deadlines that are missed, device handles, evictions, pools, chunks in turn, traces and drivers that fail. Every
// second it lets the requests under way end and counts what is left: heap, objects, goroutines, threads. In the end it
// prints how each grew, and fails if one grew with the number of requests, if something stays open, or if a byte was wrong.
//
//	go run ./bench/soak -for 10m -svg soak.svg
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/go-halyard/halyard/bench/internal/frame"
)

func main() {
	var o options
	var devices, only string
	flag.DurationVar(&o.time, "for", 10*time.Minute, "how long to go on")
	flag.DurationVar(&o.every, "every", time.Second, "time between two samples")
	flag.IntVar(&o.workers, "workers", 2*runtime.GOMAXPROCS(0), "goroutines that answer requests")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the requests")
	flag.StringVar(&only, "requests", "", "only requests whose name matches this regular expression")
	flag.StringVar(&devices, "devices", "", "devices to use, with commas between; a discrete device of the host backend if empty")
	flag.StringVar(&o.trace, "trace", "", "a file for a trace that is open all the time, /dev/null for instance")
	flag.StringVar(&o.svg, "svg", "", "a file for the picture (.svg or .png)")
	frame.Parse(0, func() (ok bool) {
		var err error
		o.only, err = regexp.Compile(only)
		return err == nil && len(o.kinds()) > 0 && o.time > 0 && o.every > 0 && o.workers > 0
	})
	if devices != "" {
		o.devices = strings.Split(devices, ",")
	}
	frame.Main("soak", func(ctx context.Context) {
		r := o.run(ctx)
		fmt.Print(r.text())
		if o.svg != "" {
			frame.Must(r.page().Write(o.svg))
		}
		if r.failed() {
			frame.Must(errors.New("it grows, or something failed"))
		}
	})
}

type options struct {
	time, every time.Duration
	workers     int
	seed        uint64
	only        *regexp.Regexp
	devices     []string
	trace, svg  string
	samples     int // the run ends after this many, for tests; 0 means no limit
}

// kinds returns the kinds of request that the options select.
func (o options) kinds() []kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return !o.only.MatchString(k.name) })
}

// run serves until the time is over or the context ends, takes samples, and closes everything.
func (o options) run(parent context.Context) *results {
	ctx, cancel := context.WithTimeout(parent, o.time)
	defer cancel()
	goroutines := runtime.NumGoroutine()
	s := newServer(o)
	serving := s.serve(ctx)
	start, ticker := time.Now(), time.NewTicker(o.every)
	defer ticker.Stop()
	r := &results{}
	for last := start; ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			s.quiet(func() {
				running := time.Since(last) // without what sampling takes
				r.add(s.sample(time.Since(start)), running)
			})
			last = time.Now()
			if len(r.Samples) == o.samples {
				cancel()
			}
		}
	}
	serving.Wait()
	r.Interrupted = parent.Err() != nil
	r.Took, r.Requests, r.Kinds = time.Since(start), s.requests.Load(), s.counts()
	s.close(goroutines)
	r.Wrong, r.Failures, r.Failed = s.wrong.Load(), s.failures, s.failed
	return r
}
