package filebackend

import (
	"cmp"
	"slices"
)

// extent is a range of the file.
type extent struct{ off, size uint64 }

// space keeps the free extents of a file. No two of them touch. take uses the first that is large enough.
type space struct {
	free []extent // by offset
	left uint64   // the sum of their sizes
}

func newSpace(from, size uint64) space { return space{free: []extent{{from, size}}, left: size} }

// take reserves size bytes in one piece at a multiple of align, and reports whether there was such a piece.
func (s *space) take(size, align uint64) (extent, bool) {
	for i, f := range s.free {
		pad := -f.off & (align - 1)
		if f.size < pad || f.size-pad < size {
			continue
		}
		e := extent{f.off + pad, size}
		var rest []extent
		if pad > 0 {
			rest = append(rest, extent{f.off, pad})
		}
		if end := e.off + size; end < f.off+f.size {
			rest = append(rest, extent{end, f.off + f.size - end})
		}
		s.free = slices.Replace(s.free, i, i+1, rest...)
		s.left -= size
		return e, true
	}
	return extent{}, false
}

// give returns what take reserved.
func (s *space) give(e extent) {
	s.left += e.size
	i, _ := slices.BinarySearchFunc(s.free, e, func(a, b extent) int { return cmp.Compare(a.off, b.off) })
	if i < len(s.free) && e.off+e.size == s.free[i].off {
		e.size += s.free[i].size
		s.free = slices.Delete(s.free, i, i+1)
	}
	if i > 0 && s.free[i-1].off+s.free[i-1].size == e.off {
		s.free[i-1].size += e.size
		return
	}
	s.free = slices.Insert(s.free, i, e)
}
