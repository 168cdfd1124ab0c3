package cudahip

import (
	"slices"
	"sync"
	"sync/atomic"
)

// ranges is the set of host memory that a library can copy without blocking the caller: page-locked
// and managed memory. Ranges do not overlap. A look-up takes no lock.
type ranges struct {
	mu   sync.Mutex // held to change the set
	list atomic.Pointer[[]span]
}

type span struct{ start, end uintptr }

func (r *ranges) spans() []span {
	if p := r.list.Load(); p != nil {
		return *p
	}
	return nil
}

// search returns the index of the first span that ends after addr. It does not use package slices,
// for speed: every copy calls it.
func search(list []span, addr uintptr) int {
	low, high := 0, len(list)
	for low < high {
		if mid := int(uint(low+high) >> 1); list[mid].end <= addr {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// add adds a range. If it overlaps a range of the set, add changes nothing and reports false.
func (r *ranges) add(start, size uintptr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.spans()
	i := search(list, start)
	if i < len(list) && list[i].start < start+size {
		return false
	}
	fresh := slices.Insert(slices.Clone(list), i, span{start, start + size})
	r.list.Store(&fresh)
	return true
}

// remove removes the range that begins at start.
func (r *ranges) remove(start uintptr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.spans()
	i := search(list, start)
	if i < len(list) && list[i].start == start {
		fresh := slices.Delete(slices.Clone(list), i, i+1)
		r.list.Store(&fresh)
	}
}

// contains reports whether the range lies inside one range of the set.
func (r *ranges) contains(start, size uintptr) bool {
	list := r.spans()
	i := search(list, start)
	return i < len(list) && list[i].start <= start && start+size <= list[i].end
}

// touches reports whether any byte of the range lies inside a range of the set.
func (r *ranges) touches(start, size uintptr) bool {
	list := r.spans()
	i := search(list, start)
	return i < len(list) && list[i].start < start+size
}
