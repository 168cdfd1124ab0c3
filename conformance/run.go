package conformance

import (
	"context"
	"os"
	"strings"
	"testing"
)

// Run runs every check that the harness selects as a subtest Group/Name. Checks run one after the
// other.
func Run(t *testing.T, h Harness) {
	t.Helper()
	p, err := h.plan()
	if err != nil {
		t.Fatal(err)
	}
	if p.lends(t.Context()) {
		return
	}
	p.arguments = testArguments(t.Name())
	if len(p.checks) == 0 {
		t.Fatalf("no check matches %q", h.Match)
	}
	for first := 0; first < len(p.checks); {
		group, _ := p.checks[first].split()
		last := first
		for last < len(p.checks) && strings.HasPrefix(p.checks[last].Name, group+"/") {
			last++
		}
		t.Run(group, func(t *testing.T) {
			for _, c := range p.checks[first:last] {
				_, name := c.split()
				t.Run(name, func(t *testing.T) { show(t, p.run(t.Context(), c)) })
			}
		})
		first = last
	}
}

// show reports a result as the result of a test.
func show(t *testing.T, r Result) {
	t.Helper()
	text := strings.Join(r.Log, "\n")
	switch r.Outcome {
	case Failed:
		t.Errorf("rule: %s\n%s", r.Check.Rule, text) // text can be long
	case UnexpectedPass:
		t.Errorf("the check passes, but is listed as an expected failure: %s", r.Reason)
	case ExpectedFailure:
		t.Skipf("fails, as expected: %s\n%s", r.Reason, text)
	case Skipped, Unsupported:
		t.Skipf("%s: %s", r.Outcome, r.Reason)
	default:
		if text != "" {
			t.Log(text)
		}
	}
}

// Execute runs every check that the harness selects and calls report with each result, on the goroutine that called Execute. It
// returns the seed, and an error if the harness is invalid, or if ctx ends before the last check; failed checks are not an
// error.
func Execute(ctx context.Context, h Harness, report func(Result)) (seed uint64, err error) {
	p, err := h.plan()
	if err != nil {
		return 0, err
	}
	if p.lends(ctx) {
		return p.Seed, nil
	}
	p.arguments = os.Args[1:]
	for _, c := range p.checks {
		if ctx.Err() != nil {
			return p.Seed, context.Cause(ctx)
		}
		r := p.run(ctx, c)
		if ctx.Err() != nil && r.Outcome != Passed {
			return p.Seed, context.Cause(ctx) // the check was cut short
		}
		report(r)
	}
	return p.Seed, nil
}
