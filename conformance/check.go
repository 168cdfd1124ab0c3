package conformance

import (
	"slices"
	"strings"

	"github.com/go-halyard/halyard/hal"
)

// Check is one rule and the test of whether a device keeps it.
type Check struct {
	Name string // "Group/Name"
	Rule string // one sentence

	Needs      hal.Caps // capabilities that the device must have
	NeedsPeer  bool     // the check needs another device of the backend
	NeedsOther bool     // the check needs a device of another backend

	takesPeer bool // the check uses another device of the backend if there is one
	run       func(*trial)
}

// split returns the two parts of the name.
func (c Check) split() (group, name string) {
	group, name, _ = strings.Cut(c.Name, "/")
	return group, name
}

// Checks returns all checks in the order in which they run. Later checks rely on rules that earlier checks enforce.
func Checks() []Check { return slices.Clone(checks) }

var checks = inOrder([]group{
	{"Enumeration", enumerationChecks},
	{"Allocation", allocationChecks},
	{"Copy", copyChecks},
	{"Fill", fillChecks},
	{"Bounds", boundsChecks},
	{"StreamOrder", streamOrderChecks},
	{"Events", eventChecks},
	{"Lifetime", lifetimeChecks},
	{"HostMemory", hostMemoryChecks},
	{"Errors", errorChecks},
	{"Concurrency", concurrencyChecks},
	{"OutOfMemory", shortageChecks},
	{"Capabilities", capabilityChecks},
	{"Rows", rowsChecks},
	{"Import", importChecks},
	{"Sharing", sharingChecks},
	{"Pools", poolChecks},
	{"Coherence", coherenceChecks},
	{"Kernels", kernelChecks},
})

type group struct {
	name   string
	checks []Check
}

func inOrder(groups []group) (all []Check) {
	for _, g := range groups {
		for _, c := range g.checks {
			c.Name = g.name + "/" + c.Name
			all = append(all, c)
		}
	}
	return all
}
