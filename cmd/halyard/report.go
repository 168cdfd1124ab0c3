package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/go-halyard/halyard/conformance"
)

// print writes the report as text. The last line is the summary.
func (r *suiteRun) print(out io.Writer, verbose bool) {
	devices := newTable(out, 0, 44)
	devices.AppendHeader(table.Row{"device", "name", "kind", "passed", "failed", "skipped", "time", "seed"})
	for _, d := range r.Devices {
		name := d.info.Model
		if d.info.MemoryModel != "" {
			name += ", " + d.info.MemoryModel
		}
		devices.AppendRow(table.Row{d.info.Name(), name, kindText(d.info), d.Summary.Passed, d.Summary.Failed,
			d.Summary.Skipped, fmt.Sprintf("%.1fs", d.Seconds), d.Seed})
	}
	if devices.Length() > 0 {
		devices.Render()
	}
	if verbose {
		r.printAll(out)
	}
	r.printFailures(out)
	r.printGroups(out, "skipped", verbose, conformance.Skipped)
	r.printGroups(out, "excluded: not supported here", verbose, conformance.Unsupported)
	r.printGroups(out, "excluded: known to fail", verbose, conformance.ExpectedFailure)
	printList(out, "not checked", r.Absent)
	printList(out, "missing", r.Missing)
	fmt.Fprintf(out, "\n%d passed, %d failed, %d skipped\n", r.Summary.Passed, r.Summary.Failed, r.Summary.Skipped)
}

func printList(out io.Writer, title string, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintf(out, "\n%s\n", strings.ToUpper(title))
	}
	for _, l := range lines {
		fmt.Fprintln(out, strings.ReplaceAll(wrap(l, 100), "\n", "\n  "))
	}
}

func (r *suiteRun) printAll(out io.Writer) {
	t := newTable(out)
	t.AppendHeader(table.Row{"device", "check", "outcome", "ms"})
	for _, d := range r.Devices {
		for _, c := range d.Results {
			t.AppendRow(table.Row{d.info.Name(), c.Check, c.Outcome, fmt.Sprintf("%.1f", c.Seconds*1e3)})
		}
	}
	fmt.Fprintln(out)
	t.Render()
}

// printFailures says for each failure what the rule is and what happened.
func (r *suiteRun) printFailures(out io.Writer) {
	for _, d := range r.Devices {
		for _, c := range d.Results {
			if !c.outcome.Bad() {
				continue
			}
			fmt.Fprintf(out, "\nFAILED  %s on %s\n", c.Check, deviceTitle(d.info))
			if c.outcome == conformance.UnexpectedPass {
				fmt.Fprintln(out, "  passed, although it is listed as known to fail: remove it from the list")
			}
			printField(out, "rule", c.Rule)
			if found := strings.TrimSpace(strings.Join(c.Log, "\n")); found != "" {
				printField(out, "found", found) // the reason is one of its lines
			} else {
				printField(out, "found", c.Reason)
			}
			fmt.Fprintf(out, "  again: halyard check --device %s --run '^%s$' --seed %d", d.info.Name(), regexp.QuoteMeta(c.Check), d.Seed)
			if d.short {
				fmt.Fprint(out, " --short")
			}
			fmt.Fprintln(out)
		}
	}
}

// printField writes a text. Of a long text it writes only the beginning.
func printField(out io.Writer, name, value string) {
	const most = 24
	lines := strings.Split(wrap(strings.TrimSpace(value), 100), "\n")
	if n := len(lines) - most; n > 0 {
		lines = append(lines[:most], fmt.Sprintf("(%s more; --json has all)", plural(n, "line")))
	}
	for i, l := range lines {
		if i == 0 {
			fmt.Fprintf(out, "  %s: %s\n", name, l)
		} else {
			fmt.Fprintf(out, "    %s\n", l)
		}
	}
}

// group is the checks that have the same outcome for the same reason.
type group struct {
	reason  string
	checks  []string
	devices []string
}

// printGroups lists the checks with an outcome, grouped by reason.
func (r *suiteRun) printGroups(out io.Writer, title string, all bool, outcome conformance.Outcome) {
	var groups []*group
	total := 0
	for _, d := range r.Devices {
		for _, c := range d.Results {
			if c.outcome != outcome {
				continue
			}
			total++
			i := slices.IndexFunc(groups, func(g *group) bool { return g.reason == c.Reason })
			if i < 0 {
				i = len(groups)
				groups = append(groups, &group{reason: c.Reason})
			}
			g := groups[i]
			if !slices.Contains(g.checks, c.Check) {
				g.checks = append(g.checks, c.Check)
			}
			if name := d.info.Name(); !slices.Contains(g.devices, name) {
				g.devices = append(g.devices, name)
			}
		}
	}
	if total == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s (%d)\n", strings.ToUpper(title), total)
	t := newTable(out, 44, 24, 48)
	t.AppendHeader(table.Row{"reason", "devices", "checks"})
	for _, g := range groups {
		t.AppendRow(table.Row{g.reason, strings.Join(g.devices, " "), g.names(all)})
	}
	t.Render()
}

// names lists a few checks of the group, or all.
func (g *group) names(all bool) string {
	const few = 4
	if all || len(g.checks) <= few+1 {
		return strings.Join(g.checks, " ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(g.checks[:few], " "), len(g.checks)-few)
}

// checks returns the checks that the options select.
func (o *checkOptions) checks() []conformance.Check {
	match := regexp.MustCompile(o.match) // validate has compiled it before
	return slices.DeleteFunc(conformance.Checks(), func(c conformance.Check) bool { return !match.MatchString(c.Name) })
}

// listedCheck is one line of check --list --json.
type listedCheck struct {
	Check      string   `json:"check"` // Group/Name
	Rule       string   `json:"rule"`
	Needs      []string `json:"needs,omitempty"` // capabilities
	NeedsPeer  bool     `json:"needs_peer,omitempty"`
	NeedsOther bool     `json:"needs_other,omitempty"`
}

func (o *checkOptions) printChecks(cmd *cobra.Command) error {
	checks := o.checks()
	if o.json {
		list := []listedCheck{}
		for _, c := range checks {
			list = append(list, listedCheck{c.Name, c.Rule, c.Needs.Names(), c.NeedsPeer, c.NeedsOther})
		}
		return writeJSON(cmd.OutOrStdout(), list)
	}
	t := newTable(cmd.OutOrStdout(), 0, 64, 20)
	t.AppendHeader(table.Row{"check", "rule", "needs"})
	for _, c := range checks {
		needs := c.Needs.Names()
		if c.NeedsPeer {
			needs = append(needs, "a peer")
		}
		if c.NeedsOther {
			needs = append(needs, "another backend")
		}
		t.AppendRow(table.Row{c.Name, c.Rule, strings.Join(needs, ", ")})
	}
	t.Render()
	fmt.Fprintf(cmd.OutOrStdout(), "\n%s\n", plural(len(checks), "check"))
	return nil
}
