// Package child runs the conformance suite on one broken copy of examples/template, until a check fails. The program that command mutants
// builds calls it.
package child

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// Copy is what a copy of the template gives to its tests.
type Copy struct {
	Backend  driver.Backend
	Before   func(func(api string) int32) // sets what each call of the vendor's library asks for its status first
	Contexts func() int                   // on the first card
	Codes    []driver.Error               // the table of statuses
}

// Main runs the checks that the second argument matches on the copy that the first names; the third is the time for each. It prints a line
// with the name of the check that has failed and the reason, if one has, and a line with the number of checks that were run. Device 1 of
// another is what the suite uses of other backends.
func Main(another driver.Backend, open map[string]func() Copy) {
	h := harness(open[os.Args[1]]())
	h.Others = []func(context.Context) (*hal.Device, error){func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, another, 1) }}
	Run(h, os.Args[2], os.Args[3])
}

// Run runs the checks that match, each with the timeout, and prints those lines.
func Run(h conformance.Harness, match, timeout string) {
	hal.SetLeakHandler(func(hal.Leak) {})
	h.Match = match
	var err error
	if h.Timeout, err = time.ParseDuration(timeout); err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	checks, failed := 0, false
	_, err = conformance.Execute(ctx, h, func(r conformance.Result) {
		checks++
		if r.Outcome.Bad() && !failed {
			failed = true
			fmt.Printf("failed %s %s\n", r.Check.Name, r.Reason)
			stop()
		}
	})
	if err != nil && !failed {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Printf("checks %d\n", checks)
}

func harness(c Copy) conformance.Harness {
	driver.Register(c.Backend)
	f := &faults{}
	c.Before(f.before)
	open := func(ordinal int) func(context.Context) (*hal.Device, error) {
		return func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, c.Backend, ordinal) }
	}
	return conformance.Harness{
		Open: open(0), Peer: open(1), Backend: c.Backend, Short: true,
		VendorCodes: func() []driver.Error { return c.Codes },
		Faults:      func() conformance.FaultControl { return f },
		FailAsync:   f.broken.Store,
		Contexts:    c.Contexts,
	}
}

// The statuses of vendor.go.
const (
	statusOK     = 0
	statusBroken = 70
	statusGone   = 71
)

// faults makes calls of the library fail, like the type of that name in the template's test.
type faults struct {
	mu             sync.Mutex
	calls          uint64
	failAt, loseAt uint64

	broken atomic.Bool
}

func (f *faults) before(api string) int32 {
	if api == "memWrite" || api == "memRead" {
		if f.broken.Load() {
			return statusBroken
		}
		return statusOK
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	switch f.calls {
	case f.failAt:
		return statusBroken
	case f.loseAt:
		return statusGone
	}
	return statusOK
}

// CallCount implements conformance.FaultControl.
func (f *faults) CallCount() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// FailCall implements conformance.FaultControl.
func (f *faults) FailCall(n uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failAt = f.calls + n
}

// LoseDevice implements conformance.FaultControl.
func (f *faults) LoseDevice(n uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.loseAt = f.calls + n
}

// Reset implements conformance.FaultControl.
func (f *faults) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.failAt, f.loseAt = 0, 0, 0
}
