package protocol

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/coherence"
)

// world is a state together with what the protocol cannot see: whether the range was written. The
// bytes of each replica follow from it. A valid one must hold those of the last write, or zeros; any
// other holds garbage, the worst that it could hold.
type world struct {
	State
	written bool
}

type token int

const (
	zeros   token = 0
	current token = 1
	fresh   token = 2
	garbage token = -1
)

// broken is a violated invariant.
type broken struct {
	invariant string
	from      world
	action    Action
	place     Place
	detail    string
}

func (b *broken) Error() string {
	return fmt.Sprintf("%s: %v at %v from %v: %s", b.invariant, b.action, b.place, b.from, b.detail)
}

// The invariants of the protocol.
const (
	subset     = "only allocated places are valid"
	latest     = "every valid replica holds the bytes of the last write"
	reads      = "an access reads the bytes of the last write, or zeros if there was none"
	keeps      = "once written, some place is valid until Reset"
	minimal    = "no plan is longer than needed"
	remembers  = "a replica that is up to date stays valid"
	forgets    = "Reset and Evict leave nothing valid behind"
	memory     = "memory comes and goes only where the action says"
	legality   = "an illegal action is refused"
	liberality = "a legal action is not refused"
	unchanged  = "a refused action changes nothing"
	choice     = "the cheapest source or refuge is chosen"
	rescued    = "a copy that fails loses nothing"
)

// search visits every world that can be reached from the empty one with the places below limit, and
// checks the invariants on each transition: of actions that go well, that stop after their transfer
// was submitted, and whose transfer fails later.
func search(t *protocol, limit Place, cost Cost) (worlds, transitions, failures int, err error) {
	seen := map[world]bool{{}: true}
	queue := []world{{}}
	reach := func(w world) {
		if !seen[w] {
			seen[w] = true
			queue = append(queue, w)
		}
	}
	for len(queue) > 0 {
		w := queue[0]
		queue = queue[1:]
		for _, a := range Actions() {
			for p := range limit {
				if a == Reset && p > 0 {
					break
				}
				transitions++
				after, torn, err := step(t, w, a, p, limit, cost)
				if err != nil {
					return len(seen), transitions, failures, err
				}
				reach(after)
				for _, w := range torn {
					failures++
					reach(w)
				}
			}
		}
	}
	return len(seen), transitions, failures, nil
}

func step(t *protocol, w world, a Action, p, limit Place, cost Cost) (after world, torn []world, err error) {
	fail := func(invariant, format string, args ...any) (world, []world, error) {
		return w, nil, &broken{invariant, w, a, p, fmt.Sprintf(format, args...)}
	}
	last := zeros
	if w.written {
		last = current
	}
	content := make(map[Place]token)
	for q := range limit {
		content[q] = garbage
		if w.Valid.Has(q) {
			content[q] = last
		}
	}

	next, m, need, refusal := t.plan(w.State, a, p, cost)
	others := w.Allocated.With(Host).Without(p)
	illegal := a == MarkModified && !w.Valid.Has(p) || a == Evict && w.Valid == Of(p) && others == 0
	switch {
	case refusal != nil && (next != w.State || need):
		return fail(unchanged, "%v", next)
	case refusal != nil && !illegal:
		return fail(liberality, "%v", refusal)
	case refusal != nil:
		return w, nil, nil
	case illegal:
		return fail(legality, "became %v", next)
	}

	expected := w.Allocated.With(p)
	if need {
		useful := (a == Read || a == ReadWrite) && !w.Valid.Has(p) || a == Evict && w.Valid == Of(p)
		if !useful {
			return fail(minimal, "%v", m)
		}
		if from, to := cheapest(w, a, p, cost); m.From != from || m.To != to {
			return fail(choice, "%v, not %v", m, Move{from, to})
		}
		expected = expected.With(m.To)
		content[m.To] = zeros
		if m.From != NoPlace {
			content[m.To] = content[m.From]
		}
		applied := w.Apply(m)
		if applied.Valid&^applied.Allocated != 0 {
			return fail(subset, "%v after %v", applied, m)
		}
		torn = append(torn, world{applied, w.written}, world{State{applied.Allocated, w.Valid}, w.written})
	}

	switch a {
	case Read, ReadWrite, MarkModified:
		if content[p] != last {
			return fail(reads, "found %d for %d", content[p], last)
		}
	case Evict:
		content[p], expected = garbage, expected.Without(p)
	case Reset:
		last, expected = zeros, w.Allocated
	}
	after = world{next, w.written}
	if a.Writes() {
		content[p], last, after.written = fresh, fresh, true
	}
	if a == Reset {
		after.written = false
	}

	switch {
	case next.Valid&^next.Allocated != 0:
		return fail(subset, "%v", next)
	case after.written && next.Valid == 0:
		return fail(keeps, "%v", next)
	case a == Reset && next.Valid != 0, a == Evict && next.Valid.Has(p):
		return fail(forgets, "%v", next)
	case next.Allocated != expected:
		return fail(memory, "%v, not %v", next.Allocated, expected)
	}
	for q := range limit {
		switch {
		case next.Valid.Has(q) && content[q] != last:
			return fail(latest, "%v holds %d for %d", q, content[q], last)
		case content[q] == last && a != Reset && !next.Valid.Has(q):
			return fail(remembers, "%v became %v", q, next)
		}
	}

	// What the action wrote, or what was copied for it to read, may turn out to have failed. An
	// eviction is committed when its copy is known to be good.
	if (a == Read && need) || a.Writes() {
		failed := State{Allocated: next.Allocated, Valid: next.Valid.Without(p)}
		lost := failed.Valid == 0
		if a == Read && w.written && lost {
			return fail(rescued, "%v", failed)
		}
		torn = append(torn, world{failed, after.written && !lost})
	}
	return after, torn, nil
}

