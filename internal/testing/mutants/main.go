// Command mutants shows which faults of a backend the conformance suite finds. It breaks copies of examples/template in one way each (the
// rows of mutants.go), runs the suite on each copy until a check fails, and prints a line for each:
//
//	caught      Copy: nothing done                        Allocation/RandomAllocFree
//	equivalent  Wait: ...                                 why no program can tell the difference
//	MISSED      Fill: ...
//
// It also runs the mutants that command made generates, of each method of package driver, and prints a line for each method.
//
// With -layers it also runs the tests of package conformance that break the host backend by a layer around it. The last line counts. The
// command fails if more than one fault of fifty is missed, or one that the tables do not list as missed, or more than one of ten of a method.
//
// All copies are packages of one binary, which exists only in an overlay of go build. Each fault gets a process of its own, because
// backends that are broken leave goroutines behind, hang and crash.
package main

import (
	"bytes"
	"context"
	"encoding/json"
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
)

func main() {
	generated := flag.Int("made", -1, "how many of the generated mutants to run, chosen by a fixed seed; all if negative")
	written := flag.Bool("written", true, "run the mutants of the table, which are copies of examples/template")
	all := flag.Bool("all", false, "run the whole suite on each mutant, not first the check that the table names")
	layers := flag.Bool("layers", false, "also run the mutants of package conformance, which are layers around the host backend")
	match := flag.String("run", "", "a regular expression that a mutant's name must match")
	flag.Parse()
	if err := run(*all, *layers, *written, *generated, *match); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(all, layers, written bool, generated int, match string) error {
	want, err := regexp.Compile(match)
	if err != nil {
		return err
	}
	chosen := []mutant{{name: sound}}
	for _, m := range mutants {
		if want.MatchString(m.name) {
			chosen = append(chosen, m)
		}
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	sum := tally{methods: map[string]*method{}}
	start := time.Now()
	if written {
		if err := sum.written(dir, chosen, all); err != nil {
			return err
		}
	}
	if err := sum.generated(dir, want, generated); err != nil {
		return err
	}
	if layers {
		if err := sum.layers(); err != nil {
			return err
		}
	}
	fmt.Printf("%v for %d runs of checks on %d mutants\n", time.Since(start).Round(time.Second), sum.checks, sum.caught+sum.equivalent+sum.missed)
	fmt.Printf("%d caught, %d equivalent, %d missed\n", sum.caught, sum.equivalent, sum.missed)
	sum.wrong = append(sum.wrong, sum.byMethod()...)
	if 50*sum.missed > sum.caught+sum.missed {
		sum.wrong = append(sum.wrong, fmt.Errorf("%d of %d are too many to miss", sum.missed, sum.caught+sum.missed))
	}
	return errors.Join(sum.wrong...)
}

// tally counts the outcomes, and prints each.
type tally struct {
	caught, equivalent, missed, checks int

	wrong   []error // where the table is not right
	methods map[string]*method
}

// written runs the mutants of the table.
func (s *tally) written(dir string, chosen []mutant, all bool) error {
	start := time.Now()
	binary, err := build(dir, chosen)
	if err != nil {
		return err
	}
	fmt.Printf("built %d copies of examples/template in %v\n", len(chosen), time.Since(start).Round(time.Second))
	if f := suite(binary, chosen[0], ""); f.by != "" || f.checks < 100 {
		return fmt.Errorf("without a fault %d checks were run, and failed: %s", f.checks, f)
	}
	chosen = chosen[1:]
	each(len(chosen), func(i int) finding {
		m := chosen[i]
		var f finding
		if m.by != "" && !all {
			f = suite(binary, m, "^"+m.by+"$")
		}
		if f.by == "" {
			checks := f.checks
			f = suite(binary, m, "")
			f.checks += checks
		}
		return f
	}, func(i int, f finding) { s.add(chosen[i], f) })
	return nil
}

// each calls find for 0 to n-1, on all processors, and tell with what was found, in order.
func each(n int, find func(i int) finding, tell func(i int, f finding)) {
	found := make([]chan finding, n)
	for i := range found {
		found[i] = make(chan finding, 1)
	}
	next := make(chan int)
	for range runtime.NumCPU() {
		go func() {
			for i := range next {
				found[i] <- find(i)
			}
		}()
	}
	go func() {
		for i := range n {
			next <- i
		}
		close(next)
	}()
	for i := range n {
		tell(i, <-found[i])
	}
}

func (s *tally) add(m mutant, f finding) {
	s.checks += f.checks
	word, text := "caught", f.by
	switch {
	case f.by == "" && m.equivalent != "":
		word, text = "equivalent", m.equivalent
		s.equivalent++
	case f.by == "":
		word, text = "MISSED", m.missed
		s.missed++
		if m.missed == "" {
			s.wrong = append(s.wrong, fmt.Errorf("nothing finds %q", m.name))
		}
	default:
		if strings.HasPrefix(f.reason, hangs) {
			text += " (hangs)"
		}
		s.caught++
		if m.equivalent != "" || m.missed != "" {
			s.wrong = append(s.wrong, fmt.Errorf("%q is not in the table as one that is caught: %s", m.name, f))
		}
		if f.by != m.by && m.by != "" {
			text += " (not " + m.by + ")"
		}
	}
	fmt.Printf("%-11s %-72s %s\n", word, m.name, text)
}

// layers runs the mutants of package conformance.
func (s *tally) layers() error {
	out, err := exec.Command("go", "test", "-count=1", "-v", "-run", "^(TestMutants|TestKernelMutants)$", "./conformance").CombinedOutput()
	for _, m := range regexp.MustCompile(`(?m)^(?:.*_test\.go:\d+: )*(\S.*?) +killed by (.+)$`).FindAllSubmatch(out, -1) {
		s.caught++
		fmt.Printf("%-11s %-72s %s\n", "caught", m[1], m[2])
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// sound is the name of the copy without a fault.
const sound = "no fault"

// template returns the files of the template, by name.
func template(root string) (map[string]string, error) {
	dir := filepath.Join(root, "examples", "template")
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no %s: run the command in the root of the module (%v)", dir, err)
	}
	files := map[string]string{}
	for _, path := range names {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files[filepath.Base(path)] = string(text)
	}
	return files, nil
}

// build makes a binary that has a package for each mutant.
func build(dir string, all []mutant) (string, error) {
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	files, err := template(root)
	if err != nil {
		return "", err
	}
	const inside = "internal/testing/mutants/copies"
	replace := map[string]string{}
	add := func(name, text string) error {
		path := filepath.Join(dir, name)
		replace[filepath.Join(root, inside, name)] = path
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(text), 0o600)
	}
	var imports, table strings.Builder
	for i, m := range all {
		broken, err := m.apply(files)
		if err != nil {
			return "", err
		}
		for name, text := range broken {
			if err := add(fmt.Sprintf("m%03d/%s", i, name), text); err != nil {
				return "", err
			}
		}
		fmt.Fprintf(&imports, "\tm%03d %q\n", i, "github.com/go-halyard/halyard/"+inside+fmt.Sprintf("/m%03d", i))
		fmt.Fprintf(&table, "\t%q: func() (c child.Copy) { c.Backend, c.Before, c.Contexts, c.Codes = m%03d.Open(); return c },\n", m.name, i)
	}
	if err := add("main.go", fmt.Sprintf(program, imports.String(), table.String())); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "mutants.exe")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return "", err
	}
	if out, err := exec.Command("go", "build", "-gcflags=./"+inside+"/...=-N -l", "-ldflags=-s -w", "-overlay", list, "-o", binary, "./"+inside).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
}

