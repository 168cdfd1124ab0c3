package protocol

const (
	// width is the number of entries of a full node.
	width = 32
	// mergeMax is the number of entries up to which two neighbours become one node. It is less
	// than width, so that a node which was just merged is not split again at once.
	mergeMax = width * 3 / 4
	// spareMax is the number of unused nodes of either sort that a tree keeps.
	spareMax = 32
)

// tree holds intervals that cover [0, size), sorted, each different from its neighbours. It is a B+ tree whose branches keep a summary of
// each child. Any two neighbours under one branch have more than mergeMax entries between them, which bounds the depth. Few intervals
// are a single leaf.
type tree struct {
	root     *node
	count    int     // intervals
	stack    []*node // nodes that a splice has finished and not yet placed
	leaves   []*node // unused
	branches []*node // unused
	scratch  []interval
}

// node is a leaf, whose entries are intervals, or a branch, whose entries are children.
type node struct {
	n     int
	kids  *kids // nil in a leaf
	sum   summary
	start [width]uint64
	all   [width]Set // in a leaf an interval's valid places, in a branch the places valid in all of a child
}

type kids struct {
	any  [width]Set
	hole [width]bool
	node [width]*node
}

// reset leaves a single interval. There is none yet, or one.
func (t *tree) reset(valid Set) {
	if t.root == nil {
		t.root = t.newLeaf()
	}
	t.root.n, t.root.start[0], t.root.all[0], t.count = 1, 0, valid, 1
	t.root.resum()
}

func (t *tree) newLeaf() *node {
	if k := len(t.leaves); k > 0 {
		n := t.leaves[k-1]
		t.leaves = t.leaves[:k-1]
		return n
	}
	return new(node)
}

func (t *tree) newBranch() *node {
	if k := len(t.branches); k > 0 {
		n := t.branches[k-1]
		t.branches = t.branches[:k-1]
		return n
	}
	return &node{kids: new(kids)}
}

// free keeps a node for reuse, or drops it if enough are kept.
func (t *tree) free(n *node) {
	n.n = 0
	switch {
	case n.kids == nil:
		if len(t.leaves) < spareMax {
			t.leaves = append(t.leaves, n)
		}
	default:
		clear(n.kids.node[:])
		if len(t.branches) < spareMax {
			t.branches = append(t.branches, n)
		}
	}
}

// release frees a node and all nodes below it, and subtracts their intervals from the count.
func (t *tree) release(n *node) {
	if n.kids == nil {
		t.count -= n.n
	} else {
		for _, kid := range n.kids.node[:n.n] {
			t.release(kid)
		}
	}
	t.free(n)
}

// find returns the entry of the node that contains the byte at pos, or the first if all start after it.
func (n *node) find(pos uint64) int {
	i, j := 0, n.n
	for j-i > 1 {
		if h := int(uint(i+j)>>1) % width; n.start[h] <= pos {
			i = h
		} else {
			j = h
		}
	}
	return i
}

// from returns the first entry that starts at or after pos.
func (n *node) from(pos uint64) int {
	i := n.find(pos)
	if n.n > 0 && n.start[i] < pos {
		i++
	}
	return i
}

func (t *tree) at(pos uint64) Set {
	n := t.root
	for n.kids != nil {
		n = n.kids.node[n.find(pos)]
	}
	return n.all[n.find(pos)]
}

// entry is the summary of one entry.
func (n *node) entry(i int) summary {
	if n.kids == nil {
		return summaryOf(n.all[i])
	}
	return summary{n.all[i], n.kids.any[i], n.kids.hole[i]}
}

// meet returns which of the places are valid in every byte of [lo, hi), which lies in the node.
func (n *node) meet(lo, hi uint64, places Set) Set {
	i, j := n.find(lo), n.find(hi-1)
	for n.kids != nil && i == j {
		n = n.kids.node[i]
		i, j = n.find(lo), n.find(hi-1)
	}
	if n.kids != nil {
		if places = n.kids.node[i].meet(lo, hi, places); places == 0 {
			return 0
		}
		if places = n.kids.node[j].meet(lo, hi, places); places == 0 {
			return 0
		}
		i, j = i+1, j-1
	}
	for ; i <= j; i++ {
		places &= n.all[i]
	}
	return places
}

