package array

import (
	"iter"
	"math"
	"slices"

	"github.com/go-halyard/halyard/hal"
)

// MaxRank is the largest number of axes, the same as NumPy's.
const MaxRank = 64

// layout maps the indices of an array to places in a sequence of elements. No two elements have the same place, and
// the strides nest: each stride is at least the number of places that the axes with smaller strides span. If an extent is 0 there are no
// elements: then off is 0, and the strides mean nothing.
type layout struct {
	shape   []int
	strides []int // elements, may be negative
	off     int   // place of the element whose indices are all 0
}

// span is a range of elements.
type span struct{ lo, hi int }

// count checks a shape and returns the number of elements.
func count(op string, shape []int) (int, error) {
	if len(shape) > MaxRank {
		return 0, hal.Errorf(op, hal.ErrInvalidArgument, "%d axes are more than the %d that are supported", len(shape), MaxRank)
	}
	for i, e := range shape {
		if e < 0 {
			return 0, hal.Errorf(op, hal.ErrInvalidArgument, "extent %d of axis %d in shape %v is negative", e, i, shape)
		}
	}
	n := 1
	for _, e := range shape {
		if e = max(e, 1); n > math.MaxInt/e { // extents of 0 do not help: the strides are ints, too
			return 0, hal.Errorf(op, hal.ErrOutOfRange, "the number of elements of shape %v exceeds the range of int", shape)
		}
		n *= e
	}
	if slices.Contains(shape, 0) {
		return 0, nil
	}
	return n, nil
}

// dense returns the row-major layout without gaps of a shape that count has accepted.
func dense(shape []int) layout {
	l := layout{shape: slices.Clone(shape), strides: make([]int, len(shape))}
	step := 1
	for i, e := range slices.Backward(shape) {
		l.strides[i] = step
		step *= max(e, 1)
	}
	return l
}

// reversed returns the layout with the order of the axes reversed: that of a column-major array is row-major, and the other way round.
func (l *layout) reversed() layout {
	r := layout{slices.Clone(l.shape), slices.Clone(l.strides), l.off}
	slices.Reverse(r.shape)
	slices.Reverse(r.strides)
	return r
}

// strided checks a layout from outside this package, for a sequence of n elements.
func strided(op string, n, off int, shape, strides []int) (layout, error) {
	if len(shape) != len(strides) {
		return layout{}, hal.Errorf(op, hal.ErrInvalidArgument, "shape %v and strides %v have different lengths", shape, strides)
	}
	length, err := count(op, shape)
	if err != nil {
		return layout{}, err
	}
	outside := func() (layout, error) {
		return layout{}, hal.Errorf(op, hal.ErrOutOfRange, "offset %d, shape %v and strides %v lead outside %d elements", off, shape,
			strides, n)
	}
	switch {
	case off < 0 || off > n || off == n && length > 0:
		return outside()
	case length == 0:
		return layout{slices.Clone(shape), slices.Clone(strides), 0}, nil
	}
	below, above := off, n-1-off
	for i, e := range shape {
		if e == 1 {
			continue
		}
		s := strides[i]
		switch {
		case s == 0:
			return layout{}, hal.Errorf(op, hal.ErrInvalidArgument, "axis %d has stride 0, so several elements would have the same place",
				i)
		case s > 0 && s > above/(e-1), s < 0 && (s == math.MinInt || -s > below/(e-1)):
			return outside()
		case s > 0:
			above -= s * (e - 1)
		default:
			below -= -s * (e - 1)
		}
	}
	l := layout{slices.Clone(shape), slices.Clone(strides), off}
	_, axes := l.storage()
	reach := 1
	for _, a := range slices.Backward(axes) {
		if a.stride < reach {
			return layout{}, hal.Errorf(op, hal.ErrInvalidArgument,
				"strides %v of shape %v do not nest: a stride is less than what the axes with smaller strides span", strides, shape)
		}
		reach += (a.n - 1) * a.stride
	}
	return l, nil
}

// length returns the number of elements.
func (l *layout) length() int {
	n := 1
	for _, e := range l.shape {
		n *= e
	}
	return n
}

