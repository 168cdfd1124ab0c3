//go:build cuda && hip && opencl && linux

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"go.uber.org/goleak"
)

// tally is what one scenario did and found.
type tally struct {
	Name    string  `json:"name"`
	What    string  `json:"what"`
	Runs    uint64  `json:"runs"`
	Actions uint64  `json:"actions"`
	Faults  uint64  `json:"faults"` // made on purpose
	Seconds float64 `json:"seconds"`

	Errors      map[string]uint64 `json:"errors,omitempty"` // that faults explain, by kind
	WrongBytes  uint64            `json:"wrong_bytes"`
	Leaks       uint64            `json:"leaks"`
	Violations  uint64            `json:"violations"` // of a vendor's rules
	Unexplained uint64            `json:"unexplained_errors"`
	Hangs       uint64            `json:"hangs"`
	Failures    []string          `json:"failures,omitempty"`
}

func (t *tally) bad() bool {
	return t.WrongBytes+t.Leaks+t.Violations+t.Unexplained+t.Hangs > 0 || len(t.Failures) > 0
}

// summary is what the whole campaign found.
type summary struct {
	Date      string   `json:"date"`
	Machine   string   `json:"machine"`
	Halyard   string   `json:"halyard"` // which ran
	Devices   []string `json:"devices"`
	FirstSeed uint64   `json:"first_seed"`
	Seeds     uint64   `json:"seeds"`
	Seconds   float64  `json:"seconds"`
	Stopped   string   `json:"stopped,omitempty"`
	Processes int      `json:"processes,omitempty"` // that ran side by side; Seconds is the sum of their times, and Also has the seeds of all but the first
	Also      string   `json:"also,omitempty"`
	Scenarios []*tally `json:"scenarios"`
}

// goroutines counts goroutines that are left as a leak of the last scenario.
func (s *summary) goroutines() {
	if err := goleak.Find(goleak.IgnoreTopFunction("os/signal.signal_recv"), goleak.IgnoreTopFunction("os/signal.loop"),
		goleak.IgnoreAnyFunction("os/signal.NotifyContext.func1")); err != nil {
		last := s.Scenarios[len(s.Scenarios)-1]
		last.Leaks++
		last.Failures = append(last.Failures, "goroutines at the end: "+err.Error())
	}
}

// hung reports whether something did not end.
func (s *summary) hung() bool {
	return slices.ContainsFunc(s.Scenarios, func(t *tally) bool { return t.Hangs > 0 })
}

// idle reports whether the scenario ran and did nothing.
func (t *tally) idle() bool { return t.Runs > 0 && t.Actions == 0 }

// whyIdle is about scenarios with kernels, which simulated devices run if NVIDIA's compiler is there.
const whyIdle = "what it needs is missing, such as NVRTC for kernels on simulated devices"

// add adds what another run did and found.
func (t *tally) add(o *tally) {
	t.Runs += o.Runs
	t.Actions += o.Actions
	t.Faults += o.Faults
	t.Seconds += o.Seconds
	t.WrongBytes += o.WrongBytes
	t.Leaks += o.Leaks
	t.Violations += o.Violations
	t.Unexplained += o.Unexplained
	t.Hangs += o.Hangs
	t.Failures = append(t.Failures, o.Failures...)
	for k, n := range o.Errors {
		if t.Errors == nil {
			t.Errors = map[string]uint64{}
		}
		t.Errors[k] += n
	}
}

// add adds a run of the same scenarios that went on beside s.
func (s *summary) add(other *summary) error {
	if len(other.Scenarios) != len(s.Scenarios) {
		return fmt.Errorf("%d scenarios in place of %d", len(other.Scenarios), len(s.Scenarios))
	}
	if other.Halyard != s.Halyard {
		return fmt.Errorf("it ran Halyard at %q in place of %q", other.Halyard, s.Halyard)
	}
	for i, t := range s.Scenarios {
		o := other.Scenarios[i]
		if o.Name != t.Name {
			return fmt.Errorf("scenario %q in place of %q", o.Name, t.Name)
		}
		t.add(o)
	}
	s.Seconds += other.Seconds
	s.Processes += other.Processes
	s.Also += fmt.Sprintf(", %d to %d", other.FirstSeed, other.FirstSeed+other.Seeds-1)
	if s.Stopped == "" {
		s.Stopped = other.Stopped
	}
	return nil
}

