package pool

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal"
)

// record is what all blocks of one range have in common. The range never changes, so that a stale block
// reads nothing that somebody else writes.
type record struct {
	// state is how many blocks have ended. The next block has it for its own until it ends too, so
	// that giving one out changes nothing that others look at.
	state atomic.Uint64
	size  atomic.Uint64 // bytes asked for
	tag   atomic.Uint32

	mem      *hal.Memory
	off, cap uint64    // bytes
	pool     *Pool     // nil outside of pools
	owner    Allocator // outside of pools
	chunk    *chunk
	node     *node // nil if the chunk is the block's alone
	kind     hal.Kind
	class    int

	uses uses

	next  *record // in a bin
	epoch uint64  // of the domain, when the block was freed

	// live says that there is a block. In a pool it changes under the lock of a lane or of the heap,
	// and may be read while all of them are held.
	live bool
}

// give makes a block of the record, whose lock is held.
func (r *record) give(size uint64, tag uint32) (state uint64) {
	// These mostly stay the same, and a load is cheaper than a store that others may see.
	if r.size.Load() != size {
		r.size.Store(size)
	}
	if r.tag.Load() != tag {
		r.tag.Store(tag)
	}
	r.live = true
	return r.state.Load()
}

// end makes the block of a state stale, with the lock held. It reports false if the block is that already.
func (r *record) end(state uint64) bool {
	if !r.state.CompareAndSwap(state, state+1) {
		return false
	}
	r.live = false
	return true
}

// uses are the marks up to which a block is in use, beside what the stream says that frees it.
type uses struct {
	some  atomic.Bool
	mu    sync.Mutex
	marks []*hal.Mark
}

// add retains the mark for a block, unless that is stale.
func (u *uses) add(b Block, m *hal.Mark) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !b.Valid() {
		return false
	}
	u.marks = passed(u.marks)
	m.Retain()
	u.marks = append(u.marks, m)
	u.some.Store(true)
	if b.Valid() {
		return true
	}
	// Freed just now, by somebody who may not have seen the mark.
	if i := slices.Index(u.marks, m); i >= 0 {
		u.marks = slices.Delete(u.marks, i, i+1)
		m.Release()
	}
	u.some.Store(len(u.marks) > 0)
	return false
}

// take returns the marks, which the caller then owns.
func (u *uses) take() []*hal.Mark {
	u.mu.Lock()
	defer u.mu.Unlock()
	marks := u.marks
	u.marks = nil
	u.some.Store(false)
	return marks
}

// passed releases and removes the marks whose work has finished, and reuses the slice.
func passed(marks []*hal.Mark) []*hal.Mark {
	return slices.DeleteFunc(marks, func(m *hal.Mark) bool {
		done, _ := m.Done() // whether the work failed is for its owner to find
		if done {
			m.Release()
		}
		return done
	})
}
