package protocol

const (
	// spareMax is the number of unused nodes that a tree keeps.
	spareMax = 1024
	// spareAlone is how many of them stay when one interval is left.
	spareAlone = 8
)

// tree holds intervals that cover [0, size), sorted, each different from its neighbours. It is a treap ordered by the starts of the
// intervals: no node has a higher priority than its parent. Priorities are random, so with n intervals the depth is O(log n).
type tree struct {
	root    *node
	count   int // intervals
	rand    uint32
	spare   *node // unused nodes, linked by right
	spares  int
	scratch []interval
}

// node is one interval.
type node struct {
	interval
	sum         summary // of the node and all nodes below it
	left, right *node
	priority    uint32
}

// reset sets the only interval. It is for a tree that has one interval, or none yet.
func (t *tree) reset(valid Set) {
	if t.root == nil {
		t.root = t.newNode(interval{})
	}
	t.root.valid, t.root.sum = valid, summaryOf(valid)
}

func (t *tree) newNode(v interval) *node {
	n := t.spare
	if n == nil {
		n = new(node)
	} else {
		t.spare = n.right
		t.spares--
	}
	// A xorshift generator is good enough here, and gives the same sequence in each run.
	if t.rand == 0 {
		t.rand = 2463534242
	}
	t.rand ^= t.rand << 13
	t.rand ^= t.rand >> 17
	t.rand ^= t.rand << 5
	*n = node{interval: v, sum: summaryOf(v.valid), priority: t.rand}
	t.count++
	return n
}

// release takes n and all nodes below it out of use. It keeps nodes for reuse, up to spareMax.
func (t *tree) release(n *node) {
	for n != nil {
		t.release(n.left)
		next := n.right
		t.count--
		if t.spares < spareMax {
			n.left, n.right, t.spare = nil, t.spare, n
			t.spares++
		}
		n = next
	}
}

// resum computes the summary of a node from those of its children.
func (n *node) resum() {
	n.sum = summaryOf(n.valid)
	if n.left != nil {
		n.sum.add(n.left.sum)
	}
	if n.right != nil {
		n.sum.add(n.right.sum)
	}
}

// cut divides the nodes below n, which may be nil, into those that start before pos and the others.
func (n *node) cut(pos uint64) (before, after *node) {
	switch {
	case n == nil:
		return nil, nil
	case n.start < pos:
		n.right, after = n.right.cut(pos)
		n.resum()
		return n, after
	}
	before, n.left = n.left.cut(pos)
	n.resum()
	return before, n
}

// join makes one tree of two, either of which may be nil. All nodes of a start before those of b.
func join(a, b *node) *node {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.priority >= b.priority:
		a.right = join(a.right, b)
		a.resum()
		return a
	}
	b.left = join(a, b.left)
	b.resum()
	return b
}

// at returns the valid places of the byte at pos.
func (t *tree) at(pos uint64) (valid Set) {
	for n := t.root; n != nil; {
		if n.start <= pos {
			valid, n = n.valid, n.right
		} else {
			n = n.left
		}
	}
	return valid
}

// fold returns the summary of the intervals that have a byte of [lo, hi).
func (t *tree) fold(lo, hi uint64) summary {
	var first Set // the valid places at lo
	n := t.root
	for n != nil && (n.start <= lo || n.start >= hi) {
		if n.start <= lo {
			first, n = n.valid, n.right
		} else {
			n = n.left
		}
	}
	if n == nil {
		return summaryOf(first)
	}
	// n is the highest node that starts behind lo and before hi. All nodes on its left start before hi, all on its right behind lo.
	s := summaryOf(n.valid)
	for k := n.left; k != nil; {
		if k.start <= lo {
			first, k = k.valid, k.right
			continue
		}
		s.addWith(k.valid, k.right)
		k = k.left
	}
	for k := n.right; k != nil; {
		if k.start >= hi {
			k = k.left
			continue
		}
		s.addWith(k.valid, k.left)
		k = k.right
	}
	s.add(summaryOf(first))
	return s
}

// addWith adds an interval, and a node, which may be nil, with all nodes below it.
func (s *summary) addWith(valid Set, below *node) {
	s.add(summaryOf(valid))
	if below != nil {
		s.add(below.sum)
	}
}

// walk yields intervals below n, which may be nil. The last of them ends at end. It reports whether to go on.
func (n *node) walk(lo, hi, end uint64, f filter, yield func(lo, hi uint64, valid Set) bool) bool {
	for n != nil && f.mayTake(n.sum) {
		if n.start > lo && !n.left.walk(lo, hi, n.start, f, yield) {
			return false
		}
		if n.start >= hi {
			return true
		}
		stop := end
		for next := n.right; next != nil; next = next.left {
			stop = next.start
		}
		if stop > lo && f.takes(n.valid) && !yield(max(lo, n.start), min(hi, stop), n.valid) {
			return false
		}
		n = n.right
	}
	return true
}

// splice replaces the intervals that start in [a, b) by others that start there. Afterwards one interval starts at 0.
func (t *tree) splice(a, b uint64, runs []interval) {
	before, rest := t.root.cut(a)
	old, after := rest.cut(b)
	t.release(old)
	for _, v := range runs {
		before = join(before, t.newNode(v))
	}
	t.root = join(before, after)
}

// idle is the number of successive unchanged intervals after which an update stops copying them, because a search for the
// next interval that changes is cheaper.
const idle = 64

// scratchMax is the number of intervals whose memory is kept from one update to the next.
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
