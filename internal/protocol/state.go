package protocol

import (
	"fmt"
	"iter"
	"math/bits"
	"strconv"
	"strings"

	"github.com/go-halyard/halyard/coherence"
)

// Place is where a replica of a buffer can live: 0 is the host, 1 to 63 are devices. Devices that work on the same memory share a place.
type Place uint8

const (
	// Host is the place of host memory.
	Host Place = 0

	// MaxPlaces is the number of places: Host and 63 devices.
	MaxPlaces = 64

	// NoPlace is no place at all. As the source of a [Move] it stands for zeros.
	NoPlace Place = 255
)

// Usable reports whether p is the host or one of the 63 devices.
func (p Place) Usable() bool { return p < MaxPlaces }

// String returns "host", "device 3", "none" or, for any other value, "place(200)".
func (p Place) String() string {
	switch {
	case p == Host:
		return "host"
	case p < MaxPlaces:
		return "device " + strconv.Itoa(int(p))
	case p == NoPlace:
		return "none"
	}
	return "place(" + strconv.Itoa(int(p)) + ")"
}

// Set is a set of places, one bit for each.
type Set uint64

// Of returns the set of the given places. Places that are not usable are left out.
func Of(places ...Place) Set {
	var s Set
	for _, p := range places {
		s |= 1 << p
	}
	return s
}

// Has reports whether p is in the set.
func (s Set) Has(p Place) bool { return s>>p&1 != 0 }

// With returns the set with p added. It returns s if p is not usable.
func (s Set) With(p Place) Set { return s | 1<<p }

// Without returns the set without p.
func (s Set) Without(p Place) Set { return s &^ (1 << p) }

// Len is the number of places in the set.
func (s Set) Len() int { return bits.OnesCount64(uint64(s)) }

// First returns the lowest place, which is Host if the set has it, or NoPlace if the set is empty.
func (s Set) First() Place {
	if s == 0 {
		return NoPlace
	}
	return Place(bits.TrailingZeros64(uint64(s)))
}

// All yields the places from the lowest up.
func (s Set) All() iter.Seq[Place] {
	return func(yield func(Place) bool) {
		for ; s != 0; s &= s - 1 {
			if !yield(s.First()) {
				return
			}
		}
	}
}

// String lists the set as "{host, 1, 5}".
func (s Set) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for ; s != 0; s &= s - 1 {
		if b.Len() > 1 {
			b.WriteString(", ")
		}
		if p := s.First(); p == Host {
			b.WriteString("host")
		} else {
			b.WriteString(strconv.Itoa(int(p)))
		}
	}
	b.WriteByte('}')
	return b.String()
}

// Action is what is done to a range of bytes at a place. The first three are the modes of an access: a
// [coherence.Mode] converts to the action of the same name. A new mode stands before MarkModified, whose iota is the number of modes.
type Action uint8

const (
	// Read makes the bytes readable at the place.
	Read = Action(coherence.Read)
	// ReadWrite makes the bytes readable at the place, and announces that they will be changed there.
	ReadWrite = Action(coherence.ReadWrite)
	// Overwrite announces that every byte of the range will be written at the place, so that what the range held is not needed.
	Overwrite = Action(coherence.Overwrite)
	// MarkModified reports that the bytes, which were valid at the place, have been changed there.
	MarkModified Action = iota
	// Evict takes the replica away from the place.
	Evict
	// Reset forgets the contents, which then read as zeros. It concerns no place.
	Reset

	numActions = iota
)

var actionNames = [numActions]string{"Read", "ReadWrite", "Overwrite", "MarkModified", "Evict", "Reset"}

// Actions lists every action in the order of their definition.
func Actions() []Action {
	return []Action{Read, ReadWrite, Overwrite, MarkModified, Evict, Reset}
}

// String returns the name of the action as Go code writes it.
func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return "Action(" + strconv.Itoa(int(a)) + ")"
}

// Writes reports whether the action gives the range new contents at a place. Which accesses exclude each other is another question: Evict
// and Reset exclude all others, too.
func (a Action) Writes() bool { return a == ReadWrite || a == Overwrite || a == MarkModified }

// Placed reports whether the action is done at a place. Only Reset is not, and ignores the place that it is given.
func (a Action) Placed() bool { return a != Reset }

// State is the state of one range of bytes. Valid is a subset of Allocated.
type State struct {
	Allocated Set // places that have memory for the range
	Valid     Set // places whose memory holds the bytes of the last write
}

// Move is one transfer. From is NoPlace if To is to be filled with zeros.
type Move struct {
	From, To Place
}

// String returns "host → device 1" or "zeros → host".
func (m Move) String() string {
	if m.From == NoPlace {
		return "zeros → " + m.To.String()
	}
	return m.From.String() + " → " + m.To.String()
}

// Cost compares possible transfers: the one with the lowest cost is planned. Among transfers of equal cost, that from or to the lowest
// place is planned. Any int is allowed. A nil Cost makes all costs equal, so that the host is preferred and then the lowest device.
type Cost func(from, to Place) int

// Plan returns the transfer that an action at p needs, and the state after the action. If need is true the transfer m is to be
// submitted before the state becomes next. If need is false there is no transfer. Plan does not allocate unless it fails.
//
// When the only valid replica is evicted it is copied to an allocated place, or to the host even if that is not allocated; without any such
// place the error is a *RefusalError that matches coherence.ErrSoleCopy. A refusal by the table is a *RefusalError that matches
// coherence.ErrConflict. Other errors match ErrInvalidPlace, ErrInvalidAction and ErrInvalidState. With an error, next is s and need is
// false.
func (s State) Plan(a Action, p Place, cost Cost) (next State, m Move, need bool, err error) {
	return standard.plan(s, a, p, cost)
}

