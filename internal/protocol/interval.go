package protocol

import (
	"fmt"
	"slices"
)

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

func (e *effects) on(valid Set, p Place) Set { return e[situation(valid, p)].On(valid, p) }

// constant reports whether the result is the same set for every interval, and which.
func (e *effects) constant(p Place) (Set, bool) {
	if *e != uniform(e[0]) || e[0] != Only && e[0] != Clear {
		return 0, false
	}
	return e[0].On(0, p), true
}

// sliceMax is the number of intervals above which an index becomes a tree. The tree becomes a slice again
// at a quarter of that number. Up to sliceMax intervals, changes are cheaper in a slice, and a scan of the whole slice takes
// some 100 ns. Queries of long ranges are faster in a tree from 64 intervals on.
var sliceMax = 128

// idle is the number of successive unchanged intervals after which an update stops copying them, because a search for the
// next interval that changes is cheaper.
const idle = 64

// index holds two or more intervals that cover [0, size), sorted, each different from its
// neighbours: as a slice, or as a tree if there are many.
type index struct {
	slice   []interval
	tree    *tree // nil while the slice is used
	scratch []interval
}

func (x *index) len() int {
	if x.tree != nil {
		return x.tree.count
	}
	return len(x.slice)
}

// reset leaves a single interval.
func (x *index) reset(valid Set) {
	x.tree = nil
	x.slice = append(x.slice[:0], interval{0, valid})
}

// find returns the position in the slice of the interval that contains the byte at pos.
func (x *index) find(pos uint64) int {
	i, j := 0, len(x.slice)
	for j-i > 1 {
		if h := int(uint(i+j) >> 1); x.slice[h].start <= pos {
			i = h
		} else {
			j = h
		}
	}
	return i
}

// at returns the valid places of the byte at pos.
func (x *index) at(pos uint64) Set {
	if x.tree != nil {
		return x.tree.at(pos)
	}
	return x.slice[x.find(pos)].valid
}

// meet returns which of the places are valid in every byte of the range.
func (x *index) meet(lo, hi uint64, places Set) Set {
	if x.tree != nil {
		return x.tree.root.meet(lo, hi, places)
	}
	for i := x.find(lo); i < len(x.slice) && x.slice[i].start < hi && places != 0; i++ {
		places &= x.slice[i].valid
	}
	return places
}

// fold sums up the intervals of [lo, hi).
func (x *index) fold(lo, hi uint64) summary {
	if x.tree != nil {
		s := summary{all: ^Set(0)}
		x.tree.root.fold(lo, hi, &s)
		return s
	}
	i := x.find(lo)
	s := summaryOf(x.slice[i].valid)
	for i++; i < len(x.slice) && x.slice[i].start < hi; i++ {
		s.add(summaryOf(x.slice[i].valid))
	}
	return s
}

func (x *index) whole() summary {
	if x.tree != nil {
		return x.tree.root.sum
	}
	return x.fold(0, ^uint64(0))
}

// walk yields the intervals that the filter takes, clipped to the range.
func (x *index) walk(lo, hi, size uint64, f filter, yield func(lo, hi uint64, valid Set) bool) {
	if x.tree != nil {
		x.tree.root.walk(lo, hi, size, f, yield)
		return
	}
	for i := x.find(lo); i < len(x.slice) && x.slice[i].start < hi; i++ {
		end := size
		if i+1 < len(x.slice) {
			end = x.slice[i+1].start
		}
		if v := x.slice[i].valid; f.takes(v) && !yield(max(lo, x.slice[i].start), min(hi, end), v) {
			return
		}
	}
}

// update applies the effects to [lo, hi). It skips intervals that do not change, and replaces the others in batches.
func (x *index) update(lo, hi, size uint64, p Place, e effects) {
	changing := e.changing()
	for lo < hi {
		first, found := lo, false
		x.walk(lo, hi, size, filter{p, changing}, func(lo, hi uint64, valid Set) bool {
			first, found = lo, e.on(valid, p) != valid
			return !found
		})
		if !found {
			return
		}
		if valid, ok := e.constant(p); ok {
			x.scratch = append(x.scratch[:0], interval{first, valid})
			x.replace(first, hi, size)
			return
		}
		lo = x.batch(first, hi, size, p, &e)
	}
}

// batch changes the intervals from lo on, the first of which needs a change. It stops at hi, or before idle successive intervals
// that need none, and returns where it stopped.
func (x *index) batch(lo, hi, size uint64, p Place, e *effects) uint64 {
	buf := x.scratch[:0]
	end, kept, unchanged := lo, 0, 0
	x.walk(lo, hi, size, everything, func(lo, hi uint64, valid Set) bool {
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
	x.scratch = buf[:kept]
	x.replace(lo, end, size)
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
func (x *index) replace(lo, hi, size uint64) {
	runs := x.scratch
	last := runs[len(runs)-1].valid
	end := hi
	if hi < size {
		if v := x.at(hi); v != last {
			runs = append(runs, interval{hi, v})
		}
		end = hi + 1
	}
	x.scratch = runs
	if lo > 0 && x.at(lo-1) == runs[0].valid {
		runs = runs[1:]
	}
	x.splice(lo, end, runs)
	if cap(x.scratch) > 4*sliceMax {
		x.scratch = nil
	}
}

// splice replaces the intervals that start in [a, b) by others that start there.
func (x *index) splice(a, b uint64, runs []interval) {
	if x.tree != nil {
		x.tree.splice(a, b, runs)
		if x.tree.count <= sliceMax/4 {
			x.slice = x.tree.appendTo(x.slice[:0])
			x.tree = nil
		}
		return
	}
	byStart := func(v interval, pos uint64) int {
		if v.start < pos {
			return -1
		}
		return 1
	}
	i, _ := slices.BinarySearchFunc(x.slice, a, byStart)
	j, _ := slices.BinarySearchFunc(x.slice, b, byStart)
	x.slice = slices.Replace(x.slice, i, j, runs...)
	if len(x.slice) > sliceMax {
		x.tree = newTree(x.slice)
		x.slice = x.slice[:0]
		if cap(x.slice) > 4*sliceMax {
			x.slice = nil
		}
	}
}

func (x *index) check(size uint64, allocated Set) error {
	var prev interval
	next, n := uint64(0), 0
	var err error
	x.walk(0, size, size, everything, func(lo, hi uint64, valid Set) bool {
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
	case n != x.len():
		return fmt.Errorf("protocol: %d intervals counted as %d", n, x.len())
	case x.tree != nil:
		return x.tree.check()
	}
	return nil
}
