package part

import (
	"math"
	"slices"
	"sort"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

// Layout says which rank owns which elements. All ranks give the same one.
type Layout struct {
	shape, procs []int
	cuts         []int // of Starts
}

// Block divides n elements among all ranks of the communicator, in order. The first n modulo Size ranks have one element more.
func Block(n int) Layout { return Layout{shape: []int{n}} }

// Starts gives rank r the elements from starts[r] up to starts[r+1]. The first start is 0, the last is the number of elements, and there is
// one start more than there are ranks. A part may be empty.
func Starts(starts ...int) Layout {
	n := 0
	if len(starts) > 0 {
		n = starts[len(starts)-1]
	}
	return Layout{shape: []int{n}, procs: []int{len(starts) - 1}, cuts: slices.Clone(starts)}
}

// Grid divides a grid of one to three dimensions among a grid of ranks. Elements and ranks are numbered in row-major order: the last
// dimension varies fastest. procs has the number of ranks in each dimension, whose product is the communicator's size. Each dimension is
// divided as [Block] divides.
func Grid(shape, procs []int) Layout {
	return Layout{shape: slices.Clone(shape), procs: slices.Clone(procs)}
}

// grid is a layout for a given number of ranks, with the widths of a halo. It has three dimensions: the last ones are those of the layout,
// and outer ones have extent 1. Unless there are explicit starts, the borders of parts are computed and not stored, so memory and time do
// not grow with the number of ranks.
type grid struct {
	dims                 int // of the layout
	shape, procs, lo, hi [3]int
	periodic             [3]bool
	cuts                 []int // of Starts, unless they divide as Block does: where the parts begin, and the end
}

// on checks the layout for a number of ranks, and returns the grid that it gives them.
func (l Layout) on(op string, ranks int) (*grid, error) {
	bad := func(format string, args ...any) (*grid, error) {
		return nil, driver.Errorf(op, driver.ErrInvalidArgument, format, args...)
	}
	g := &grid{dims: len(l.shape), shape: [3]int{1, 1, 1}, procs: [3]int{1, 1, 1}}
	if g.dims < 1 || g.dims > 3 {
		return bad("a layout of %d dimensions; there may be one to three", g.dims)
	}
	if l.procs == nil {
		l.procs = []int{ranks}
	}
	if len(l.procs) != g.dims {
		return bad("shape %v and processes %v differ in their number of dimensions", l.shape, l.procs)
	}
	copy(g.shape[3-g.dims:], l.shape)
	copy(g.procs[3-g.dims:], l.procs)
	n, p := 1, 1
	for d := range g.shape {
		if g.shape[d] < 1 || g.procs[d] < 1 {
			return bad("shape %v and processes %v; each extent must be at least 1", l.shape, l.procs)
		}
		if g.shape[d] > maxElements/n || g.procs[d] > maxElements/p {
			return bad("shape %v or processes %v have more than %d elements", l.shape, l.procs, maxElements)
		}
		n, p = n*g.shape[d], p*g.procs[d]
	}
	if p != ranks {
		return bad("a layout of %d parts for %d ranks", p, ranks)
	}
	if l.cuts != nil {
		if l.cuts[0] != 0 || !slices.IsSorted(l.cuts) {
			return bad("starts %v do not ascend from 0", l.cuts)
		}
		for i, at := range l.cuts {
			if at != g.cut(2, i) {
				g.cuts = l.cuts
				break
			}
		}
	}
	return g, nil
}

// cut returns where part i of dimension d begins. If i is the number of parts, that is the end of the dimension.
func (g *grid) cut(d, i int) int {
	if g.cuts != nil && d == 2 {
		return g.cuts[i]
	}
	n, p := g.shape[d], g.procs[d]
	return i*(n/p) + min(i, n%p)
}

// maxElements is the most elements of a layout, so that products do not overflow.
const maxElements = min(1<<48, math.MaxInt)

// len is the number of elements.
func (g *grid) len() int { return g.shape[0] * g.shape[1] * g.shape[2] }

// coords are the coordinates of a rank.
func (g *grid) coords(rank int) (at [3]int) {
	for d := 2; d >= 0; d-- {
		at[d] = rank % g.procs[d]
		rank /= g.procs[d]
	}
	return at
}

// part returns the coordinate in dimension d of the parts that have position x. With n explicit starts it takes O(log n) steps, otherwise
// one.
func (g *grid) part(d, x int) int {
	if g.cuts != nil && d == 2 {
		return sort.Search(len(g.cuts)-1, func(i int) bool { return g.cuts[i+1] > x })
	}
	n, p := g.shape[d], g.procs[d]
	if long := n % p * (n/p + 1); x >= long {
		return n%p + (x-long)/(n/p)
	}
	return x / (n/p + 1)
}

// owner returns the rank that owns a global index. The rank owns all indices from there up to end, in one row.
func (g *grid) owner(index int) (rank, end int) {
	rest, stride := index, 1
	for d := 2; d >= 0; d-- {
		x := rest % g.shape[d]
		rest /= g.shape[d]
		c := g.part(d, x)
		if d == 2 {
			end = index + g.cut(d, c+1) - x
		}
		rank += c * stride
		stride *= g.procs[d]
	}
	return rank, end
}

// segment is a stretch of one dimension of a rank's local box.
type segment struct {
	at, n  int // local position, length
	global int
	part   int  // the part that owns it
	mine   bool // it is owned, not a ghost
}

// stretch lists the segments of dimension d of a part, with ghosts of these widths below and above it.
func (g *grid) stretch(d, part, below, above int) (list []segment, total int) {
	n, lo, hi := g.shape[d], g.cut(d, part), g.cut(d, part+1)
	add := func(from, to int) {
		for from < to {
			x := from
			if g.periodic[d] {
				x = ((x % n) + n) % n
			} else if x < 0 {
				from = 0
				continue
			} else if x >= n {
				return
			}
			c := g.part(d, x)
			k := min(to-from, g.cut(d, c+1)-x)
			list = append(list, segment{at: total, n: k, global: x, part: c})
			from += k
			total += k
		}
	}
	add(lo-below, lo)
	list = append(list, segment{at: total, n: hi - lo, global: lo, part: part, mine: true})
	total += hi - lo
	add(hi, hi+above)
	return list, total
}

// run is a stretch of consecutive local elements, which are consecutive in the global numbering as well.
type run struct {
	local, global, n, owner int
	ghost                   bool
}

// empty reports whether the rank with these coordinates owns nothing.
func (g *grid) empty(at [3]int) bool {
	for d := range g.shape {
		if g.cut(d, at[d]) == g.cut(d, at[d]+1) {
			return true
		}
	}
	return false
}

// anyone means all ranks.
const anyone = -1

// walk calls fn for each run of a rank's local box, in ascending order of the local numbering. Unless from is anyone, it passes over runs
// that rank from does not own. It returns the box's extents, all 0 if the rank owns nothing.
func (g *grid) walk(rank, from int, fn func(run)) (total [3]int) {
	at := g.coords(rank)
	if g.empty(at) {
		return total
	}
	var segs [3][]segment
	for d := range segs {
		segs[d], total[d] = g.stretch(d, at[d], g.lo[d], g.hi[d])
		if from != anyone {
			part := g.coords(from)[d]
			segs[d] = slices.DeleteFunc(segs[d], func(s segment) bool { return s.part != part })
		}
	}
	for _, a := range segs[0] {
		for i := range a.n {
			for _, b := range segs[1] {
				for j := range b.n {
					for _, c := range segs[2] {
						fn(run{
							local:  ((a.at+i)*total[1]+b.at+j)*total[2] + c.at,
							global: ((a.global+i)*g.shape[1]+b.global+j)*g.shape[2] + c.global,
							n:      c.n,
							owner:  (a.part*g.procs[1]+b.part)*g.procs[2] + c.part,
							ghost:  !a.mine || !b.mine || !c.mine,
						})
					}
				}
			}
		}
	}
	return total
}

// readers lists the ranks whose boxes have elements that a rank owns, and the rank itself. With the widths below and above swapped, they
// are the owners of the elements in the rank's own box: another rank's ghosts above its part reach into this part if ghosts of the same
// width below this part reach into the other.
func (g *grid) readers(rank int) []int {
	at := g.coords(rank)
	if g.empty(at) {
		return nil
	}
	list := []int{0}
	for d := range g.shape {
		segs, _ := g.stretch(d, at[d], g.hi[d], g.lo[d])
		var parts, next []int
		for _, s := range segs {
			if !slices.Contains(parts, s.part) {
				parts = append(parts, s.part)
			}
		}
		for _, r := range list {
			for _, p := range parts {
				next = append(next, r*g.procs[d]+p)
			}
		}
		list = next
	}
	return list
}