// Apply returns the state once the transfer has been submitted and nothing else has happened.
func (s State) Apply(m Move) State {
	return State{Allocated: s.Allocated.With(m.To), Valid: s.Valid.With(m.To)}
}

// Version returns the version that p holds: the given one, which is that of the last write, or -1 if p is not valid.
func (s State) Version(p Place, version int64) int64 {
	if s.Valid.Has(p) {
		return version
	}
	return -1
}

// String shows both sets.
func (s State) String() string {
	return fmt.Sprintf("valid %v of %v", s.Valid, s.Allocated)
}

func (t *protocol) plan(s State, a Action, p Place, cost Cost) (next State, m Move, need bool, err error) {
	if int(a) >= numActions {
		return s, m, false, invalidAction(a)
	}
	if !p.Usable() && a.Placed() {
		return s, m, false, invalidPlace(p)
	}
	if s.Valid&^s.Allocated != 0 {
		return s, m, false, fmt.Errorf("protocol: %w: %v", ErrInvalidState, s)
	}
	c := &t[a][situation(s.Valid, p)]
	m, need, refusal := c.move(s, p, cost)
	if refusal != nil {
		return s, Move{}, false, &RefusalError{Kind: refusal, Action: a, Place: p, State: s}
	}
	next = s
	if need {
		next = s.Apply(m)
	}
	next.Valid = c.valid.On(next.Valid, p)
	next.Allocated = c.allocated.On(next.Allocated, p)
	return next, m, need, nil
}

// move chooses the transfer. If the action is refused, refusal is the kind of the error.
func (c *cell) move(s State, p Place, cost Cost) (m Move, need bool, refusal error) {
	switch {
	case c.refuse != nil:
		return Move{}, false, c.refuse
	case c.supply == SupplyCopy:
		return Move{From: nearest(s.Valid, p, cost, false), To: p}, true, nil
	case c.supply == SupplyZeros:
		return Move{From: NoPlace, To: p}, true, nil
	case c.supply == SupplyRescue:
		to := nearest(s.Allocated.With(Host).Without(p), p, cost, true)
		if to == NoPlace {
			return Move{}, false, coherence.ErrSoleCopy
		}
		return Move{From: p, To: to}, true, nil
	}
	return Move{}, false, nil
}

// nearest returns the place from which bytes are copied to p, or, if away is set, the place to which those at p are copied.
func nearest(places Set, p Place, cost Cost, away bool) Place {
	best := places.First()
	if cost == nil || places&(places-1) == 0 {
		return best
	}
	price := func(other Place) int {
		if away {
			return cost(p, other)
		}
		return cost(other, p)
	}
	least := price(best)
	for rest := places & (places - 1); rest != 0; rest &= rest - 1 {
		if c := price(rest.First()); c < least {
			best, least = rest.First(), c
		}
	}
	return best
}

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

// interval is a maximal range of bytes with the same valid places. It ends where the next begins.
type interval struct {
	start uint64
	valid Set
}

// summary sums up the valid places of several intervals: those valid in all, and those valid in any.
type summary struct {
	all, any Set
	hole     bool // some interval is valid nowhere
}

func summaryOf(valid Set) summary { return summary{valid, valid, valid == 0} }

func (s *summary) add(t summary) {
	s.all &= t.all
	s.any |= t.any
	s.hole = s.hole || t.hole
}

// filter selects intervals by their situation at p.
type filter struct {
	p    Place
	when When
}

var everything = filter{when: WhenAlways}

func (f filter) takes(valid Set) bool { return f.when>>situation(valid, f.p)&1 != 0 }

// mayTake reports whether the filter can select any of the intervals that s sums up.
func (f filter) mayTake(s summary) bool {
	b := Of(f.p)
	var possible When
	if s.hole {
		possible = WhenUnwritten
	}
	if s.any&b != 0 {
		if s.all&^b == 0 {
			possible |= WhenSole
		}
		if s.any&^b != 0 {
			possible |= WhenShared
		}
	}
	if s.all&b == 0 && s.any&^b != 0 {
		possible |= WhenStale
	}
	return f.when&possible != 0
}

// effects are the effects of an action, one for each situation.
type effects [numSituations]Effect

func uniform(e Effect) effects { return effects{e, e, e, e} }

var joined, left = uniform(Join), uniform(Leave)

func (e *effects) on(valid Set, p Place) Set { return e[situation(valid, p)].On(valid, p) }

// constant reports whether the result is the same set for every interval, and which.
func (e *effects) constant(p Place) (Set, bool) {
	if *e != uniform(e[0]) || e[0] != Only && e[0] != Clear {
		return 0, false
	}
	return e[0].On(0, p), true
}

// changing is the set of situations in which a valid set may change.
func (e *effects) changing() (w When) {
	for i, effect := range e {
		here, elsewhere := i < 2, i == 1 || i == 2
		var same bool
		switch effect {
		case Keep:
			same = true
		case Join:
			same = here
		case Only:
			same = here && !elsewhere
		case Leave:
			same = !here
		case Clear:
			same = !here && !elsewhere
		}
		if !same {
			w |= 1 << i
		}
	}
	return w
}
