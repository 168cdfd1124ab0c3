package conformance

import (
	"fmt"
	"time"
)

// Outcome is the outcome of one check.
type Outcome uint8

const (
	// Passed means that the device keeps the rule.
	Passed Outcome = iota
	// Failed means that the device breaks the rule.
	Failed
	// Skipped means that the device or the harness lacks what the check needs.
	Skipped
	// Unsupported means that an exclusion left the check out.
	Unsupported
	// ExpectedFailure means that the check failed as an exclusion said it would.
	ExpectedFailure
	// UnexpectedPass means that the check passed although an exclusion expects a failure: remove the exclusion.
	UnexpectedPass
)

var outcomeNames = [...]string{"passed", "failed", "skipped", "unsupported", "expected failure", "unexpected pass"}

// String returns the outcome in lower case: "expected failure".
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

// Bad reports whether the outcome counts as a failure.
func (o Outcome) Bad() bool { return o == Failed || o == UnexpectedPass }

// Result is the outcome of one check.
type Result struct {
	Check    Check
	Outcome  Outcome
	Reason   string   // the first line of a failure, or the reason for a skip or an exclusion; "" for Passed
	Log      []string // all lines that the check reported, failures included
	Duration time.Duration
}
