package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// event is one line of go test -json (go doc test2json).
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// report collects the events of a run.
type report struct {
	out     io.Writer
	tests   map[key]*test
	order   []key
	parents map[key]bool
	broken  []string // packages that failed, by import path
	whole   bool     // tests are to do all of their work
}

type key struct{ pkg, test string }

type test struct {
	outcome string // "pass", "fail", "skip", "" while it runs
	output  []string
	less    string // what the test did if that is less than all of its work
}

func newReport(out io.Writer) *report {
	return &report{out: out, tests: map[key]*test{}, parents: map[key]bool{}}
}

// read follows the events to the end. A line that is not an event is printed unchanged.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.line(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) line(line []byte) {
	var e event
	if !bytes.HasPrefix(line, []byte("{")) || json.Unmarshal(line, &e) != nil {
		_, _ = r.out.Write(line)
		return
	}
	if e.Test == "" {
		// An event of a package: its output is the ok line, or what the compiler said.
		if e.Output != "" && e.Output != "PASS\n" && e.Output != "FAIL\n" {
			fmt.Fprint(r.out, e.Output)
		}
		if e.Action == "fail" {
			r.broken = append(r.broken, e.Package)
		}
		return
	}
	k := key{e.Package, e.Test}
	t := r.tests[k]
	if t == nil {
		t = &test{}
		r.tests[k] = t
		r.order = append(r.order, k)
		if i := strings.LastIndexByte(e.Test, '/'); i >= 0 {
			r.parents[key{e.Package, e.Test[:i]}] = true
		}
	}
	switch e.Action {
	case "output":
		t.output = append(t.output, e.Output)
		if m := did.FindStringSubmatch(e.Output); m != nil {
			t.less = ""
			if m[1] != m[2] {
				t.less = m[0]
			}
		}
	case "pass":
		t.outcome, t.output = e.Action, nil
	case "fail":
		t.outcome = e.Action
		for _, o := range t.output {
			fmt.Fprint(r.out, o)
		}
		t.output = nil
	case "skip":
		t.outcome = e.Action
	}
}

// leaves returns the tests that have the outcome and no subtests, in the order in which they started.
func (r *report) leaves(outcome string) []key {
	var keys []key
	for _, k := range r.order {
		if r.tests[k].outcome == outcome && !r.parents[k] {
			keys = append(keys, k)
		}
	}
	return keys
}

// failed counts the failures: tests without subtests that failed, or never ended because their process died; tests that failed though
// none of their subtests did; packages that failed though none of their tests did, such as one that does not compile.
func (r *report) failed() int {
	n := len(r.leaves("fail")) + len(r.leaves(""))
	for _, pkg := range r.broken {
		if !slices.ContainsFunc(r.order, func(k key) bool { return k.pkg == pkg && r.tests[k].outcome != "pass" && r.tests[k].outcome != "skip" }) {
			n++
		}
	}
	for k := range r.parents {
		if t := r.tests[k]; t != nil && t.outcome == "fail" && !r.childFailed(k) {
			n++
		}
	}
	if r.whole {
		n += len(r.fewer())
	}
	return n
}

func (r *report) childFailed(parent key) bool {
	return slices.ContainsFunc(r.order, func(k key) bool {
		return k.pkg == parent.pkg && strings.HasPrefix(k.test, parent.test+"/") && r.tests[k].outcome != "pass" && r.tests[k].outcome != "skip"
	})
}

// did finds what a test says of its work, in a message of its own: "did 25 of 100 random kernels".
var did = regexp.MustCompile(`\bdid (\d+) of (\d+) .*`)

// fewer returns the tests that passed and did less than all of their work.
func (r *report) fewer() []key {
	return slices.DeleteFunc(slices.Clone(r.order), func(k key) bool { return r.tests[k].outcome != "pass" || r.tests[k].less == "" })
}

// site finds the file and line with which a line of a test's log begins.
var site = regexp.MustCompile(`^\s*[^\s:]+\.go:\d+: `)

// reason returns the last message of a skipped test, on one line.
func (t *test) reason() string {
	var said []string
	for _, o := range t.output {
		o = strings.TrimRight(o, "\n")
		switch trimmed := strings.TrimSpace(o); {
		case strings.HasPrefix(trimmed, "=== ") || strings.HasPrefix(trimmed, "--- "):
		case site.MatchString(o):
			said = []string{strings.TrimSpace(site.ReplaceAllString(o, ""))}
		default:
			said = append(said, trimmed)
		}
	}
	if s := strings.Join(strings.Fields(strings.Join(said, " ")), " "); s != "" {
		return s
	}
	return "(no reason given)"
}

// finish prints the output of tests that never ended, which tests were skipped and why, what was left out, and the totals.
func (r *report) finish(left without) {
	for _, k := range r.leaves("") {
		for _, o := range r.tests[k].output {
			fmt.Fprint(r.out, o)
		}
		fmt.Fprintf(r.out, "--- FAIL: %s: never ended\n", k.test)
	}
	skipped := r.leaves("skip")
	names := map[string][]string{}
	var reasons []string
	for _, k := range skipped {
		why := r.tests[k].reason()
		if names[why] == nil {
			reasons = append(reasons, why)
		}
		names[why] = append(names[why], k.pkg[strings.LastIndexByte(k.pkg, '/')+1:]+"."+k.test)
	}
	if len(skipped) > 0 {
		fmt.Fprintln(r.out, "\nskipped:")
	}
	for _, why := range reasons {
		n := names[why]
		const few = 3
		more := ""
		if len(n) > few+1 {
			n, more = n[:few], fmt.Sprintf(" and %d more", len(n)-few)
		}
		fmt.Fprintf(r.out, "  %s\n      %s%s\n", why, strings.Join(n, " "), more)
	}
	if fewer := r.fewer(); len(fewer) > 0 {
		fmt.Fprintln(r.out, "\nless than all of their work:")
		for _, k := range fewer {
			fmt.Fprintf(r.out, "  %s.%s %s\n", k.pkg[strings.LastIndexByte(k.pkg, '/')+1:], k.test, r.tests[k].less)
		}
	}
	left.tell(r.out)
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped\n", len(r.leaves("pass")), r.failed(), len(skipped))
}
