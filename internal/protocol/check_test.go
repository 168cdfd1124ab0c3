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
	}
	spares := 0
	for n := t.spare; n != nil; n = n.right {
		spares++
	}
	if spares != t.spares || spares > spareMax {
		return fmt.Errorf("protocol: %d unused nodes counted as %d", spares, t.spares)
	}
	_, err = t.root.check(0, size)
	return err
}

// check verifies order, priorities and summaries below n, whose intervals start in [lo, hi), and returns the depth.
func (n *node) check(lo, hi uint64) (depth int, err error) {
	if n == nil {
		return 0, nil
	}
	if n.start < lo || n.start >= hi {
		return 0, fmt.Errorf("protocol: an interval starts at %d, outside of [%d, %d)", n.start, lo, hi)
	}
	left, err := n.left.check(lo, n.start)
	if err != nil {
		return 0, err
	}
	right, err := n.right.check(n.start+1, hi)
	if err != nil {
		return 0, err
	}
	for _, kid := range []*node{n.left, n.right} {
		if kid != nil && kid.priority > n.priority {
			return 0, fmt.Errorf("protocol: priority %d below %d", kid.priority, n.priority)
		}
	}
	was := n.sum
	if n.resum(); n.sum != was {
		return 0, fmt.Errorf("protocol: summary %v is kept as %v", n.sum, was)
	}
	return max(left, right) + 1, nil
}
