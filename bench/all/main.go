// Command all runs the benchmarks whose results the documents show, one after the other, and writes the documents from their results:
//
//	go run ./bench/all                 what has no result yet of this code on this machine's kind of processor, then the documents
//	go run ./bench/all cg vulkan       these alone
//	go run ./bench/all -status         which documents are of this code, and which are older
//
// It can be stopped at any time, and the next run goes on with the benchmark that was stopped. Each benchmark that has ended has a folder in
// bench/results, which git ignores: what it printed, its part of the document, its pictures, and the sum of the files that it measured (see sums).
// Until all have ended the documents stay as they were, so that every table names a commit without changes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-halyard/halyard/bench/internal/timing"
)

// bench is a benchmark and where its results go.
type bench struct {
	name    string
	target  []string // arguments of make
	folders []string // of its programs, in whatever language
	// The document that shows it, between the markers of a section or all of it, and the pictures there. Without a document the result is what it prints.
	document, section string
	pictures          []string
}

const performance = "docs/performance.md"

// The shortest first.
var benches = []bench{
	{name: "ranks", target: []string{"bench-ranks"}, folders: []string{"bench/ranks"}, document: performance, section: "ranks", pictures: []string{"docs/ranks.svg"}},
	{name: "vulkan", target: []string{"bench-vulkan"}, folders: []string{"bench/vulkan", "bench/apps/frontdoor"}, document: performance, section: "vulkan"},
	{name: "comm", target: []string{"bench-comm"}, folders: []string{"bench/comm"}, document: performance, section: "comm"},
	{name: "peers", target: []string{"bench-peers"}, folders: []string{"bench/peers"}, document: performance, section: "peers"},
	{name: "kernels", target: []string{"bench-kernels"}, folders: []string{"bench/kernels"}, document: performance, section: "kernels"},
	{name: "docs", target: []string{"bench-docs"}, folders: []string{"bench/devices"}, document: performance, section: "bench", pictures: []string{"docs/bench.svg"}},
	{name: "programs", target: []string{"bench-programs"}, folders: []string{"bench/programs"}},
	{name: "scale", target: []string{"bench-scale"}, folders: []string{"bench/scale"}, document: performance, section: "scale", pictures: []string{"docs/scale.svg"}},
	{name: "apps", target: []string{"bench-apps"}, folders: []string{"bench/apps"}, document: "docs/apps.md", pictures: []string{"docs/apps.svg"}},
	{
		name: "torture", target: []string{"torture", "TORTURE=1h", "TORTURE_FLAGS=-document docs/torture.md"}, folders: []string{"bench/torture"},
		document: "docs/torture.md",
	},
}

func main() {
	status := flag.Bool("status", false, "measure nothing; list the documents, and fail if one is not of this code")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, ".", flag.Args(), *status); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string, names []string, status bool) error {
	chosen, err := choose(names)
	if err != nil {
		return err
	}
	files, err := sums(root, benches)
	if err != nil {
		return err
	}
	if status {
		return report(os.Stdout, root, chosen, files)
	}
	var failed []error
	for _, b := range chosen {
		r := result{root, b, timing.Vendor()}
		if sum, err := r.sum(); err == nil && sum == files[b.name] {
			fmt.Printf("%s: there is a result of this code\n", b.name)
		} else {
			fmt.Printf("%s: make %s\n", b.name, strings.Join(b.target, " "))
			if err := r.measure(ctx, files[b.name]); err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", b.name, err))
			}
		}
		if ctx.Err() != nil {
			return errors.Join(append(failed, errors.New("stopped; the next run goes on from here"))...)
		}
	}
	for _, b := range chosen {
		r := result{root, b, timing.Vendor()}
		if sum, err := r.sum(); err == nil && sum == files[b.name] && b.document != "" {
			if err := r.publish(sum); err != nil {
				failed = append(failed, err)
			}
		}
	}
	return errors.Join(failed...)
}

