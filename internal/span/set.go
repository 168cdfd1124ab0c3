package span

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Set is a set of ranges that do not overlap, for few changes and many look-ups, which take no lock. The zero Set is empty.
type Set struct {
	mu   sync.Mutex // held to change the set
	list atomic.Pointer[[]Range]
}

func (s *Set) ranges() []Range {
	if p := s.list.Load(); p != nil {
		return *p
	}
	return nil
}

// search returns the index of the first range that ends after at. It does not use package slices,
// for speed: every copy of a backend may call it.
func search(list []Range, at uint64) int {
	low, high := 0, len(list)
	for low < high {
		if mid := int(uint(low+high) >> 1); list[mid].Hi <= at {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// Add adds a range. If it overlaps a range of the set, Add changes nothing and reports false.
func (s *Set) Add(r Range) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.ranges()
	i := search(list, r.Lo)
	if i < len(list) && list[i].Lo < r.Hi {
		return false
	}
	fresh := slices.Insert(slices.Clone(list), i, r)
	s.list.Store(&fresh)
	return true
}

// Remove removes the range that begins at lo.
func (s *Set) Remove(lo uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.ranges()
	i := search(list, lo)
	if i < len(list) && list[i].Lo == lo {
		fresh := slices.Delete(slices.Clone(list), i, i+1)
		s.list.Store(&fresh)
	}
}

// Contains reports whether r lies inside one range of the set.
func (s *Set) Contains(r Range) bool {
	list := s.ranges()
	i := search(list, r.Lo)
	return i < len(list) && list[i].Lo <= r.Lo && r.Hi <= list[i].Hi
}

// Touches reports whether any byte of r lies inside a range of the set.
func (s *Set) Touches(r Range) bool {
	list := s.ranges()
	i := search(list, r.Lo)
	return i < len(list) && list[i].Lo < r.Hi
}
