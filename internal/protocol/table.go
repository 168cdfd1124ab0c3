package protocol

import (
	"strings"

	"github.com/go-halyard/halyard/coherence"
)

// When is a set of situations in which a [Rule] applies. Seen from the place p of an action, a
// range of bytes is in exactly one of four situations.
type When uint8

const (
	WhenSole      When = 1 << iota // Valid = {p}
	WhenShared                     // p is valid and so is another place
	WhenStale                      // p is not valid, another place is
	WhenUnwritten                  // Valid = ∅: never written, or reset

	WhenValid  = WhenSole | WhenShared
	WhenAlways = WhenValid | WhenStale | WhenUnwritten
)

const numSituations = 4

var whenNames = [numSituations]string{"sole", "shared", "stale", "unwritten"}

// String names the situations: "sole or shared", "always".
func (w When) String() string {
	if w == WhenAlways {
		return "always"
	}
	var names []string
	for i, name := range whenNames {
		if w>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// Supply is the transfer that a [Rule] plans.
type Supply uint8

const (
	SupplyNone   Supply = iota // nothing moves
	SupplyCopy                 // the cheapest valid place is copied to p
	SupplyZeros                // p is filled with zeros
	SupplyRescue               // p is copied to the cheapest other place
)

var supplyNames = [...]string{"none", "copy to p", "zero-fill p", "copy p to another place"}

// String says what moves.
func (s Supply) String() string {
	if int(s) < len(supplyNames) {
		return supplyNames[s]
	}
	return "?"
}

// Effect is what a [Rule] does to one of the two sets of a [State], once the destination of the
// transfer, if there was one, has joined both.
type Effect uint8

const (
	Keep  Effect = iota // unchanged
	Join                // p is added
	Only                // p alone is left
	Leave               // p is removed
	Clear               // nothing is left
)

// On returns the set after the effect of an action at p.
func (e Effect) On(s Set, p Place) Set {
	switch e {
	case Join:
		return s.With(p)
	case Only:
		return Of(p)
	case Leave:
		return s.Without(p)
	case Clear:
		return 0
	}
	return s
}

// Rule is one row of the transition table.
type Rule struct {
	Action    Action
	When      When
	Refuse    error  // nil, or what the action fails with: nothing moves and nothing changes
	Supply    Supply // planned from the state before the action, submitted before it changes
	Valid     Effect
	Allocated Effect
	Doc       string // the reason, in one sentence
}

// rules is the protocol: the rest of this package, its documents and its tests are made from it.
var rules = []Rule{
	{Action: Read, When: WhenValid, Valid: Keep, Allocated: Keep,
		Doc: "A valid replica is read where it is."},
	{Action: Read, When: WhenStale, Supply: SupplyCopy, Valid: Join, Allocated: Join,
		Doc: "A stale replica is brought up to date from the cheapest valid place, which stays valid."},
	{Action: Read, When: WhenUnwritten, Supply: SupplyZeros, Valid: Join, Allocated: Join,
		Doc: "Bytes that were never written read as zeros, not as what the memory held before."},

	{Action: ReadWrite, When: WhenValid, Valid: Only, Allocated: Keep,
		Doc: "Writing a valid replica makes every other one stale."},
	{Action: ReadWrite, When: WhenStale, Supply: SupplyCopy, Valid: Only, Allocated: Join,
		Doc: "The bytes are copied before the other replicas become stale, because the writer reads them."},
	{Action: ReadWrite, When: WhenUnwritten, Supply: SupplyZeros, Valid: Only, Allocated: Join,
		Doc: "The writer finds zeros where nothing was written."},

	{Action: Overwrite, When: WhenAlways, Valid: Only, Allocated: Join,
		Doc: "Nothing is copied, because every byte will be replaced."},

	{Action: MarkModified, When: WhenValid, Valid: Only, Allocated: Keep,
		Doc: "A change made to a valid replica makes every other one stale."},
	{Action: MarkModified, When: WhenStale | WhenUnwritten, Refuse: coherence.ErrConflict,
		Doc: "A mark on bytes that are not valid there would make the valid bytes elsewhere stale, or show what the memory held before."},

	{Action: Evict, When: WhenSole, Supply: SupplyRescue, Valid: Leave, Allocated: Leave,
		Doc: "The only valid replica is copied elsewhere before its memory is given up."},
	{Action: Evict, When: WhenShared | WhenStale | WhenUnwritten, Valid: Leave, Allocated: Leave,
		Doc: "A replica that is stale, or valid elsewhere too, is dropped."},

	{Action: Reset, When: WhenAlways, Valid: Clear, Allocated: Keep,
		Doc: "The contents are forgotten, the memory stays for the next use."},
}

// Table returns the transition table. Every action in every situation has exactly one rule.
func Table() []Rule { return append([]Rule(nil), rules...) }

// cell is the part of a rule that planning and committing need.
type cell struct {
	refuse    error
	supply    Supply
	valid     Effect
	allocated Effect
}

// protocol is a table arranged by action and situation.
type protocol [numActions][numSituations]cell

var standard = arrange(rules)

func arrange(rules []Rule) *protocol {
	p := new(protocol)
	for _, r := range rules {
		for i := range numSituations {
			if r.When>>i&1 != 0 {
				p[r.Action][i] = cell{r.Refuse, r.Supply, r.Valid, r.Allocated}
			}
		}
	}
	return p
}

// situation is the index of the one When that holds for p.
func situation(valid Set, p Place) int {
	switch {
	case valid == 0:
		return 3
	case !valid.Has(p):
		return 2
	case valid == Of(p):
		return 0
	}
	return 1
}