// apply returns the files of the template with the mutant's fault.
func (m mutant) apply(files map[string]string) (map[string]string, error) {
	// All copies have the same name, so only the one that is used may be registered.
	edits := append([]edit{{"backend.go", "func init() {", "func register() {"}}, m.edits...)
	broken := map[string]string{}
	for name, text := range files {
		broken[name] = text
	}
	for _, e := range edits {
		text := broken[e.file]
		if n := strings.Count(text, e.old); n != 1 {
			return nil, fmt.Errorf("%q: %s has %q %d times, not once", m.name, e.file, e.old, n)
		}
		broken[e.file] = strings.Replace(text, e.old, e.new, 1)
	}
	broken["exported.go"] = exported
	return broken, nil
}

// program is the source of the binary's main package.
const program = `package main

import (
	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/internal/testing/mutants/child"
%s)

func main() { child.Main(host.New(host.Options{Name: "another", Discrete: 1, MemoryLimit: 64 << 20}), map[string]func() child.Copy{
%s}) }
`

// exported is a file of each copy. The copies do not import the suite, so that they are compiled quickly, and not anew for each change of it.
const exported = `package template

import "github.com/go-halyard/halyard/hal/driver"

func Open() (driver.Backend, func(func(string) int32), func() int, []driver.Error) {
	lib := newLibrary(2, 64<<20)
	var codes []driver.Error
	for _, s := range statuses {
		codes = append(codes, driver.Error{Kind: s.kind, Vendor: driver.Vendor{Code: int64(s.code), Name: s.name}})
	}
	return &Backend{load: func() (*library, error) { return lib, nil }},
		func(before func(string) int32) { lib.before = func(api string) status { return status(before(api)) } },
		func() int { return int(lib.cards[0].contexts.Load()) }, codes
}
`

// finding is what the suite found.
type finding struct {
	by, reason string
	checks     int // that were run
}

func (f finding) String() string { return f.by + ": " + f.reason }

// suite runs the checks that match on one copy.
func suite(binary string, m mutant, match string) finding {
	timeout := time.Minute
	if m.hangs {
		timeout = 3 * time.Second
	}
	return execute(exec.Command(binary, m.name, match, timeout.String()))
}

// execute runs a child process, and returns what it found.
func execute(start *exec.Cmd) finding {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, start.Path, start.Args[1:]...)
	cmd.Env = start.Env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var f finding
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "failed "); ok {
			f.by, f.reason, _ = strings.Cut(rest, " ")
		}
		_, _ = fmt.Sscanf(line, "checks %d", &f.checks)
	}
	if f.by == "" && err != nil {
		f.by, f.reason = "the process ended", fmt.Sprintf("%v %.2000s %s", err, stderr.String(), out)
	}
	return f
}