// cheapest finds the ends of a transfer by trying all places.
func cheapest(w world, a Action, p Place, cost Cost) (from, to Place) {
	if cost == nil {
		cost = func(Place, Place) int { return 0 }
	}
	best := NoPlace
	if a == Evict {
		for q := range w.Allocated.With(Host).Without(p).All() {
			if best == NoPlace || cost(p, q) < cost(p, best) {
				best = q
			}
		}
		return p, best
	}
	for q := range w.Valid.All() {
		if best == NoPlace || cost(q, p) < cost(best, p) {
			best = q
		}
	}
	return best, p
}

func TestEveryReachableStateKeepsTheInvariants(t *testing.T) {
	costs := map[string]Cost{
		"without costs":                 nil,
		"the highest place is cheapest": func(from, to Place) int { return -int(from) - int(to) },
		"neighbours are cheapest": func(from, to Place) int {
			return max(int(from)-int(to), int(to)-int(from))
		},
	}
	for name, cost := range costs {
		t.Run(name, func(t *testing.T) {
			worlds, transitions, failures, err := search(standard, 4, cost)
			require.NoError(t, err)
			t.Logf("4 places: visited %d states, %d transitions, %d failed or torn transitions",
				worlds, transitions, failures)
			// Each place is without memory, stale or valid: 3⁴ = 81 states, 16 of them valid
			// nowhere; the other 65 occur before and after the first write. Each has 5 actions at
			// 4 places, and Reset.
			assert.Equal(t, 16+2*65, worlds)
			assert.Equal(t, worlds*21, transitions)
			// A place is valid in 216 pairs of world and place out of 584, and alone in 64, of which
			// 2 are the host with no other place. Failures: every write (584 ReadWrite, 584
			// Overwrite, 216 MarkModified) may fail; a Read with a transfer stops after it, has it
			// refused or fails later (3 × 368), a ReadWrite stops or is refused (2 × 368), and so
			// does an eviction that copies (2 × 62).
			assert.Equal(t, 584+584+216+3*368+2*368+2*62, failures)
		})
	}
}

func TestInvalidArgumentsChangeNothing(t *testing.T) {
	for a := Set(0); a < 16; a++ {
		for v := Set(0); v < 16; v++ {
			s := State{a, v}
			for _, act := range Actions() {
				next, _, need, err := s.Plan(act, 1, nil)
				if v&^a != 0 {
					require.ErrorIs(t, err, ErrInvalidState)
					require.Equal(t, s, next)
					require.False(t, need)
					continue
				}
				for _, p := range []Place{64, 100, 254, NoPlace} {
					next, m, need, err := s.Plan(act, p, nil)
					if act == Reset {
						require.NoError(t, err)
						continue
					}
					require.ErrorIs(t, err, ErrInvalidPlace)
					require.Equal(t, s, next)
					require.Zero(t, m)
					require.False(t, need)
				}
			}
			for _, act := range []Action{numActions, 17, 255} {
				next, _, need, err := s.Plan(act, 1, nil)
				require.ErrorIs(t, err, ErrInvalidAction)
				require.Equal(t, s, next)
				require.False(t, need)
			}
		}
	}
}

