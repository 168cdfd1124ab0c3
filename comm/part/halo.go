package part

import (
	"slices"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// Halo says which elements of other ranks a rank has ghosts of. It has either widths or needs.
//
// Widths are numbers of elements, the same on all ranks: Lo below and Hi above the owned part in each dimension of the layout, with the
// corners between them. A Periodic dimension continues at its other end; otherwise there are no ghosts beyond the border. Where Lo, Hi or
// Periodic is nil, it is 0 or false for every dimension. A rank that owns nothing has no ghosts of widths.
//
// Needs are for layouts of one dimension. They are ranges of global indices, which each rank chooses for itself. They must not overlap, and
// the rank must not own them. Their ghosts follow the owned part in the order of the list. A rank that owns nothing may have needs.
type Halo struct {
	Lo, Hi   []int
	Periodic []bool
	Needs    []buffer.Range
}

// Width is a halo of w[d] elements below and above the owned part in dimension d of the layout.
func Width(w ...int) Halo { return Halo{Lo: slices.Clone(w), Hi: slices.Clone(w)} }

// surround gives the grid the widths of a halo, or refuses a halo that does not fit.
func (g *grid) surround(op string, h *Halo, rank int) error {
	bad := func(format string, args ...any) error {
		return driver.Errorf(op, driver.ErrInvalidArgument, format, args...)
	}
	if h.Lo != nil && len(h.Lo) != g.dims || h.Hi != nil && len(h.Hi) != g.dims || h.Periodic != nil && len(h.Periodic) != g.dims {
		return bad("halo widths %v and %v, periodic %v: each must have %d values, as the layout has dimensions", h.Lo, h.Hi, h.Periodic,
			g.dims)
	}
	copy(g.lo[3-g.dims:], h.Lo)
	copy(g.hi[3-g.dims:], h.Hi)
	copy(g.periodic[3-g.dims:], h.Periodic)
	for d := range g.shape {
		if min(g.lo[d], g.hi[d]) < 0 || max(g.lo[d], g.hi[d]) > maxElements {
			return bad("halo widths %v and %v; each must be between 0 and %d", h.Lo, h.Hi, maxElements)
		}
		if g.periodic[d] && max(g.lo[d], g.hi[d]) > g.shape[d] {
			return bad("halo widths %v and %v are wider than the periodic grid %v", h.Lo, h.Hi, g.shape[3-g.dims:])
		}
		if len(h.Needs) > 0 && g.lo[d]+g.hi[d] > 0 {
			return bad("a halo with both widths and needs")
		}
	}
	if len(h.Needs) > 0 && g.dims != 1 {
		return bad("needs in a layout of %d dimensions", g.dims)
	}
	sorted := slices.Clone(h.Needs)
	slices.SortFunc(sorted, byLo)
	lo, hi := g.cut(2, g.coords(rank)[2]), g.cut(2, g.coords(rank)[2]+1)
	for i, r := range sorted {
		switch {
		case r.Lo < 0 || r.Hi > g.len() || r.Lo >= r.Hi:
			return bad("need [%d, %d) is empty or not within the %d elements", r.Lo, r.Hi, g.len())
		case i > 0 && r.Lo < sorted[i-1].Hi:
			return bad("needs [%d, %d) and [%d, %d) overlap", sorted[i-1].Lo, sorted[i-1].Hi, r.Lo, r.Hi)
		case lo < hi && r.Lo < hi && lo < r.Hi:
			return bad("need [%d, %d) has elements that this rank owns, [%d, %d)", r.Lo, r.Hi, lo, hi)
		}
	}
	return nil
}

// runs calls fn for each run of a rank's local elements, whose ghosts are those of the widths and of needs. It returns the extents of the
// box of widths, and the number of all local elements.
func (g *grid) runs(rank int, needs []buffer.Range, fn func(run)) (extent [3]int, n int) {
	extent = g.walk(rank, anyone, fn)
	n = extent[0] * extent[1] * extent[2]
	for _, r := range needs {
		for at := r.Lo; at < r.Hi; {
			owner, end := g.owner(at)
			k := min(end, r.Hi) - at
			fn(run{local: n, global: at, n: k, owner: owner, ghost: true})
			at, n = at+k, n+k
		}
	}
	return extent, n
}
