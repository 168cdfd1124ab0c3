package conformance

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-halyard/halyard/comm/driver"
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
// the ranks agree on whether one of them found an error. If so, Execute stops, because an engine that broke one rule may break any. It returns this
// rank's error, or one that says that other ranks found an error. report, unless it is nil, is called for each check that was passed, or skipped
// for the reason given.
func Execute(ctx context.Context, e driver.Engine, checks []Check, timeout time.Duration, report func(c Check, skipped string)) error {
	if report == nil {
		report = func(Check, string) {}
	}
	for _, c := range checks {
		switch {
		case c.Ranks > e.World().Size():
			report(c, fmt.Sprintf("it needs %d ranks", c.Ranks))
			continue
		case c.Ends:
			report(c, "it ends the job")
			continue
		}
		limited, cancel := context.WithTimeout(ctx, timeout)
		err := c.Run(limited, e, nil)
		cancel()
		if err := agree(ctx, e, timeout, err); err != nil {
			return err
		}
		report(c, "")
	}
	return nil
}

// agree lets every rank know whether one of them has failed.
func agree(ctx context.Context, e driver.Engine, timeout time.Duration, mine error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	t := newTrial(ctx, e, e.World(), nil)
	var bad uint64
	err := t.protect(func() {
		m := t.area(8)
		if mine != nil {
			m.b[0] = 1
		}
		t.collective(driver.Collective{Call: driver.Allreduce, Type: driver.Uint64, Op: driver.Sum, Count: 1, Send: m.p, Recv: m.p})
		for i, v := range m.b {
			bad |= uint64(v) << (8 * i)
		}
		m.free()
	})
	switch {
	case mine != nil:
		return mine
	case err != nil:
		return fmt.Errorf("the ranks cannot agree on the outcome: %w", err)
	case bad > 0:
		return fmt.Errorf("%d other ranks have found an error", bad)
	}
	return nil
}
