// Package span stores values by ranges of bytes, which may overlap, and finds the values whose ranges overlap a given range.
//
// A [Tree] is a treap ordered by the beginnings of the ranges. Each node has the largest end, and the smallest and the largest
// sequence number, of itself and the nodes below it, so a search can skip whole branches. With n nodes an insertion and a
// deletion take O(log n), and a search takes O(log n) for each node that it finds.
package span

// Range is the bytes [Lo, Hi).
type Range struct{ Lo, Hi uint64 }

// Tree holds nodes, each with a half-open range [Lo, Hi) of bytes and a value. Its zero value is empty. It is not safe for concurrent use.
type Tree[V any] struct {
	root  *Node[V]
	n     int
	steps int
	rand  uint32
}

// Node is one range of a tree. After [Tree.Insert] only the tree changes the range.
type Node[V any] struct {
	Lo, Hi uint64 // bytes
	Seq    uint64 // chosen by the caller of Insert
	Value  V

	parent, left, right *Node[V]
	priority            uint32

	// Of the node and all nodes below it.
	end           uint64 // the largest Hi
	first, latest uint64 // the smallest and the largest Seq
}

// Len is the number of nodes.
func (t *Tree[V]) Len() int { return t.n }

// Steps returns the number of nodes that the tree has examined so far. Tests measure with it how costs grow.
func (t *Tree[V]) Steps() int { return t.steps }

// Insert puts a node, whose range and Seq are set, into the tree. The range is not empty.
func (t *Tree[V]) Insert(n *Node[V]) {
	t.n++
	n.parent, n.left, n.right = nil, nil, nil
	n.sum()
	if t.root == nil {
		t.root = n
		return
	}
	// A xorshift generator is good enough here, and gives the same sequence in each run.
	if t.rand == 0 {
		t.rand = 2463534242
	}
	t.rand ^= t.rand << 13
	t.rand ^= t.rand >> 17
	t.rand ^= t.rand << 5
	n.priority = t.rand
	at := t.root
	for {
		t.steps++
		at.end, at.first, at.latest = max(at.end, n.Hi), min(at.first, n.Seq), max(at.latest, n.Seq)
		next := &at.right
		if n.Lo < at.Lo {
			next = &at.left
		}
		if *next == nil {
			*next = n
			n.parent = at
			break
		}
		at = *next
	}
	for n.parent != nil && n.parent.priority < n.priority {
		t.steps++
		t.lift(n)
	}
}

// lift rotates n above its parent.
func (t *Tree[V]) lift(n *Node[V]) {
	p, g := n.parent, n.parent.parent
	if p.left == n {
		p.left = n.right
		if p.left != nil {
			p.left.parent = p
		}
		n.right = p
	} else {
		p.right = n.left
		if p.right != nil {
			p.right.parent = p
		}
		n.left = p
	}
	p.parent = n
	t.hang(p, n, g)
	p.sum()
	n.sum()
}

// hang puts n, which may be nil, in the place of old below parent.
func (t *Tree[V]) hang(old, n, parent *Node[V]) {
	switch {
	case parent == nil:
		t.root = n
	case parent.left == old:
		parent.left = n
	default:
		parent.right = n
	}
	if n != nil {
		n.parent = parent
	}
}

// sum computes end, first and latest of a node from those of its children.
func (n *Node[V]) sum() {
	n.end, n.first, n.latest = n.Hi, n.Seq, n.Seq
	if c := n.left; c != nil {
		n.end, n.first, n.latest = max(n.end, c.end), min(n.first, c.first), max(n.latest, c.latest)
	}
	if c := n.right; c != nil {
		n.end, n.first, n.latest = max(n.end, c.end), min(n.first, c.first), max(n.latest, c.latest)
	}
}

// Delete takes a node out of the tree.
func (t *Tree[V]) Delete(n *Node[V]) {
	t.n--
	for n.left != nil && n.right != nil {
		t.steps++
		if n.left.priority > n.right.priority {
			t.lift(n.left)
		} else {
			t.lift(n.right)
		}
	}
	child := n.left
	if child == nil {
		child = n.right
	}
	p := n.parent
	t.hang(n, child, p)
	for ; p != nil; p = p.parent {
		t.steps++
		p.sum()
	}
	n.parent, n.left, n.right = nil, nil, nil
}

// Cut reduces a node's range to [lo, hi), which is a part of it and not empty.
func (t *Tree[V]) Cut(n *Node[V], lo, hi uint64) {
	if n.parent == nil && n.left == nil && n.right == nil {
		n.Lo, n.Hi = lo, hi
		n.sum()
		return
	}
	t.Delete(n)
	n.Lo, n.Hi = lo, hi
	t.Insert(n)
}

// Meeting appends the nodes that have a byte of [lo, hi) to dst, in the order of their beginnings. An empty range has no byte.
func (t *Tree[V]) Meeting(lo, hi uint64, dst []*Node[V]) []*Node[V] {
	if t.root == nil || lo >= hi {
		return dst
	}
	return t.meeting(t.root, lo, hi, dst)
}

func (t *Tree[V]) meeting(n *Node[V], lo, hi uint64, dst []*Node[V]) []*Node[V] {
	t.steps++
	if n.left != nil && n.left.end > lo {
		dst = t.meeting(n.left, lo, hi, dst)
	}
	if n.Lo >= hi {
		return dst
	}
	if n.Hi > lo {
		dst = append(dst, n)
	}
	if n.right != nil && n.right.end > lo {
		dst = t.meeting(n.right, lo, hi, dst)
	}
	return dst
}

// Latest returns, of the nodes that have a byte of [lo, hi) and a Seq below before, the one with the largest Seq, or nil.
func (t *Tree[V]) Latest(lo, hi, before uint64) *Node[V] {
	if t.root == nil || lo >= hi {
		return nil
	}
	return t.last(t.root, lo, hi, before, nil)
}

func (t *Tree[V]) last(n *Node[V], lo, hi, before uint64, best *Node[V]) *Node[V] {
	t.steps++
	if n.end <= lo || n.first >= before || best != nil && n.latest <= best.Seq {
		return best
	}
	if n.Lo < hi && lo < n.Hi && n.Seq < before && (best == nil || n.Seq > best.Seq) {
		best = n
	}
	a, b := n.left, n.right
	if n.Lo >= hi {
		b = nil
	}
	if a != nil && b != nil && b.latest > a.latest {
		a, b = b, a
	}
	if a != nil {
		best = t.last(a, lo, hi, before, best)
	}
	if b != nil {
		best = t.last(b, lo, hi, before, best)
	}
	return best
}

// Any returns some node that has a byte of [lo, hi), or nil.
func (t *Tree[V]) Any(lo, hi uint64) *Node[V] {
	if lo >= hi {
		return nil
	}
	for n := t.root; n != nil; {
		t.steps++
		switch {
		case n.Lo < hi && lo < n.Hi:
			return n
		case n.left != nil && n.left.end > lo:
			// Some node on the left ends after lo. If it does not overlap the range, it begins at hi or later, and so do n and all nodes on
			// its right. So the search can go left in any case.
			n = n.left
		case n.Lo >= hi:
			return nil
		default:
			n = n.right
		}
	}
	return nil
}
