package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

// Check is one rule and the test of whether an engine keeps it.
type Check struct {
	Name  string // "Group/Name"
	Rule  string // one sentence
	Ranks int    // the least number of ranks
	Ends  bool   // the check loses a rank, so the job cannot be used afterwards

	run func(t *trial)
}

// Checks returns all checks, in the order in which they run: later checks rely on rules that earlier ones check.
func Checks() []Check {
	var all []Check
	for _, g := range []struct {
		name   string
		checks []Check
	}{{"Engine", engineChecks}, {"Memory", memoryChecks}, {"Messages", messageChecks}, {"Communicators", communicatorChecks},
		{"Collectives", collectiveChecks}, {"Threads", threadChecks}, {"Failure", failureChecks}} {
		for _, c := range g.checks {
			c.Name = g.name + "/" + c.Name
			c.Ranks = max(c.Ranks, 1)
			all = append(all, c)
		}
	}
	return slices.Clip(all)
}

// Run runs the check on one rank. All ranks of the engine's world call it. An error says what was found; it is an *[Error] unless the engine itself
// failed before the check could begin. lose takes a rank away; it may be nil for checks without Ends.
func (c Check) Run(ctx context.Context, e driver.Engine, lose func(rank int)) error {
	d, err := e.World().Dup()
	if err != nil {
		return fmt.Errorf("%s: no communicator: %w", c.Name, err)
	}
	t := newTrial(ctx, e, d, lose)
	if err := t.protect(func() { c.run(t) }); err != nil {
		return &Error{Check: c, Rank: e.World().Rank(), Reason: err.Error()}
	}
	if c.Ends {
		return nil
	}
	if err := t.protect(t.tidy); err != nil {
		return &Error{Check: c, Rank: e.World().Rank(), Reason: err.Error()}
	}
	return nil
}

// Error is a rule that an engine does not keep.
type Error struct {
	Check  Check
	Rank   int    // the rank that found it
	Reason string // what was found
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: rank %d: %s (rule: %s)", e.Check.Name, e.Rank, e.Reason, e.Check.Rule)
}

// Harness makes jobs for [Run].
type Harness struct {
	Ranks int // of each job

	// Job runs fn on every rank of a new job, and returns the errors. lose takes a rank away; it is nil if the engine cannot do that.
	Job func(fn func(e driver.Engine, lose func(rank int)) error) error

	Timeout time.Duration // of one check; 0 means a minute
}

// Run runs every check as a subtest, in a job of its own. Checks run one after the other.
func Run(t *testing.T, h Harness) {
	if h.Timeout == 0 {
		h.Timeout = time.Minute
	}
	for _, c := range Checks() {
		t.Run(c.Name, func(t *testing.T) {
			if c.Ranks > h.Ranks {
				t.Skipf("the check needs %d ranks", c.Ranks)
			}
			ctx, cancel := context.WithTimeout(t.Context(), h.Timeout)
			defer cancel()
			skip := false
			err := h.Job(func(e driver.Engine, lose func(rank int)) error {
				if c.Ends && lose == nil {
					skip = e.World().Rank() == 0 || skip
					return nil
				}
				return c.Run(ctx, e, lose)
			})
			if err != nil {
				t.Error(err)
			} else if skip {
				t.Skip("the engine cannot lose a rank on purpose")
			}
		})
	}
}

// Execute runs checks one after the other on one rank of a job whose ranks are processes. All ranks call it, with the same checks. After each check
// the ranks agree on whether one of them found an error, and go on with the next check, on a communicator of its own. If they cannot agree, Execute stops, and
// returns why. Otherwise the error is nil. report, unless it is nil, is called for each check that was skipped, with the reason, and for each that was run:
// failed is nil, or what the lowest rank that found an error has found. It is the same on every rank.
func Execute(ctx context.Context, e driver.Engine, checks []Check, timeout time.Duration, report func(c Check, skipped string, failed *Error)) error {
	if report == nil {
		report = func(Check, string, *Error) {}
	}
	for _, c := range checks {
		switch {
		case c.Ranks > e.World().Size():
			report(c, fmt.Sprintf("it needs %d ranks", c.Ranks), nil)
			continue
		case c.Ends:
			report(c, "it ends the job", nil)
			continue
		}
		limited, cancel := context.WithTimeout(ctx, timeout)
		err := c.Run(limited, e, nil)
		cancel()
		failed, err := agree(ctx, e, c, timeout, err)
		if err != nil {
			return err
		}
		report(c, "", failed)
	}
	return nil
}

// reasonSize is how many bytes of a reason the other ranks learn.
const reasonSize = 500

// agree tells every rank what the lowest rank with an error has found. Other ranks may have waited for that rank up to the timeout.
func agree(ctx context.Context, e driver.Engine, c Check, timeout time.Duration, mine error) (failed *Error, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*timeout)
	defer cancel()
	t := newTrial(ctx, e, e.World(), nil)
	err = t.protect(func() {
		m, all := t.area(reasonSize), t.area(reasonSize*t.size)
		if mine != nil {
			reason := mine.Error()
			if found := new(Error); errors.As(mine, &found) {
				reason = found.Reason
			}
			copy(m.b, reason)
		}
		t.collective(driver.Collective{Call: driver.Allgather, Count: reasonSize, Send: m.p, Recv: all.p})
		for rank := range t.size {
			if reason := bytes.TrimRight(all.b[rank*reasonSize:][:reasonSize], "\x00"); len(reason) > 0 && failed == nil {
				failed = &Error{Check: c, Rank: rank, Reason: string(reason)}
			}
		}
		m.free()
		all.free()
	})
	if err != nil {
		return nil, fmt.Errorf("the ranks cannot agree on the outcome: %w", errors.Join(err, mine))
	}
	return failed, nil
}
