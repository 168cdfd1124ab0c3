package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/protocol"
)

const head = `<!-- Made from the transition table by: go generate ./internal/protocol -->

# The coherence protocol

A *place* is where a replica of a buffer can live: the host, or one of 63 devices. For a range of bytes,
*Allocated* is the set of places that have memory for it, and *Valid* the set of those that hold the bytes
of the last write. Everything else follows from these two sets.

## The transition table

An action is done at a place *p*. For the range, *p* is in one of four situations: it is the *sole* valid
place; it is one of several valid places (*shared*); it is *stale*, and another place is valid; or the range is *unwritten*, which
means that it is valid nowhere, because it was never written or was reset. A transfer is submitted before the sets change.

`

const sets = `
A transfer fills p, or in Evict the place *to*. When it is submitted, that place is added to both sets; then the sets change as the table
says.
Of several possible sources, or destinations of a sole copy, the one with the lowest cost is taken. The cost is a function of the
caller's; without it the host is preferred, and then the lowest device. A sole copy may be saved to any other place in Allocated, and to
the host in any case. If there is no such place the eviction is refused with ErrSoleCopy.

## The classic names

One host and one device, as many systems see them:

![State diagram of one host and one device](coherence.svg)

The names are computed from the two sets, and defined for any number of devices:

| name | definition | with one device: valid of allocated |
|---|---|---|
`

const tail = `
A version number is computed as well. Each write increments a counter; a valid place has the counter as its version, and any
other place has -1.

## Ranges

State is kept for each interval of a buffer. Intervals split where an action touches part of them, and merge when
neighbours become equal; a write marks exactly its bytes. Each transfer moves bytes that are not valid at its
destination, from a source chosen for each interval; adjacent transfers with the same source and destination become one.

The ranges of a buffer may differ so much that no place has all of it. Then the buffer has one of three more names, which buffer.State
explains: DISTRIBUTED (every byte is valid somewhere, as after a launch on several devices), PARTIAL (some bytes are unwritten, others
valid) or LOST (a failed write has left bytes valid nowhere). UNINITIALIZED is a buffer of which nothing is written.

Memory is per replica, not per range: evicting part of a buffer leaves the place allocated.

## Failure

A plan is made before the state changes, and each transfer counts as soon as it is submitted. If the next one is
refused, those before it keep their effect, but the action has not happened. If work fails later, its destination becomes stale and its
source stays valid. A failed write can leave a range valid nowhere; accesses that read the range then get the error instead of zeros.
`

var definitions = map[protocol.Name]string{
	protocol.Uninitialized: "no place is valid",
	protocol.HostOnly:      "the host is valid, no device has memory",
	protocol.DeviceOnly:    "some device is valid, the host has no memory",
	protocol.Synchronized:  "the host is valid, some device has memory, and every device that has memory is valid",
	protocol.HostDirty:     "the host is valid, some device that has memory is stale",
	protocol.DeviceDirty:   "some device is valid, the host has memory that is stale",
}

// markdown returns the protocol as tables.
func markdown() string {
	var b strings.Builder
	b.WriteString(head)
	b.WriteString("| action | p is | transfer first | Valid becomes | Allocated becomes | why |\n|---|---|---|---|---|---|\n")
	for _, r := range protocol.Table() {
		action := call(r.Action)
		if r.Refuse != nil {
			fmt.Fprintf(&b, "| %s | %v | refused: ErrConflict | | | %s |\n", action, r.When, r.Doc)
			continue
		}
		fmt.Fprintf(&b, "| %s | %v | %s | %s | %s | %s |\n", action, r.When, transfer(r.Supply),
			effect(r.Valid, "Valid", r.Supply), effect(r.Allocated, "Allocated", r.Supply), r.Doc)
	}
	b.WriteString(sets)
	for _, n := range protocol.Names() {
		var with []string
		for _, s := range states() {
			if s.Name() == n {
				with = append(with, shortSet(s.Valid)+" of "+shortSet(s.Allocated))
			}
		}
		fmt.Fprintf(&b, "| %v | %s | %s |\n", n, definitions[n], strings.Join(with, ", "))
	}

	b.WriteString("\nWhere each action leads, with one host and one device:\n\n| |")
	for _, n := range protocol.Names() {
		fmt.Fprintf(&b, " %v |", n)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(protocol.Names())))
	for _, c := range occasions() {
		fmt.Fprintf(&b, "\n| %v |", c)
		for _, n := range protocol.Names() {
			b.WriteString(" " + outcome(n, c) + " |")
		}
	}
	b.WriteString("\n\nIf a cell has two names, the second applies if the other place has memory although nothing is valid, as after a Reset.\n")
	b.WriteString(tail)
	return b.String()
}

// outcome lists where an occasion leads from a name.
func outcome(n protocol.Name, c cause) string {
	var results []string
	for _, s := range states() {
		if s.Name() != n {
			continue
		}
		next, c := apply(s, c)
		result := next.Name().String()
		switch {
		case c.refused:
			result = "refused"
		case c.zeros:
			result += " (zeros)"
		case c.moves:
			result += " (copy)"
		}
		if !slices.Contains(results, result) {
			results = append(results, result)
		}
	}
	return strings.Join(results, " or ")
}

func transfer(s protocol.Supply) string {
	switch s {
	case protocol.SupplyCopy:
		return "cheapest valid place → p"
	case protocol.SupplyZeros:
		return "zeros → p"
	case protocol.SupplyRescue:
		return "p → *to*, the cheapest other place"
	}
	return "none"
}

func effect(e protocol.Effect, set string, s protocol.Supply) string {
	if s == protocol.SupplyRescue {
		set += " ∪ {to}"
	}
	switch e {
	case protocol.Join:
		return set + " ∪ {p}"
	case protocol.Only:
		return "{p}"
	case protocol.Leave:
		return set + " \\ {p}"
	case protocol.Clear:
		return "∅"
	}
	return "unchanged"
}

func shortSet(s protocol.Set) string {
	if s == 0 {
		return "∅"
	}
	var names []string
	for p := range s.All() {
		names = append(names, placeName(p))
	}
	return "{" + strings.Join(names, ", ") + "}"
}
