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
}

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
	for _, x := range l.all {
		l.longest = max(l.longest, x.end-x.start)
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
	x := exposure{uintptr(p), uintptr(p) + uintptr(s.size), s}
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
	start := uintptr(p)
	for i := l.from(start - min(start, l.longest)); i < len(l.all) && l.all[i].start < start+uintptr(n); i++ {
		if x := &l.all[i]; x.end > start && x.mem.enter() {
			x.mem.note(st)
			x.mem.leave()
		}
	}
}
