// Command scale measures how the cost of an operation grows with the number of things around it: slices of a buffer, leases
// that are open, streams that have touched a memory, replicas under a budget. It prints a table for each curve, draws all
// of them as one picture, and lists those that bend: whose cost grows faster than expected.
//
//	go run ./bench/scale -svg docs/scale.svg -document docs/performance.md
//
// Everything runs on a discrete device of the host backend, whose own calls cost little and always the same. Each point has a
// process of its own. If the process takes longer than the limit, it is stopped, and the curve ends there.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/bench/internal/timing"
)

func main() {
	var o options
	var only string
	flag.IntVar(&o.most, "max", 1_000_000, "the largest N")
	flag.DurationVar(&o.limit, "limit", 5*time.Second, "time for one point, with what it needs before and after")
	flag.StringVar(&only, "curves", "", "a regular expression: only curves whose name it matches")
	flag.StringVar(&o.svg, "svg", "", "a file for the picture (.svg or .png)")
	flag.StringVar(&o.json, "json", "", "a file for all figures")
	document := frame.Document()
	point := len(os.Args) > 1 && os.Args[1] == "point"
	if !point {
		frame.Parse(0, func() (ok bool) {
			var err error
			o.only, err = regexp.Compile(only)
			return err == nil && o.most > 0 && o.limit > 0
		})
	}
	frame.Main("scale", func(ctx context.Context) {
		if point {
			frame.Must(measure(ctx, os.Args[2:], os.Stdout))
			return
		}
		o.document = *document
		o.run(ctx)
	})
}

type options struct {
	most                int
	limit               time.Duration
	only                *regexp.Regexp
	svg, document, json string
}

// run measures the curves and writes what was asked for. After an interrupt it prints what there is, and writes no files.
func (o options) run(ctx context.Context) {
	r := results{Date: time.Now().Format(time.DateOnly), Machine: timing.Machine(), Halyard: timing.Version(), Limit: o.limit}
	for _, c := range curves {
		if !o.only.MatchString(c.name) {
			continue
		}
		got := frame.Get(o.curve(ctx, frame.Self(), c))
		r.Curves = append(r.Curves, got)
		fmt.Println(got.text(o.limit))
	}
	if len(r.Curves) == 0 {
		frame.Must(fmt.Errorf("no curve has %q in its name", o.only))
	}
	fmt.Print(r.summary())
	frame.JSON(o.json, r)
	if o.svg != "" {
		frame.Must(r.page().Write(o.svg))
	}
	if o.document != "" {
		frame.Write(o.document, "scale", r.markdown(frame.Relative(o.document, o.svg)))
	}
}