func (l *layout) empty() bool { return slices.Contains(l.shape, 0) }

// place returns the place of the element with the given indices.
func (l *layout) place(op string, index []int) (int, error) {
	if len(index) != len(l.shape) {
		return 0, misfit(op, index, l.shape)
	}
	p := l.off
	for i, x := range index {
		if uint(x) >= uint(l.shape[i]) {
			return 0, misfit(op, index, l.shape)
		}
		p += x * l.strides[i]
	}
	return p, nil
}

// contiguous reports whether the elements follow each other in row-major order, without gaps.
func (l *layout) contiguous() bool {
	if l.empty() {
		return true
	}
	step := 1
	for i, e := range slices.Backward(l.shape) {
		if e > 1 && l.strides[i] != step {
			return false
		}
		step *= e
	}
	return true
}

func (l *layout) slice(op string, ranges []Range) (layout, error) {
	if len(ranges) > len(l.shape) {
		return layout{}, hal.Errorf(op, hal.ErrInvalidArgument, "%d ranges are more than the %d axes of shape %v", len(ranges),
			len(l.shape), l.shape)
	}
	s := layout{slices.Clone(l.shape), slices.Clone(l.strides), l.off}
	for i, r := range ranges {
		if r.hi == End {
			r.hi = l.shape[i]
		}
		switch {
		case r.step == 0:
			return layout{}, hal.Errorf(op, hal.ErrInvalidArgument, "the range of axis %d has step 0", i)
		case r.lo < 0 || r.hi > l.shape[i] || r.lo > r.hi:
			return layout{}, hal.Errorf(op, hal.ErrOutOfRange, "the range [%d, %d) of axis %d is outside shape %v", r.lo, r.hi, i, l.shape)
		case r.lo == r.hi:
			s.shape[i] = 0
			continue
		}
		first, width := r.lo, r.hi-r.lo-1
		if r.step < 0 {
			first = r.hi - 1
		}
		s.off += first * l.strides[i]
		steps := 0
		if r.step != math.MinInt {
			steps = width / max(r.step, -r.step)
		}
		s.shape[i] = steps + 1
		if steps > 0 {
			s.strides[i] *= r.step
		}
	}
	if s.empty() {
		s.off = 0
	}
	return s, nil
}

func (l *layout) axis(op string, i int) error {
	if i < 0 || i >= len(l.shape) {
		return hal.Errorf(op, hal.ErrOutOfRange, "axis %d does not exist in shape %v", i, l.shape)
	}
	return nil
}

func (l *layout) without(drop func(axis int) bool) layout {
	s := layout{off: l.off}
	for i := range l.shape {
		if !drop(i) {
			s.shape = append(s.shape, l.shape[i])
			s.strides = append(s.strides, l.strides[i])
		}
	}
	return s
}

func (l *layout) choose(op string, axis, i int) (layout, error) {
	if err := l.axis(op, axis); err != nil {
		return layout{}, err
	}
	if i < 0 || i >= l.shape[axis] {
		return layout{}, hal.Errorf(op, hal.ErrOutOfRange, "index %d of axis %d is outside shape %v", i, axis, l.shape)
	}
	s := l.without(func(k int) bool { return k == axis })
	if !s.empty() {
		s.off += i * l.strides[axis]
	}
	return s, nil
}

func (l *layout) permute(op string, axes []int) (layout, error) {
	if len(axes) == 0 {
		return l.reversed(), nil
	}
	if len(axes) != len(l.shape) {
		return layout{}, hal.Errorf(op, hal.ErrInvalidArgument, "%v does not permute the axes of shape %v", axes, l.shape)
	}
	s := layout{off: l.off}
	for i, x := range axes {
		if err := l.axis(op, x); err != nil {
			return layout{}, err
		}
		if slices.Contains(axes[:i], x) {
			return layout{}, hal.Errorf(op, hal.ErrInvalidArgument, "%v does not permute the axes of shape %v", axes, l.shape)
		}
		s.shape = append(s.shape, l.shape[x])
		s.strides = append(s.strides, l.strides[x])
	}
	return s, nil
}

