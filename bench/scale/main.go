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
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"time"

	"github.com/go-halyard/halyard/bench/internal/timing"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == "point" {
		if err := measure(ctx, os.Args[2:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "scale:", err)
			os.Exit(1)
		}
		return
	}
	var o options
	var only string
	flag.IntVar(&o.most, "max", 1_000_000, "the largest N")
	flag.DurationVar(&o.limit, "limit", 5*time.Second, "time for one point, with what it needs before and after")
	flag.StringVar(&only, "curves", "", "a regular expression: only curves whose name it matches")
	flag.StringVar(&o.svg, "svg", "", "a file for the picture (.svg or .png)")
	flag.StringVar(&o.document, "document", "", "a Markdown file whose part between the markers is replaced")
	flag.StringVar(&o.json, "json", "", "a file for all figures")
	flag.Parse()
	var err error
	if o.only, err = regexp.Compile(only); err != nil || flag.NArg() > 0 || o.most < 1 || o.limit <= 0 {
		fmt.Fprintln(os.Stderr, "scale: wrong usage:", err, flag.Args())
		os.Exit(2)
	}
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

type options struct {
	most                int
	limit               time.Duration
	only                *regexp.Regexp
	svg, document, json string
}

// run measures the curves and writes what was asked for. After an interrupt it prints what there is, and writes no files.
func (o options) run(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r := results{Date: time.Now().Format(time.DateOnly), Machine: timing.Machine(), Halyard: timing.Version(), Limit: o.limit}
	for _, c := range curves {
		if !o.only.MatchString(c.name) {
			continue
		}
		got, err := o.curve(ctx, self, c)
		if err != nil {
			return err
		}
		r.Curves = append(r.Curves, got)
		fmt.Println(got.text(o.limit))
	}
	if len(r.Curves) == 0 {
		return fmt.Errorf("no curve has %q in its name", o.only)
	}
	fmt.Print(r.summary())
	if o.json != "" {
		text, err := json.MarshalIndent(r, "", "\t")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.json, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	if o.svg != "" {
		if err := r.page().Write(o.svg); err != nil {
			return err
		}
	}
	if o.document == "" {
		return nil
	}
	picture := o.svg
	if rel, err := filepath.Rel(filepath.Dir(o.document), o.svg); err == nil && o.svg != "" {
		picture = filepath.ToSlash(rel)
	}
	return timing.Replace(o.document, "scale", r.markdown(picture))
}
