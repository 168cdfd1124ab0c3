// Command made runs the conformance suite on backends that are broken by a layer around a sound one. Command mutants builds and runs it. The
// mutants are generated: each method of package driver, with each kind of fault that the method can have.
//
//	made list
//	made NUMBER MATCH TIMEOUT BASE
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/mutants/child"
)

// newCUDA makes the backend for CUDA; nil in a build without the tag cuda, which is for other tools: command mutants builds with it.
var newCUDA func() driver.Backend

func main() {
	all := faults()
	if os.Args[1] == "list" {
		for _, f := range all {
			fmt.Printf("%s\t%s\t%s\t%s\n", f.base, f.method, f, f.equivalent)
		}
		return
	}
	var f fault
	if i, err := strconv.Atoi(os.Args[1]); err == nil {
		f = all[i]
	} // else there is no fault
	f.base = os.Args[4]
	child.Run(harness(f), os.Args[2], os.Args[3])
}

// harness is that of the suite for a fault.
func harness(f fault) conformance.Harness {
	b := &backend{fault: f, last: map[string]any{}}
	under, peer := 1, 2
	switch f.base {
	case "cuda":
		b.Backend = newCUDA()
		under, peer = 0, 1
	case "large":
		b.Backend, b.large = host.New(host.Options{Name: "made", Discrete: 1}), true
		under, peer = 0, 1
	default:
		b.Backend = host.New(host.Options{Name: "made", Discrete: 3, MemoryLimit: 32 << 20})
		b.apart, b.caching = f.base == "apart", f.base == "caching"
	}
	open := func(ordinal int) func(context.Context) (*hal.Device, error) {
		return func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, b, ordinal) }
	}
	another := host.New(host.Options{Name: "another", Discrete: 1, MemoryLimit: 64 << 20})
	h := conformance.Harness{
		Open: open(under), Peer: open(peer), Backend: b, Short: f.base != "large",
		Others: []func(context.Context) (*hal.Device, error){func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, another, 1) }},
		Faults: func() conformance.FaultControl { return b },
		VendorCodes: func() []driver.Error {
			return []driver.Error{{Kind: driver.ErrDriver, Vendor: driver.Vendor{Name: "MADE_FAULT", Code: 1}},
				{Kind: driver.ErrDeviceLost, Vendor: driver.Vendor{Name: "MADE_LOST", Code: 2}}}
		},
		Contexts: func() int { return int(b.open.Load()) },
	}
	if f.base != "cuda" {
		h.FailAsync = b.broken.Store
	}
	return h
}
