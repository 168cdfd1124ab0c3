package host

import "math/rand/v2"

// cover counts, for each address, how many of the spans that were added include it. It is a treap of pieces that do not overlap;
// adjacent pieces have different counts. With n pieces, each method takes O(log n) for itself and for each piece inside its span.
type cover struct {
	root   *piece
	pieces int
	steps  int // pieces looked at, for tests of growth
}

// piece is a span whose addresses all have the same count.
type piece struct {
	span
	count       int
	weight      uint32 // no piece below is heavier
	left, right *piece
}

func (c *cover) piece(from, to uintptr, count int) *piece {
	c.pieces++
	return &piece{span: span{from, to}, count: count, weight: rand.Uint32()}
}

// split parts the pieces that begin before at from the others.
func (c *cover) split(p *piece, at uintptr) (before, behind *piece) {
	if p == nil {
		return nil, nil
	}
	c.steps++
	if p.from < at {
		p.right, behind = c.split(p.right, at)
		return p, behind
	}
	before, p.left = c.split(p.left, at)
	return before, p
}

// join is the opposite of split.
func (c *cover) join(before, behind *piece) *piece {
	switch {
	case before == nil:
		return behind
	case behind == nil:
		return before
	}
	c.steps++
	if before.weight > behind.weight {
		before.right = c.join(before.right, behind)
		return before
	}
	behind.left = c.join(before, behind.left)
	return behind
}

// mend is like join, but makes one piece of the last of before and the first of behind if they are adjacent and have the same count.
func (c *cover) mend(before, behind *piece) *piece {
	if before == nil || behind == nil {
		return c.join(before, behind)
	}
	last, first := before, behind
	for ; last.right != nil; last = last.right {
		c.steps++
	}
	for ; first.left != nil; first = first.left {
		c.steps++
	}
	if last.to == first.from && last.count == first.count {
		_, behind = c.split(behind, first.from+1)
		last.to = first.to
		c.pieces--
	}
	return c.join(before, behind)
}

// cut makes two pieces of the one that contains at, so that a piece begins there.
func (c *cover) cut(at uintptr) {
	before, behind := c.split(c.root, at)
	last := before
	for ; last != nil && last.right != nil; last = last.right {
		c.steps++
	}
	if last != nil && last.to > at {
		behind = c.join(c.piece(at, last.to, last.count), behind)
		last.to = at
	}
	c.root = c.join(before, behind)
}

// replace calls fn with the pieces inside the span, in order, and puts what fn returns in their place.
func (c *cover) replace(s span, fn func(inside []*piece) []*piece) {
	c.cut(s.from)
	c.cut(s.to)
	before, rest := c.split(c.root, s.from)
	middle, behind := c.split(rest, s.to)
	var inside []*piece
	var walk func(*piece)
	walk = func(p *piece) {
		if p == nil {
			return
		}
		c.steps++
		walk(p.left)
		right := p.right
		p.left, p.right = nil, nil
		inside = append(inside, p)
		walk(right)
	}
	walk(middle)
	middle = nil
	for _, p := range fn(inside) {
		middle = c.join(middle, p)
	}
	c.root = c.mend(c.mend(before, middle), behind)
}

// gaps returns the parts of s that are in no piece, in order.
func gaps(s span, inside []*piece) (list []span) {
	for _, p := range inside {
		if s.from < p.from {
			list = append(list, span{s.from, p.from})
		}
		s.from = p.to
	}
	if s.from < s.to {
		list = append(list, s)
	}
	return list
}

// add adds a span.
func (c *cover) add(s span) {
	c.replace(s, func(inside []*piece) (all []*piece) {
		at := s.from
		for _, p := range inside {
			if at < p.from {
				all = append(all, c.piece(at, p.from, 1))
			}
			p.count++
			all = append(all, p)
			at = p.to
		}
		if at < s.to {
			all = append(all, c.piece(at, s.to, 1))
		}
		return all
	})
}

// remove takes back one add of the same span, and returns the parts that no other span includes, in order.
func (c *cover) remove(s span) (loose []span) {
	c.replace(s, func(inside []*piece) (left []*piece) {
		for _, p := range inside {
			if p.count--; p.count == 0 {
				loose = append(loose, p.span)
				c.pieces--
			} else {
				left = append(left, p)
			}
		}
		return left
	})
	return loose
}

// free returns the parts of s that are in no span, in order.
func (c *cover) free(s span) (list []span) {
	c.replace(s, func(inside []*piece) []*piece {
		list = gaps(s, inside)
		return inside
	})
	return list
}
