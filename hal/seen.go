package hal

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/internal/span"
)

// seen has the memories whose bytes the program has seen (Memory.Bytes). The host side of a copy may lie in such a memory, and the copy then
// counts as a use of the memory, although only an address says so. While no bytes have been seen, a copy pays one atomic load.
var seen struct {
	any  atomic.Bool // the tree is not empty
	mu   sync.Mutex  // guards tree
	tree span.Tree[*view]
}

// view is the addresses [Lo, Hi) of a memory whose bytes the program has seen.
type view struct {
	span.Node[*view]
	mem    *memoryState
	ended  atomic.Bool // hideBytes has removed it
	shared atomic.Bool // another view has, or had, some of the addresses: a program may import memory twice
}

// alone reports whether all of [lo, hi) lies in this view, and in no other.
func (v *view) alone(lo, hi uint64) bool {
	return v.Lo <= lo && hi <= v.Hi && !v.shared.Load() && !v.ended.Load()
}

// showBytes notes that the program sees the memory's bytes, which begin at p. The caller has entered the memory, so that it is not freed meanwhile.
func (s *memoryState) showBytes(p unsafe.Pointer) {
	if s.view.Load() != nil {
		return
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if s.view.Load() != nil {
		return
	}
	v := &view{mem: s}
	v.Lo, v.Hi, v.Value = uint64(uintptr(p)), uint64(uintptr(p))+s.size, v
	for _, n := range seen.tree.Meeting(v.Lo, v.Hi, nil) {
		n.Value.shared.Store(true)
		v.shared.Store(true)
	}
	seen.tree.Insert(&v.Node)
	seen.any.Store(true)
	s.view.Store(v)
}

// hideBytes notes that the program sees the memory's bytes no longer. It is called before their addresses can be used for other memory.
func (s *memoryState) hideBytes() {
	if s.view.Load() == nil {
		return
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if v := s.view.Swap(nil); v != nil {
		v.ended.Store(true)
		seen.tree.Delete(&v.Node)
		seen.any.Store(seen.tree.Len() > 0)
	}
}

// noteBytes records that the stream is about to use n bytes of host memory. They may belong to memories whose bytes the program has seen.
func (st *streamState) noteBytes(p unsafe.Pointer, n uint64) {
	if !seen.any.Load() {
		return
	}
	lo, hi := uint64(uintptr(p)), uint64(uintptr(p))+n
	if v := st.seen.Load(); v != nil && v.alone(lo, hi) && v.mem.Last() == &st.User && !v.mem.Closed() {
		return // recorded by the stream's last copy
	}
	var room [4]*span.Node[*view]
	seen.mu.Lock()
	found := seen.tree.Meeting(lo, hi, room[:0])
	seen.mu.Unlock()
	for _, n := range found { // without the lock, which leave may take
		v := n.Value
		if v.mem.Enter() {
			v.mem.Note(&st.User)
			v.mem.Leave()
			st.seen.Store(v)
		}
	}
}
