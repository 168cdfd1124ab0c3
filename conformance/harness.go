package conformance

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"time"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// Harness describes the device under test to the suite. Only Open is required.
type Harness struct {
	// Open returns a new handle on the device under test at each call. The suite closes it.
	Open func(ctx context.Context) (*hal.Device, error)

	// Peer opens another device of the same backend, if there is one.
	Peer func(ctx context.Context) (*hal.Device, error)

	// Others open devices of other backends.
	Others []func(ctx context.Context) (*hal.Device, error)

	// Exclusions are the checks that the device is known not to pass.
	Exclusions []Exclusion

	// Timeout is how long one check may take; 0 means 60 seconds.
	Timeout time.Duration

	// Seed is the seed of random data and actions; 0 means a fixed seed.
	Seed uint64

	// Short makes sizes and counts smaller. No check is left out.
	Short bool

	// Match is a regular expression that "Group/Name" must match somewhere; "" selects every check.
	Match string

	// Backend is the backend of the device that Open opens. Nil means the registered backend that the device
	// names; if there is none, checks of enumeration and checks that need a separate device are skipped.
	Backend driver.Backend

	// VendorCodes returns one error for every status that the vendor's interface defines, as the backend would return it. The checks
	// read its Kind and its Vendor's Code and Name. Nil skips them.
	VendorCodes func() []driver.Error

	// Faults returns control over the driver calls behind the device that Open opens, for checks that
	// make them fail. Nil skips those checks.
	Faults func() FaultControl

	// FailAsync(true) makes transfers and fills of the device that Open opens fail when they run, until FailAsync(false).
	// The calls that enqueue them succeed; queries and waits on events and streams report the failure. Nil skips the
	// checks that need it.
	FailAsync func(on bool)

	// Contexts returns how many vendor contexts exist in the process. Nil means that they are not counted.
	Contexts func() int
}

// FaultControl makes driver calls fail. Calls that cannot fail are not counted.
type FaultControl interface {
	// CallCount returns the number of driver calls since the last Reset.
	CallCount() uint64

	// FailCall makes the n-th driver call from now on fail, once; 1 is the next call. The failing call has no
	// effect, and its error has Vendor set.
	FailCall(n uint64)

	// LoseDevice makes the n-th driver call from now on, and only that one, fail as if the device were lost.
	LoseDevice(n uint64)

	// Reset cancels FailCall and LoseDevice, and sets CallCount to zero.
	Reset()
}

// Exclusion leaves a check out, or expects it to fail.
type Exclusion struct {
	Check string // "Group/Name", or a pattern of package path: "Copy/Peer*"

	// Kind is the outcome. Unsupported is for a rule that the device will never keep: the check is not run.
	// ExpectedFailure is for a known bug: the check is run, and a pass counts as a failure.
	Kind Outcome

	Reason string // shown with the outcome, required
}

const (
	defaultTimeout = 60 * time.Second
	defaultSeed    = 0x48616c79617264
)

// plan is a valid harness, with its defaults filled in.
type plan struct {
	Harness
	checks   []Check
	excluded map[string]Exclusion // by Group/Name
	contexts int                  // before the first device was opened, if Contexts is set
	hung     []string             // checks that did not come back

	arguments []string // with which the program comes here again
}

func (h Harness) plan() (*plan, error) {
	if h.Open == nil {
		return nil, errors.New("conformance: Harness.Open is nil")
	}
	if h.Timeout < 0 {
		return nil, fmt.Errorf("conformance: Harness.Timeout %v is negative", h.Timeout)
	}
	if h.Timeout == 0 {
		h.Timeout = defaultTimeout
	}
	if h.Seed == 0 {
		h.Seed = defaultSeed
	}
	match, err := regexp.Compile(h.Match)
	if err != nil {
		return nil, fmt.Errorf("conformance: Harness.Match: %w", err)
	}
	p := &plan{Harness: h, excluded: map[string]Exclusion{}}
	if h.Contexts != nil {
		p.contexts = h.Contexts()
	}
	all := Checks()
	for _, x := range h.Exclusions {
		if x.Kind != Unsupported && x.Kind != ExpectedFailure {
			return nil, fmt.Errorf("conformance: the exclusion of %q has kind %v, not Unsupported or ExpectedFailure", x.Check, x.Kind)
		}
		if x.Reason == "" {
			return nil, fmt.Errorf("conformance: the exclusion of %q gives no reason", x.Check)
		}
		found := false
		for _, c := range all {
			ok, err := path.Match(x.Check, c.Name)
			if err != nil {
				return nil, fmt.Errorf("conformance: the exclusion of %q: %w", x.Check, err)
			}
			if !ok {
				continue
			}
			if old, twice := p.excluded[c.Name]; twice {
				return nil, fmt.Errorf("conformance: %s is excluded by %q and by %q", c.Name, old.Check, x.Check)
			}
			found = true
			p.excluded[c.Name] = x
		}
		if !found {
			return nil, fmt.Errorf("conformance: the exclusion of %q matches no check", x.Check)
		}
	}
	for _, c := range all {
		if match.MatchString(c.Name) {
			p.checks = append(p.checks, c)
		}
	}
	return p, nil
}
