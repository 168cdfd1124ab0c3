package hal

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// exposed are the memories whose bytes the program has. A copy may name such a memory by its bytes alone, and uses it
// nevertheless. Programs look at few memories in this way, and at each of them once: a change copies the list, so that
// those who look for nothing pay one load.
var exposed struct {
	mu   sync.Mutex // held to change the list
	list atomic.Pointer[exposures]
}

// exposures are of memories that do not overlap, but for one that a program has adopted twice.
type exposures struct {
	all     []exposure // by start
	longest uintptr    // bytes
}

type exposure struct {
	start, end uintptr
	mem        *memoryState
	list       *exposures // that it is in
	alone      bool       // it overlaps no other
}

// has reports whether all of [start, end) is the exposed memory's, and nobody else's.
func (x *exposure) has(start, end uintptr) bool { return x.alone && x.start <= start && end <= x.end }

// from is the index of the first that starts at an address or behind it.
func (l *exposures) from(at uintptr) int {
	i, _ := slices.BinarySearchFunc(l.all, at, func(x exposure, at uintptr) int { return cmp.Compare(x.start, at) })
	for i > 0 && l.all[i-1].start == at {
		i--
	}
	return i
}

func changeExposed(change func(*exposures)) {
	exposed.mu.Lock()
	defer exposed.mu.Unlock()
	l := new(exposures)
	if old := exposed.list.Load(); old != nil {
		l.all = slices.Clone(old.all)
	}
	change(l)
	reach := uintptr(0) // of those before
	for i := range l.all {
		x := &l.all[i]
		l.longest = max(l.longest, x.end-x.start)
		x.list, x.alone = l, x.start >= reach && (i+1 == len(l.all) || x.end <= l.all[i+1].start)
		reach = max(reach, x.end)
	}
	if len(l.all) == 0 {
		l = nil
	}
	exposed.list.Store(l)
}

// expose notes that the program has the memory's bytes. The caller is inside the memory, which is not freed meanwhile.
func (s *memoryState) expose(p unsafe.Pointer) {
	if s.exposed.Load() || s.exposed.Swap(true) {
		return
	}
	x := exposure{start: uintptr(p), end: uintptr(p) + uintptr(s.size), mem: s}
	changeExposed(func(l *exposures) { l.all = slices.Insert(l.all, l.from(x.start), x) })
}

// hide is the opposite of expose, before the addresses may be someone else's.
func (s *memoryState) hide() {
	if s.exposed.Load() && s.exposed.Swap(false) {
		changeExposed(func(l *exposures) {
			l.all = slices.DeleteFunc(l.all, func(x exposure) bool { return x.mem == s })
		})
	}
}

// noteBytes remembers that the stream is about to use n bytes of the host's, which may be those of a memory.
func (st *streamState) noteBytes(p unsafe.Pointer, n uint64) {
	l := exposed.list.Load()
	if l == nil {
		return
	}
	start, end := uintptr(p), uintptr(p)+uintptr(n)
	if x := st.seen.Load(); x != nil && x.list == l && x.has(start, end) && x.mem.last.Load() == st && !x.mem.closed() {
		return // as the last time
	}
	for i := l.from(start - min(start, l.longest)); i < len(l.all) && l.all[i].start < end; i++ {
		if x := &l.all[i]; x.end > start && x.mem.enter() {
			x.mem.note(st)
			x.mem.leave()
			st.seen.Store(x)
		}
	}
}
