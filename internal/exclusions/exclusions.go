package exclusions

import (
	"path"
	"strings"

	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
)

// Entry is one check that one kind of device is excused from. Empty fields of what it
// applies to match anything.
type Entry struct {
	Backend string
	Driver  string // part of Info.Driver, whatever the case
	Tier    string

	Exclusion conformance.Exclusion
}

// Known is the list.
var Known = []Entry{}

// applies reports whether the entry is about this device.
func (e *Entry) applies(info hal.Info) bool {
	return (e.Backend == "" || e.Backend == info.Backend) &&
		(e.Tier == "" || e.Tier == info.Tier) &&
		strings.Contains(strings.ToLower(info.Driver), strings.ToLower(e.Driver))
}

// For returns what is excluded on a device.
func For(info hal.Info) []conformance.Exclusion { return match(Known, info) }

func match(entries []Entry, info hal.Info) []conformance.Exclusion {
	var list []conformance.Exclusion
	for _, e := range entries {
		if e.applies(info) {
			list = append(list, e.Exclusion)
		}
	}
	return list
}

// Expand replaces each pattern by the names of the checks that it matches. Where several
// entries match a check the first one counts. unmatched are the patterns that match none, or are
// malformed.
func Expand(list []conformance.Exclusion) (named []conformance.Exclusion, unmatched []string) {
	taken := map[string]bool{}
	for _, x := range list {
		found := false
		for _, c := range conformance.Checks() {
			name := c.FullName()
			if ok, err := path.Match(x.Check, name); err != nil || !ok {
				continue
			}
			found = true
			if !taken[name] {
				taken[name] = true
				named = append(named, conformance.Exclusion{Check: name, Kind: x.Kind, Reason: x.Reason})
			}
		}
		if !found {
			unmatched = append(unmatched, x.Check)
		}
	}
	return named, unmatched
}
