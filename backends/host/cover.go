package host

import "github.com/go-halyard/halyard/internal/span"

// cover holds ranges of addresses, which may overlap, and knows which addresses are in none of them. A method takes O(log n) with n ranges,
// and O(log n) more for each range that meets its own: these share a page with it, or overlap it.
type cover struct{ held span.Tree[struct{}] }

// add adds a range.
func (c *cover) add(r span.Range) { c.held.Insert(&span.Node[struct{}]{Lo: r.Lo, Hi: r.Hi}) }

// remove takes back one add of the same range, and returns the parts that are in no other range, in order.
func (c *cover) remove(r span.Range) (loose []span.Range) {
	for _, n := range c.held.Meeting(r.Lo, r.Hi, nil) {
		if n.Lo == r.Lo && n.Hi == r.Hi {
			c.held.Delete(n)
			return c.free(r)
		}
	}
	return nil
}

// free returns the parts of r that are in no range, in order.
func (c *cover) free(r span.Range) (list []span.Range) {
	at := r.Lo
	for _, n := range c.held.Meeting(r.Lo, r.Hi, nil) {
		if at < n.Lo {
			list = append(list, span.Range{Lo: at, Hi: n.Lo})
		}
		at = max(at, n.Hi)
	}
	if at < r.Hi {
		list = append(list, span.Range{Lo: at, Hi: r.Hi})
	}
	return list
}