func (s *summary) total() (all tally) {
	all.Name = "all"
	for _, t := range s.Scenarios {
		all.add(t)
	}
	return all
}

func (s *summary) table() table.Writer {
	w := table.NewWriter()
	w.AppendHeader(table.Row{"scenario", "runs", "actions", "faults", "wrong bytes", "leaks", "broken rules", "unexplained errors", "hangs"})
	row := func(t *tally) table.Row {
		return table.Row{t.Name, t.Runs, t.Actions, t.Faults, t.WrongBytes, t.Leaks, t.Violations, t.Unexplained, t.Hangs}
	}
	for _, t := range s.Scenarios {
		w.AppendRow(row(t))
	}
	all := s.total()
	w.AppendFooter(row(&all))
	return w
}

func (s *summary) text() string {
	var b strings.Builder
	b.WriteString(s.table().Render())
	fmt.Fprintf(&b, "\n%s, seeds %d to %d%s, on %s\n", s.time(), s.FirstSeed, s.FirstSeed+s.Seeds-1, s.Also, strings.Join(s.Devices, ", "))
	for _, t := range s.Scenarios {
		if t.idle() {
			fmt.Fprintf(&b, "SKIPPED  %s: %s\n", t.Name, whyIdle)
		}
		for _, f := range t.Failures {
			fmt.Fprintf(&b, "FAILED  %s: %s\n", t.Name, f)
		}
		if t.bad() && len(t.Failures) == 0 {
			fmt.Fprintf(&b, "FAILED  %s\n", t.Name)
		}
	}
	if s.Stopped != "" {
		fmt.Fprintf(&b, "stopped early: %s\n", s.Stopped)
	}
	return b.String()
}

func (s *summary) time() string {
	text := time.Duration(s.Seconds * float64(time.Second)).Round(time.Second).String()
	if s.Processes > 1 {
		text += fmt.Sprintf(" of %d processes side by side", s.Processes)
	}
	return text
}

func (s *summary) markdown() string {
	all := s.total()
	var b strings.Builder
	fmt.Fprintf(&b, "# Reliability campaign\n\nThe summary of `make torture`, as it wrote it.\n\n")
	fmt.Fprintf(&b, "- When and where: %s, %s, Halyard at %s.\n- How long: %s.\n- Seeds: %d to %d%s.\n", s.Date, s.Machine, s.Halyard, s.time(),
		s.FirstSeed, s.FirstSeed+s.Seeds-1, s.Also)
	fmt.Fprintf(&b, "- Devices: %s.\n", strings.Join(s.Devices, "; "))
	fmt.Fprintf(&b, "- **%d actions, %d faults made on purpose, %d wrong bytes, %d leaks, %d vendors' rules broken, %d unexplained errors, %d hangs.**\n",
		all.Actions, all.Faults, all.WrongBytes, all.Leaks, all.Violations, all.Unexplained, all.Hangs)
	if s.Stopped != "" {
		fmt.Fprintf(&b, "- It stopped early: %s.\n", s.Stopped)
	}
	b.WriteString("\n" + s.table().RenderMarkdown() + "\n\n")
	for _, t := range s.Scenarios {
		fmt.Fprintf(&b, "- **%s**: %s.", t.Name, t.What)
		if t.idle() {
			fmt.Fprintf(&b, " **Not run: %s.**", whyIdle)
		}
		if len(t.Errors) > 0 {
			var kinds []string
			for k, n := range t.Errors {
				kinds = append(kinds, fmt.Sprintf("%s (%d)", k, n))
			}
			slices.Sort(kinds)
			fmt.Fprintf(&b, " Errors that the faults explain: %s.", strings.Join(kinds, ", "))
		}
		for _, f := range t.Failures {
			fmt.Fprintf(&b, "\n  - failed: %s", line(f))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// line returns a failure on one line, without most of the stacks that may follow it.
func line(failure string) string {
	const most = 500
	text := strings.ReplaceAll(failure, "\n", " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " ..."
	}
	return text
}