func TestTableCoversEveryActionAndSituationOnce(t *testing.T) {
	var covered [numActions][numSituations]int
	for _, r := range Table() {
		assert.NotEmpty(t, r.Doc)
		assert.Regexp(t, `^[A-Z][^.]*\.$`, r.Doc, "one sentence")
		for i := range numSituations {
			covered[r.Action][i] += int(r.When >> i & 1)
		}
	}
	for a, row := range covered {
		for i, n := range row {
			assert.Equal(t, 1, n, "%v when %v", Action(a), When(1<<i))
		}
	}
}

func TestTableIsACopy(t *testing.T) {
	Table()[0].Refuse = errors.New("changed")
	assert.NoError(t, Table()[0].Refuse)
}

// mutant is a protocol table with one mistake.
type mutant struct {
	name   string
	action Action
	when   When
	change func(*cell)
	breaks string
}

var mutants = []mutant{
	{"ReadWrite bumps the version first and so finds nothing to copy", ReadWrite, WhenStale,
		func(c *cell) { c.supply = SupplyNone }, reads},
	{"Read takes a stale replica for valid", Read, WhenStale,
		func(c *cell) { c.supply = SupplyNone }, reads},
	{"Read fills with zeros though another place is valid", Read, WhenStale,
		func(c *cell) { c.supply = SupplyZeros }, choice},
	{"Read of what was never written shows leftovers", Read, WhenUnwritten,
		func(c *cell) { c.supply = SupplyNone }, reads},
	{"ReadWrite of what was never written shows leftovers", ReadWrite, WhenUnwritten,
		func(c *cell) { c.supply = SupplyNone }, reads},
	{"Read copies to a replica that is valid", Read, WhenShared,
		func(c *cell) { c.supply = SupplyCopy }, minimal},
	{"Read fills a sole valid replica with zeros", Read, WhenSole,
		func(c *cell) { c.supply = SupplyZeros }, minimal},
	{"Read makes its source stale", Read, WhenStale,
		func(c *cell) { c.valid = Only }, remembers},
	{"Read does not record the replica it filled", Read, WhenStale,
		func(c *cell) { c.valid = Leave }, remembers},
	{"Read does not record the memory it fills", Read, WhenUnwritten,
		func(c *cell) { c.allocated = Leave }, subset},
	{"ReadWrite keeps the replica it copied from valid", ReadWrite, WhenStale,
		func(c *cell) { c.valid = Join }, latest},
	{"ReadWrite keeps all other replicas valid", ReadWrite, WhenShared,
		func(c *cell) { c.valid = Keep }, latest},
	{"ReadWrite is never recorded as valid", ReadWrite, WhenSole,
		func(c *cell) { c.valid = Clear }, keeps},
	{"Overwrite keeps other replicas valid", Overwrite, WhenStale,
		func(c *cell) { c.valid = Join }, latest},
	{"Overwrite copies what it will replace", Overwrite, WhenStale,
		func(c *cell) { c.supply = SupplyCopy }, minimal},
	{"Overwrite fills with zeros what it will replace", Overwrite, WhenUnwritten,
		func(c *cell) { c.supply = SupplyZeros }, minimal},
	{"Overwrite of fresh memory is not recorded", Overwrite, WhenUnwritten,
		func(c *cell) { c.valid = Keep }, keeps},
	{"Overwrite does not record its memory", Overwrite, WhenUnwritten,
		func(c *cell) { c.allocated = Keep }, subset},
	{"Modified is allowed on a stale replica", MarkModified, WhenStale,
		func(c *cell) { c.refuse = nil; c.valid = Only }, legality},
	{"Modified brings a stale replica up to date afterwards", MarkModified, WhenStale,
		func(c *cell) { c.refuse = nil; c.supply = SupplyCopy; c.valid = Only }, legality},
	{"Modified is allowed before the first write", MarkModified, WhenUnwritten,
		func(c *cell) { c.refuse = nil; c.valid = Only; c.allocated = Join }, legality},
	{"Modified keeps other replicas valid", MarkModified, WhenShared,
		func(c *cell) { c.valid = Keep }, latest},
	{"Modified is refused where others are valid too", MarkModified, WhenShared,
		func(c *cell) { c.refuse = coherence.ErrConflict }, liberality},
	{"Evict drops the sole valid copy", Evict, WhenSole,
		func(c *cell) { c.supply = SupplyNone }, legality},
	{"Evict drops the sole valid copy after copying it", Evict, WhenSole,
		func(c *cell) { c.valid = Clear }, remembers},
	{"Evict copies a replica that is valid elsewhere", Evict, WhenShared,
		func(c *cell) { c.supply = SupplyRescue }, minimal},
	{"Evict writes back a stale replica", Evict, WhenStale,
		func(c *cell) { c.supply = SupplyRescue }, minimal},
	{"Evict keeps its replica valid", Evict, WhenShared,
		func(c *cell) { c.valid = Keep; c.allocated = Keep }, forgets},
	{"Evict keeps a replica valid in memory that is gone", Evict, WhenShared,
		func(c *cell) { c.valid = Keep }, subset},
	{"Evict keeps the memory", Evict, WhenStale,
		func(c *cell) { c.allocated = Keep }, memory},
	{"Reset keeps the replica of its place valid", Reset, WhenShared,
		func(c *cell) { c.valid = Only }, forgets},
	{"Reset does nothing to a sole valid replica", Reset, WhenSole,
		func(c *cell) { c.valid = Keep }, forgets},
	{"Reset gives up memory", Reset, WhenStale,
		func(c *cell) { c.allocated = Clear }, memory},
}