// fold adds the intervals of [lo, hi) to the summary s.
func (n *node) fold(lo, hi uint64, s *summary) {
	i, j := n.find(lo), n.find(hi-1)
	if n.kids != nil {
		n.kids.node[i].fold(lo, hi, s)
		if i != j {
			n.kids.node[j].fold(lo, hi, s)
		}
		i, j = i+1, j-1
	}
	for ; i <= j; i++ {
		s.add(n.entry(i))
	}
}

// walk yields intervals of a node that ends at end. It reports whether to go on.
func (n *node) walk(lo, hi, end uint64, f filter, yield func(lo, hi uint64, valid Set) bool) bool {
	for i := n.find(lo); i < n.n && n.start[i] < hi; i++ {
		stop := end
		if i+1 < n.n {
			stop = n.start[i+1]
		}
		switch {
		case n.kids == nil:
			if f.takes(n.all[i]) && !yield(max(lo, n.start[i]), min(hi, stop), n.all[i]) {
				return false
			}
		case f.mayTake(n.entry(i)):
			if !n.kids.node[i].walk(lo, hi, stop, f, yield) {
				return false
			}
		}
	}
	return true
}

// resum computes the summary of a node from its entries.
func (n *node) resum() {
	n.sum = n.entry(0)
	for i := 1; i < n.n; i++ {
		n.sum.add(n.entry(i))
	}
}

func (n *node) setKid(i int, kid *node) {
	n.start[i], n.all[i] = kid.start[0], kid.sum.all
	n.kids.any[i], n.kids.hole[i], n.kids.node[i] = kid.sum.any, kid.sum.hole, kid
}

// absorb appends the entries of n's neighbour on the right, r, to n, and frees r. The last child of n and the first of r become
// neighbours, and are merged too if they are small enough.
func (t *tree) absorb(n, r *node) {
	seam := n.n
	copy(n.start[seam:], r.start[:r.n])
	copy(n.all[seam:], r.all[:r.n])
	n.n += r.n
	n.sum.add(r.sum)
	if n.kids != nil {
		copy(n.kids.any[seam:], r.kids.any[:r.n])
		copy(n.kids.hole[seam:], r.kids.hole[:r.n])
		copy(n.kids.node[seam:], r.kids.node[:r.n])
		if left, right := n.kids.node[seam-1], n.kids.node[seam]; left.n+right.n <= mergeMax {
			t.absorb(left, right)
			n.setKid(seam-1, left)
			n.move(seam, seam+1, 0)
		}
	}
	t.free(r)
}

// move makes room for count entries in the place of [i, j).
func (n *node) move(i, j, count int) {
	if i+count != j {
		copy(n.start[i+count:], n.start[j:n.n])
		copy(n.all[i+count:], n.all[j:n.n])
		if n.kids != nil {
			copy(n.kids.any[i+count:], n.kids.any[j:n.n])
			copy(n.kids.hole[i+count:], n.kids.hole[j:n.n])
			copy(n.kids.node[i+count:], n.kids.node[j:n.n])
		}
	}
	was := n.n
	n.n += count - (j - i)
	if n.kids != nil && n.n < was {
		clear(n.kids.node[n.n:was])
	}
}

// splice replaces the intervals that start in [a, b) by others that start there. Afterwards one interval starts at 0.
func (t *tree) splice(a, b uint64, runs []interval) {
	t.rewrite(t.root, a, b, runs)
	t.finish()
}

// finish makes a root of the nodes on the stack.
func (t *tree) finish() {
	for len(t.stack) > 1 {
		t.group(t.newBranch(), 0)
	}
	t.root = t.stack[0]
	t.stack = t.stack[:0]
	for t.root.kids != nil && t.root.n == 1 {
		only := t.root.kids.node[0]
		t.free(t.root)
		t.root = only
	}
}

