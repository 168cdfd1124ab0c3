package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
)

// suiteRun is the outcome of the suite on all devices, as check --json prints it.
type suiteRun struct {
	Version string      `json:"version"`
	Devices []deviceRun `json:"devices"`
	Absent  []string    `json:"absent,omitempty"`  // backends and devices that cannot be checked here, and why
	Missing []string    `json:"missing,omitempty"` // required backends and devices that are missing
	Summary counts      `json:"summary"`
}

// deviceRun is the outcome on one device.
type deviceRun struct {
	Device  deviceEntry   `json:"device"`
	Seed    uint64        `json:"seed"`
	Seconds float64       `json:"seconds"`
	Results []checkResult `json:"results"`
	Summary counts        `json:"summary"`

	info  hal.Info
	short bool
}

type checkResult struct {
	Check   string   `json:"check"` // group/name
	Rule    string   `json:"rule"`
	Outcome string   `json:"outcome"`
	Reason  string   `json:"reason,omitempty"`
	Log     []string `json:"log,omitempty"`
	Seconds float64  `json:"seconds"`

	outcome conformance.Outcome
}

// counts are numbers of checks. Excluded ones are among the skipped.
type counts struct {
	Passed   int `json:"passed"`
	Failed   int `json:"failed"`
	Skipped  int `json:"skipped"`
	Excluded int `json:"excluded"`
}

func (c *counts) add(o conformance.Outcome) {
	switch o {
	case conformance.Passed:
		c.Passed++
	case conformance.Skipped:
		c.Skipped++
	case conformance.Unsupported, conformance.ExpectedFailure:
		c.Skipped++
		c.Excluded++
	default: // Failed, UnexpectedPass
		c.Failed++
	}
}

// tellAbsent records the backends without devices. A missing driver is not a failure; any other
// error of a backend that is built in is one.
func (r *suiteRun) tellAbsent(reports []hal.Report) {
	for _, rep := range reports {
		switch {
		case rep.Err == nil && len(rep.Devices) == 0:
			r.Absent = append(r.Absent, rep.Backend+": the driver works, but finds no device")
		case rep.Err == nil:
		case errors.Is(rep.Err, hal.ErrNotBuilt) || errors.Is(rep.Err, hal.ErrUnavailable):
			r.Absent = append(r.Absent, rep.Backend+": "+reason(rep.Err))
		default:
			r.Missing = append(r.Missing, rep.Backend+": "+reason(rep.Err))
		}
	}
}

// tellRefused records a listed device that cannot be opened. If the device is unavailable, or lacks what the environment
// asks for, such as a tier of memory, it is skipped, unless it was named.
func (r *suiteRun) tellRefused(err error, named bool) {
	if !named && (errors.Is(err, hal.ErrUnsupported) || errors.Is(err, hal.ErrUnavailable)) {
		r.Absent = append(r.Absent, err.Error())
	} else {
		r.Missing = append(r.Missing, err.Error())
	}
}

// device runs the suite on one device and keeps the outcomes, even if it stops half-way.
func (r *suiteRun) device(ctx context.Context, info hal.Info, h conformance.Harness, done func(check string)) error {
	run := deviceRun{Device: deviceEntryOf(info), Results: []checkResult{}, info: info, short: h.Short}
	start := time.Now()
	seed, err := conformance.Execute(ctx, h, func(res conformance.Result) {
		name := res.Check.Name
		run.Summary.add(res.Outcome)
		r.Summary.add(res.Outcome)
		run.Results = append(run.Results, checkResult{
			Check: name, Rule: res.Check.Rule, Outcome: res.Outcome.String(), Reason: res.Reason, Log: res.Log,
			Seconds: res.Duration.Seconds(), outcome: res.Outcome,
		})
		done(name)
	})
	run.Seed, run.Seconds = seed, time.Since(start).Seconds()
	r.Devices = append(r.Devices, run)
	return err
}