// same reports whether two layouts of one shape put every element in the same place.
func (l *layout) same(m *layout) bool {
	for i, e := range l.shape {
		if e > 1 && l.strides[i] != m.strides[i] {
			return false
		}
	}
	return l.off == m.off
}

// reshape returns a layout of the same elements, in row-major order, with another shape of the same number of
// elements. ok is false if strides cannot express that layout.
func (l *layout) reshape(shape []int) (s layout, ok bool) {
	if l.empty() {
		return dense(shape), true
	}
	old := l.without(func(k int) bool { return l.shape[k] == 1 })
	s = layout{slices.Clone(shape), make([]int, len(shape)), l.off}
	// Old and new axes are matched in groups with the same number of elements. Within a group, neighbouring elements must have
	// the same distance along all old axes; the new axes then divide the group.
	i, k := 0, 0
	for i < len(old.shape) && k < len(shape) {
		iEnd, kEnd := i+1, k+1
		for have, want := old.shape[i], shape[k]; have != want; {
			if have < want {
				have *= old.shape[iEnd]
				iEnd++
			} else {
				want *= shape[kEnd]
				kEnd++
			}
		}
		for j := i; j < iEnd-1; j++ {
			if old.strides[j] != old.strides[j+1]*old.shape[j+1] {
				return layout{}, false
			}
		}
		step := old.strides[iEnd-1]
		for j := kEnd - 1; j >= k; j-- {
			s.strides[j] = step
			step *= shape[j]
		}
		i, k = iEnd, kEnd
	}
	for ; k < len(shape); k++ {
		s.strides[k] = 1 // only axes of extent 1 are left
	}
	return s, true
}

// axis is one axis of a layout, with the absolute value of its stride.
type axis struct{ n, stride int }

// ranked lists the axes with an extent above 1 by falling absolute stride.
func (l *layout) ranked() []int {
	order := make([]int, 0, len(l.shape))
	for i, e := range l.shape {
		if e > 1 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return abs(l.strides[b]) - abs(l.strides[a]) })
	return order
}

func abs(n int) int { return max(n, -n) }

// storage returns the lowest place, and the axes by falling stride. Neighbouring axes are joined if all their elements have the same
// distance from each other.
func (l *layout) storage() (lo int, axes []axis) {
	lo = l.off
	for _, i := range l.ranked() {
		a := axis{l.shape[i], l.strides[i]}
		if a.stride < 0 {
			a.stride = -a.stride
			lo -= (a.n - 1) * a.stride
		}
		if last := len(axes) - 1; last >= 0 && axes[last].stride == a.n*a.stride {
			axes[last] = axis{axes[last].n * a.n, a.stride}
		} else {
			axes = append(axes, a)
		}
	}
	return lo, axes
}

// reach returns how many places the axes span.
func reach(axes []axis) int {
	n := 1
	for _, a := range axes {
		n += (a.n - 1) * a.stride
	}
	return n
}

// hull returns the range from the lowest place to the highest, or an empty one at 0.
func (l *layout) hull() span {
	if l.empty() {
		return span{}
	}
	lo, axes := l.storage()
	return span{lo, lo + reach(axes)}
}

// packed returns the layout of the same elements without the gaps: they keep the order of their places.
func (l *layout) packed() layout {
	if l.empty() {
		return dense(l.shape)
	}
	p := layout{shape: l.shape, strides: make([]int, len(l.shape))}
	step := 1
	for i := range p.strides {
		p.strides[i] = 1 // the stride of an axis of extent 1 has no effect
	}
	for _, i := range slices.Backward(l.ranked()) {
		if l.strides[i] > 0 {
			p.strides[i] = step
		} else {
			p.strides[i] = -step
			p.off += (l.shape[i] - 1) * step
		}
		step *= l.shape[i]
	}
	return p
}

