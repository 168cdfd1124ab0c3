package protocol

import "fmt"

// NewMap returns a map of size bytes. None of them was ever written, and no place has memory for
// them.
func NewMap(size uint64) *Map {
	m := new(Map)
	m.Init(size)
	return m
}

// Check verifies what every method maintains: the intervals are sorted and disjoint, cover the map,
// differ from their neighbours and are valid only where memory is allocated, and their summaries
// are right.
func (m *Map) Check() error {
	if !m.split {
		if m.one&^m.allocated != 0 {
			return fmt.Errorf("protocol: valid %v, allocated %v", m.one, m.allocated)
		}
		return nil
	}
	return m.tree.check(m.size, m.allocated)
}

// String lists the intervals, for debugging.
func (m *Map) String() string {
	s := fmt.Sprintf("allocated %v", m.allocated)
	m.Runs(0, m.size, func(lo, hi uint64, valid Set) bool {
		s += fmt.Sprintf(" [%d,%d)%v", lo, hi, valid)
		return true
	})
	return s
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

// check verifies depth, keys, summaries and occupancy.
func (n *node) check() (depth int, err error) {
	if n.n < 1 || n.n > width {
		return 0, fmt.Errorf("protocol: a node of %d entries", n.n)
	}
	sum := n.entry(0)
	for i := range n.n {
		sum.add(n.entry(i))
		if n.kids == nil {
			continue
		}
		kid := n.kids.node[i]
		d, err := kid.check()
		switch {
		case err != nil:
			return 0, err
		case i > 0 && d != depth:
			return 0, fmt.Errorf("protocol: leaves at depths %d and %d", d, depth)
		case kid.start[0] != n.start[i] || kid.sum != n.entry(i):
			return 0, fmt.Errorf("protocol: child at %d is kept as %d %v, is %v", kid.start[0], n.start[i], n.entry(i), kid.sum)
		case i > 0 && n.kids.node[i-1].n+kid.n <= mergeMax:
			return 0, fmt.Errorf("protocol: neighbours of %d and %d entries", n.kids.node[i-1].n, kid.n)
		}
		depth = d
	}
	if sum != n.sum {
		return 0, fmt.Errorf("protocol: summary %v is kept as %v", sum, n.sum)
	}
	return depth + 1, nil
}