// rewrite splices below n and pushes the nodes that replace it: none, n itself, or several.
func (t *tree) rewrite(n *node, a, b uint64, runs []interval) {
	if n.kids == nil {
		t.rewriteLeaf(n, a, b, runs)
		return
	}
	i, j := n.find(a), n.find(b-1)
	first, last := max(i-1, 0), min(j+1, n.n-1)
	base := len(t.stack)
	if first < i {
		t.stack = append(t.stack, n.kids.node[first])
	}
	t.rewrite(n.kids.node[i], a, b, runs)
	for k := i + 1; k < j; k++ {
		t.release(n.kids.node[k])
	}
	if i < j {
		t.rewrite(n.kids.node[j], a, b, nil)
	}
	if j < last {
		t.stack = append(t.stack, n.kids.node[last])
	}
	t.compact(base)

	done := t.stack[base:]
	count := n.n - (last + 1 - first) + len(done)
	switch {
	case count == 0:
		t.free(n)
	case count <= width:
		n.move(first, last+1, len(done))
		for k, kid := range done {
			n.setKid(first+k, kid)
		}
		n.resum()
		t.stack = append(t.stack[:base], n)
	default:
		// The children go on the stack in order and are grouped into as many nodes as they fill.
		var tail [width]*node
		rest := copy(tail[:], n.kids.node[last+1:n.n])
		for range first {
			t.stack = append(t.stack, nil)
		}
		copy(t.stack[base+first:], done)
		copy(t.stack[base:], n.kids.node[:first])
		t.stack = append(t.stack, tail[:rest]...)
		t.group(n, base)
	}
}

// compact merges small neighbours on the stack from base up.
func (t *tree) compact(base int) {
	done := t.stack[base:]
	kept := 0
	for _, n := range done {
		if kept > 0 && done[kept-1].n+n.n <= mergeMax {
			t.absorb(done[kept-1], n)
			continue
		}
		done[kept] = n
		kept++
	}
	t.stack = t.stack[:base+kept]
}

// parts returns the number of nodes for count entries. Beyond what two nodes hold, each node is left room to grow.
func parts(count int) int {
	switch {
	case count <= width:
		return 1
	case count <= 2*width:
		return 2
	}
	return (count + mergeMax - 1) / mergeMax
}

// group puts the nodes on the stack from base up under branches, the first of which is n, and leaves the branches on the stack instead.
func (t *tree) group(n *node, base int) {
	count := len(t.stack) - base
	k := parts(count)
	for part := range k {
		if part > 0 {
			n = t.newBranch()
		}
		lo, hi := count*part/k, count*(part+1)/k
		for i, kid := range t.stack[base+lo : base+hi] {
			n.setKid(i, kid)
		}
		clear(n.kids.node[hi-lo:])
		n.n = hi - lo
		n.resum()
		t.stack[base+part] = n
	}
	clear(t.stack[base+k:])
	t.stack = t.stack[:base+k]
}

func (t *tree) rewriteLeaf(n *node, a, b uint64, runs []interval) {
	i, j := n.from(a), n.from(b)
	count := n.n - (j - i) + len(runs)
	t.count += count - n.n
	switch {
	case count == 0:
		t.free(n)
		return
	case count <= width:
		n.move(i, j, len(runs))
		for k, v := range runs {
			n.start[i+k], n.all[i+k] = v.start, v.valid
		}
		n.resum()
		t.stack = append(t.stack, n)
		return
	}
	start, all := n.start, n.all
	t.fill(n, count, func(k int) interval {
		switch {
		case k < i:
			return interval{start[k], all[k]}
		case k < i+len(runs):
			return runs[k-i]
		}
		k += j - i - len(runs)
		return interval{start[k], all[k]}
	})
}

// fill puts count intervals into leaves, the first of which is n, and pushes them.
func (t *tree) fill(n *node, count int, get func(i int) interval) {
	k := parts(count)
	for part := range k {
		if part > 0 {
			n = t.newLeaf()
		}
		lo, hi := count*part/k, count*(part+1)/k
		for i := lo; i < hi; i++ {
			v := get(i)
			n.start[i-lo], n.all[i-lo] = v.start, v.valid
		}
		n.n = hi - lo
		n.resum()
		t.stack = append(t.stack, n)
	}
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
