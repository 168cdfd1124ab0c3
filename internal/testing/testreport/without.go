package main

import (
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// without is what a run leaves out. In its file each line is a reason, ": ", and what is left out for it, separated by spaces: packages (bench/..., docs/guide),
// or tests of a package (hal.TestX). A line that begins with # is a comment.
type without struct {
	file    string
	reasons []leftOut
}

type leftOut struct {
	why   string
	names []string
}

// parseWithout reads a file of this name and text.
func parseWithout(file, text string) (without, error) {
	w := without{file: file}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		at := strings.LastIndex(line, ": ")
		if at < 0 {
			return w, fmt.Errorf("%s:%d: %q has no names after a colon", file, i+1, line)
		}
		w.reasons = append(w.reasons, leftOut{line[:at], strings.Fields(line[at+2:])})
	}
	return w, nil
}

// isTest splits the name of a test, which is that of its package, a point, and its own.
var isTest = regexp.MustCompile(`^(.*)\.(Test\w+)$`)

// arguments returns those of go test: the last ones, which stand for packages, become those that are not left out, and tests are skipped by their names, beside
// those that -skip names.
func (w without) arguments(args []string) ([]string, error) {
	at := len(args) - 1
	for at > 0 && strings.HasPrefix(args[at-1], "./") {
		at--
	}
	list := []string{"list"}
	if i := slices.Index(args, "-tags"); i >= 0 {
		list = append(list, args[i:i+2]...)
	}
	out, err := exec.Command("go", append(list, args[at:]...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	kept, skip, err := w.choose(strings.Split(strings.TrimSpace(string(out)), "\n"))
	if err != nil {
		return nil, err
	}
	args = slices.Clone(args[:at])
	if i := slices.Index(args, "-skip"); i >= 0 && skip != "" {
		args[i+1] = skip + "|" + args[i+1] // go test looks no further once an alternative for subtests fits the test above them
	} else if skip != "" {
		args = append(args, "-skip", skip)
	}
	return append(args, kept...), nil
}

// choose returns the packages that are kept, and the tests that are skipped, as -skip wants them. A name that fits nothing is an error.
// Names are relative to the shortest path, which is that of the module.
func (w without) choose(listed []string) (kept []string, skip string, err error) {
	kept = slices.Clone(listed)
	root := slices.MinFunc(kept, func(a, b string) int { return len(a) - len(b) })
	var tests []string
	for _, r := range w.reasons {
		for _, name := range r.names {
			if m := isTest.FindStringSubmatch(name); m != nil {
				tests = append(tests, m[2])
				continue
			}
			all := len(kept)
			folder, below := strings.CutSuffix(name, "/...")
			kept = slices.DeleteFunc(kept, func(p string) bool {
				return p == root+"/"+folder || below && strings.HasPrefix(p, root+"/"+folder+"/")
			})
			if len(kept) == all {
				return nil, "", fmt.Errorf("%s, which is to be left out, is no package, or left out twice", name)
			}
		}
	}
	if len(tests) > 0 {
		skip = "^(" + strings.Join(tests, "|") + ")$"
	}
	return kept, skip, nil
}

// tell prints what was left out, and why.
func (w without) tell(out io.Writer) {
	if len(w.reasons) > 0 {
		fmt.Fprintf(out, "\nleft out, as %s says; make test-all runs it:\n", w.file)
	}
	for _, r := range w.reasons {
		fmt.Fprintf(out, "  %s\n      %s\n", r.why, strings.Join(r.names, " "))
	}
}