func (m mutant) protocol() *protocol {
	t := *standard
	for i := range numSituations {
		if m.when>>i&1 != 0 {
			m.change(&t[m.action][i])
		}
	}
	return &t
}

func TestEveryMutantOfTheTableIsCaught(t *testing.T) {
	for _, m := range mutants {
		require.NotEqual(t, *standard, *m.protocol(), m.name)
		_, _, _, err := search(m.protocol(), 4, nil)
		var b *broken
		if !assert.ErrorAs(t, err, &b, "%s: survived", m.name) {
			continue
		}
		t.Logf("%-60s → %s", m.name, b.invariant)
		assert.Equal(t, m.breaks, b.invariant, "%s: %v", m.name, b)
	}
}

// Any single change of any cell is either caught or makes no difference.
func TestEverySingleChangeOfTheTableIsCaught(t *testing.T) {
	changed, same := 0, 0
	for a := range numActions {
		for i := range numSituations {
			for _, c := range cells() {
				mutated := *standard
				mutated[a][i] = c
				if equivalent(&mutated, Action(a), i) {
					same++
					continue
				}
				changed++
				_, _, _, err := search(&mutated, 3, nil)
				var b *broken
				require.ErrorAs(t, err, &b, "%v when %v: %+v", Action(a), When(1<<i), c)
			}
		}
	}
	t.Logf("%d changed cells caught, %d without a difference", changed, same)
	assert.Equal(t, numActions*numSituations*len(cells()), changed+same)
	assert.Greater(t, changed, 2000)
}

// cells lists every cell that can be written.
func cells() (all []cell) {
	for _, refuse := range []error{nil, coherence.ErrConflict} {
		for _, supply := range []Supply{SupplyNone, SupplyCopy, SupplyZeros, SupplyRescue} {
			for valid := Keep; valid <= Clear; valid++ {
				for allocated := Keep; allocated <= Clear; allocated++ {
					all = append(all, cell{refuse, supply, valid, allocated})
				}
			}
		}
	}
	return all
}

// equivalent reports whether a table does the same as the standard one for an action in a situation,
// whatever the state.
func equivalent(t *protocol, a Action, i int) bool {
	for allocated := Set(0); allocated < 8; allocated++ {
		for valid := Set(0); valid < 8; valid++ {
			for p := Place(0); p < 3; p++ {
				if a == Reset && p > 0 || valid&^allocated != 0 || situation(valid, p) != i {
					continue
				}
				s := State{allocated, valid}
				n1, m1, need1, err1 := t.plan(s, a, p, nil)
				n2, m2, need2, err2 := standard.plan(s, a, p, nil)
				if n1 != n2 || m1 != m2 || need1 != need2 || (err1 == nil) != (err2 == nil) {
					return false
				}
			}
		}
	}
	return true
}

func TestPlanDoesNotAllocate(t *testing.T) {
	s := State{Of(0, 1, 2), Of(1, 2)}
	cost := func(from, to Place) int { return int(from) }
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_, _, _, _ = s.Plan(ReadWrite, 0, cost)
		_, _, _, _ = s.Plan(Evict, 1, nil)
	}))
}
