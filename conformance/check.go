package conformance

import (
	"slices"

	"github.com/go-halyard/halyard/hal"
)

// Check is one rule and the test of whether a device keeps it.
type Check struct {
	Group string
	Name  string // unique within the group
	Rule  string // one sentence

	Needs      hal.Caps // capabilities that the device must have
	NeedsPeer  bool     // it needs another device of the backend
	NeedsOther bool     // it needs a device of another backend

	run func(*T)
}

// FullName is "Group/Name".
func (c Check) FullName() string { return c.Group + "/" + c.Name }

// Checks returns all checks, in the order in which they run: later checks rely on rules that earlier ones
// check.
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
	{"Coherence", coherenceChecks},
})

type group struct {
	name   string
	checks []Check
}

func inOrder(groups []group) (all []Check) {
	for _, g := range groups {
		for _, c := range g.checks {
			c.Group = g.name
			all = append(all, c)
		}
	}
	return all
}