func choose(names []string) ([]bench, error) {
	if len(names) == 0 {
		return benches, nil
	}
	var chosen []bench
	for _, name := range names {
		i := slices.IndexFunc(benches, func(b bench) bool { return b.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no benchmark %q", name)
		}
		chosen = append(chosen, benches[i])
	}
	return chosen, nil
}

// report lists which documents are of this code.
func report(w io.Writer, root string, chosen []bench, files map[string]string) error {
	old := 0
	for _, b := range chosen {
		if b.document == "" {
			continue
		}
		state, current, err := b.state(root, files[b.name])
		if err != nil {
			return err
		}
		if !current {
			old++
		}
		fmt.Fprintf(w, "%-10s %-20s %s\n", b.name, b.document, state)
	}
	if old > 0 {
		return fmt.Errorf("%d documents, or parts of them, are not of this code; make bench-all measures them", old)
	}
	return nil
}

// result is the folder of what a benchmark has measured on one kind of processor.
type result struct {
	root string
	bench
	vendor string
}

func (r *result) folder() string {
	return filepath.Join(r.root, "bench", "results", r.vendor, r.name)
}

// sum returns the sum of the files that the result is of.
func (r *result) sum() (string, error) {
	text, err := os.ReadFile(filepath.Join(r.folder(), "files"))
	return strings.TrimSpace(string(text)), err
}

// measure runs the benchmark. It leaves a result only if the benchmark has ended without an error and the files are the same as before.
func (r *result) measure(ctx context.Context, sum string) error {
	if err := errors.Join(os.RemoveAll(r.folder()), os.MkdirAll(r.folder(), 0o755)); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(r.folder(), "printed"))
	if err != nil {
		return err
	}
	defer log.Close()
	restore, err := keep(r.root, r.written())
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "make", r.target...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.root, io.MultiWriter(os.Stdout, log), io.MultiWriter(os.Stderr, log)
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, 20*time.Second
	err = errors.Join(cmd.Run(), r.collect())
	if err := errors.Join(err, restore()); err != nil {
		return err
	}
	after, err := sums(r.root, []bench{r.bench})
	if err != nil {
		return err
	}
	if after[r.name] != sum {
		return errors.New("its files changed while it ran")
	}
	return os.WriteFile(filepath.Join(r.folder(), "files"), []byte(sum+"\n"), 0o644)
}

// written are the files of the repository that the benchmark writes.
func (b *bench) written() []string {
	if b.document == "" {
		return nil
	}
	return append([]string{b.document}, b.pictures...)
}

// keep reads files, and returns a function that writes them back.
func keep(root string, names []string) (func() error, error) {
	texts := make([][]byte, len(names))
	for i, name := range names {
		var err error
		if texts[i], err = os.ReadFile(filepath.Join(root, name)); err != nil {
			return nil, err
		}
	}
	return func() (err error) {
		for i, name := range names {
			err = errors.Join(err, os.WriteFile(filepath.Join(root, name), texts[i], 0o644))
		}
		return err
	}, nil
}

// collect copies what the benchmark wrote into the documents to the result.
func (r *result) collect() error {
	if r.document == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(r.root, r.document))
	if err != nil {
		return err
	}
	_, part, _, err := r.cut(string(text))
	if err != nil {
		return err
	}
	err = os.WriteFile(filepath.Join(r.folder(), "part.md"), []byte(part), 0o644)
	for _, name := range r.pictures {
		err = errors.Join(err, copyFile(filepath.Join(r.folder(), filepath.Base(name)), filepath.Join(r.root, name)))
	}
	return err
}

// publish writes the result into the document, with a mark.
func (r *result) publish(sum string) error {
	part, err := os.ReadFile(filepath.Join(r.folder(), "part.md"))
	if err != nil {
		return err
	}
	for _, name := range r.pictures {
		if err := copyFile(filepath.Join(r.root, name), filepath.Join(r.folder(), filepath.Base(name))); err != nil {
			return err
		}
	}
	return r.mark(r.root, string(part), sum, r.vendor)
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
