package conformance

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"time"
)

// label is the profiler label of a check's goroutines, including those that the device starts for it.
const label = "halyard-check"

// run runs one check, unless an exclusion leaves it out, and returns its result.
func (p *plan) run(ctx context.Context, c Check) Result {
	x, excluded := p.excluded[c.Name]
	if excluded && x.Kind == Unsupported {
		return Result{Check: c, Outcome: Unsupported, Reason: x.Reason}
	}
	if len(p.hung) == mostHung {
		return Result{Check: c, Outcome: Skipped, Reason: "not run, because three checks have not come back: " + strings.Join(p.hung, ", ")}
	}
	r, hung := p.watch(ctx, c)
	if hung && !excluded {
		p.hung = append(p.hung, c.Name)
	}
	if excluded {
		switch r.Outcome {
		case Failed:
			r.Outcome, r.Reason = ExpectedFailure, x.Reason
		case Passed:
			r.Outcome, r.Reason = UnexpectedPass, x.Reason
		}
	}
	return r
}

// The suite gives up after mostHung checks that do not return. Later checks would most likely wait for the same thing, and go test
// ends a process that takes too long without showing any results.
const mostHung = 3

// watch runs one check on a goroutine of its own, and gives up on it when its time is over.
func (p *plan) watch(ctx context.Context, c Check) (r Result, hung bool) {
	start := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := newT(p, c, ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		pprof.Do(ctx, pprof.Labels(label, c.Name), func(context.Context) { t.main() })
	}()
	timer := time.NewTimer(p.Timeout)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		hung = true
		t.Errorf("not done after %v; the rule: %s\nits goroutines:\n%s", p.Timeout, c.Rule, stacks(c.Name))
		// Calls that wait with the check's context, or for its gates, can now end and release what they hold.
		cancel()
		t.openGates()
		timer.Reset(min(p.Timeout, 5*time.Second))
		select {
		case <-done:
		case <-timer.C:
			t.Logf("the check is still running; it was left behind, and its devices stay open")
		}
	}
	return t.result(time.Since(start)), hung
}

// stacks returns the stacks of the goroutines that carry the label of a check.
func stacks(name string) string {
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return err.Error()
	}
	mark := fmt.Sprintf("%q:%q", label, name)
	var mine []string
	for _, record := range strings.Split(all.String(), "\n\n") {
		if strings.Contains(record, mark) {
			mine = append(mine, strings.TrimSpace(record))
		}
	}
	return strings.Join(mine, "\n\n")
}
