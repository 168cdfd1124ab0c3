package protocol

import "fmt"

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

// idle is the number of successive unchanged intervals after which an update stops copying them, because a search for the
// next interval that changes is cheaper.
const idle = 64

// scratchMax is the number of intervals of which the memory is kept from one update to the next.
const scratchMax = 512

// update applies the effects to [lo, hi). It skips intervals that do not change, and replaces the others in batches.
func (t *tree) update(lo, hi, size uint64, p Place, e effects) {
	changing := e.changing()
	for lo < hi {
		first, found := lo, false
		t.root.walk(lo, hi, size, filter{p, changing}, func(lo, hi uint64, valid Set) bool {
			first, found = lo, e.on(valid, p) != valid
			return !found
		})
		if !found {
			return
		}
		if valid, ok := e.constant(p); ok {
			t.scratch = append(t.scratch[:0], interval{first, valid})
			t.replace(first, hi, size)
			return
		}
		lo = t.batch(first, hi, size, p, &e)
	}
}

// batch changes the intervals from lo on, the first of which needs a change. It stops at hi, or before idle successive intervals
// that need none, and returns where it stopped.
func (t *tree) batch(lo, hi, size uint64, p Place, e *effects) uint64 {
	buf := t.scratch[:0]
	end, kept, unchanged := lo, 0, 0
	t.root.walk(lo, hi, size, everything, func(lo, hi uint64, valid Set) bool {
		after := e.on(valid, p)
		if len(buf) == 0 || buf[len(buf)-1].valid != after {
			buf = append(buf, interval{lo, after})
		}
		if after != valid {
			end, kept, unchanged = hi, len(buf), 0
			return true
		}
		unchanged++
		return unchanged < idle
	})
	t.scratch = buf[:kept]
	t.replace(lo, end, size)
	return end
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

// replace puts the scratch intervals, the first of which starts at lo, in the place of [lo, hi), and
// merges them with their neighbours at both ends.
func (t *tree) replace(lo, hi, size uint64) {
	runs := t.scratch
	last := runs[len(runs)-1].valid
	end := hi
	if hi < size {
		if v := t.at(hi); v != last {
			runs = append(runs, interval{hi, v})
		}
		end = hi + 1
	}
	t.scratch = runs
	if lo > 0 && t.at(lo-1) == runs[0].valid {
		runs = runs[1:]
	}
	t.splice(lo, end, runs)
	if cap(t.scratch) > scratchMax {
		t.scratch = nil
	}
}

// check verifies that the intervals cover the map, and all that the tree keeps.
func (t *tree) check(size uint64, allocated Set) error {
	var prev interval
	next, n := uint64(0), 0
	var err error
	t.root.walk(0, size, size, everything, func(lo, hi uint64, valid Set) bool {
		switch {
		case lo != next || hi <= lo || hi > size:
			err = fmt.Errorf("protocol: interval [%d, %d) after one that ends at %d, in %d bytes", lo, hi, next, size)
		case valid&^allocated != 0:
			err = fmt.Errorf("protocol: [%d, %d) is valid at %v, allocated %v", lo, hi, valid, allocated)
		case n > 0 && prev.valid == valid:
			err = fmt.Errorf("protocol: [%d, %d) is not merged with its neighbour from %d", lo, hi, prev.start)
		}
		prev, next, n = interval{lo, valid}, hi, n+1
		return err == nil
	})
	switch {
	case err != nil:
		return err
	case next != size:
		return fmt.Errorf("protocol: intervals end at %d of %d bytes", next, size)
	case n != t.count:
		return fmt.Errorf("protocol: %d intervals counted as %d", n, t.count)
	case len(t.stack) != 0:
		return fmt.Errorf("protocol: %d nodes are left over", len(t.stack))
	}
	_, err = t.root.check()
	return err
}