// spans yields, in ascending order, the ranges of the given length at each combination of indices of the outer axes. Adjacent ranges are
// joined.
func spans(lo int, outer []axis, length int) iter.Seq[span] {
	return func(yield func(span) bool) {
		index := make([]int, len(outer))
		next := span{lo, lo + length}
		at := lo
		for {
			k := len(outer) - 1
			for ; k >= 0; k-- {
				at += outer[k].stride
				if index[k]++; index[k] < outer[k].n {
					break
				}
				at -= outer[k].n * outer[k].stride
				index[k] = 0
			}
			switch {
			case k < 0:
				yield(next)
				return
			case at <= next.hi:
				next.hi = at + length
			default:
				if !yield(next) {
					return
				}
				next = span{at, at + length}
			}
		}
	}
}

// runs yields the unbroken ranges that the elements fill, in ascending order.
func (l *layout) runs() iter.Seq[span] {
	if l.empty() {
		return func(func(span) bool) {}
	}
	lo, axes := l.storage()
	length := 1
	if last := len(axes) - 1; last >= 0 && axes[last].stride == 1 {
		length = axes[last].n
		axes = axes[:last]
	}
	return spans(lo, axes, length)
}

// pieces returns at most limit ranges that together contain the elements: the runs if there are at most limit of them,
// otherwise larger ranges along the outermost axes, which include gaps.
func (l *layout) pieces(limit int) []span {
	var list []span
	for r := range l.runs() {
		if len(list) == limit {
			return l.coarse(limit)
		}
		list = append(list, r)
	}
	return list
}

func (l *layout) coarse(limit int) []span {
	lo, axes := l.storage()
	outer, n := 0, 1
	for outer < len(axes) && n <= limit/axes[outer].n {
		n *= axes[outer].n
		outer++
	}
	if outer > 0 {
		return slices.Collect(spans(lo, axes[:outer], reach(axes[outer:])))
	}
	// The outermost axis alone has too many steps: each range covers several of them.
	first, inner := axes[0], reach(axes[1:])
	each := (first.n + limit - 1) / limit
	var list []span
	for i := 0; i < first.n; i += each {
		j := min(i+each, first.n) - 1
		list = append(list, span{lo + i*first.stride, lo + j*first.stride + inner})
	}
	return list
}

// copyElements copies every element of one layout to the element with the same indices of another layout of the same
// shape. dst and src do not overlap.
func copyElements[T any](dst []T, to *layout, src []T, from *layout) {
	if to.empty() {
		return
	}
	type walk struct{ n, dst, src int }
	var walks []walk
	for _, i := range to.ranked() {
		w := walk{to.shape[i], to.strides[i], from.strides[i]}
		if last := len(walks) - 1; last >= 0 && walks[last].dst == w.n*w.dst && walks[last].src == w.n*w.src {
			walks[last] = walk{walks[last].n * w.n, w.dst, w.src}
		} else {
			walks = append(walks, w)
		}
	}
	inner := walk{1, 1, 1}
	if last := len(walks) - 1; last >= 0 {
		inner = walks[last]
		walks = walks[:last]
	}
	index := make([]int, len(walks))
	d, s := to.off, from.off
	for {
		if inner.dst == 1 && inner.src == 1 {
			copy(dst[d:d+inner.n], src[s:s+inner.n])
		} else {
			for k, di, si := 0, d, s; k < inner.n; k, di, si = k+1, di+inner.dst, si+inner.src {
				dst[di] = src[si]
			}
		}
		k := len(walks) - 1
		for ; k >= 0; k-- {
			w := &walks[k]
			d, s = d+w.dst, s+w.src
			if index[k]++; index[k] < w.n {
				break
			}
			d, s = d-w.n*w.dst, s-w.n*w.src
			index[k] = 0
		}
		if k < 0 {
			return
		}
	}
}

// misfit returns the error for an index that does not exist in shape. It keeps no reference to its arguments, so
// that the arguments of valid calls need not be allocated.
//
//go:noinline
func misfit(op string, index, shape []int) error {
	at, of := append([]int{}, index...), append([]int{}, shape...)
	if len(at) != len(of) {
		return hal.Errorf(op, hal.ErrInvalidArgument, "%d indices instead of %d for shape %v", len(at), len(of), of)
	}
	return hal.Errorf(op, hal.ErrOutOfRange, "index %v is outside shape %v", at, of)
}
