package pool

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal"
)

// record is what all blocks of one range have in common. The range never changes, so a stale block can
// read it at any time.
type record struct {
	// state is the number of blocks of the range that have been freed. A block is live while its ticket has this number. Giving
	// out a block does not change state.
	state atomic.Uint64
	size  atomic.Uint64 // bytes asked for

	mem      *hal.Memory
	off, cap uint64  // bytes
	pool     *Pool   // nil outside of pools
	owner    *direct // outside of pools
	node     *node   // nil outside of pools
	kind     hal.Kind
	class    int

	uses uses

	next  *record // in a bin
	epoch uint64  // of the domain, when the block was freed

	// live says that the range has a block which is not freed. In a pool it changes under the lock of a lane or of the heap,
	// and may be read while all of them are held.
	live bool
}

// give makes a block of the record. In a pool, the lock of its lane or heap is held.
func (r *record) give(size uint64) (state uint64) {
	// The size mostly stays the same. A load is cheaper than a store, which other processors have to see.
	if r.size.Load() != size {
		r.size.Store(size)
	}
	r.live = true
	return r.state.Load()
}

// end makes the block that has this state stale. It returns false if the block is stale already. In a pool, the lock of a lane is held.
func (r *record) end(state uint64) bool {
	if !r.state.CompareAndSwap(state, state+1) {
		return false
	}
	r.live = false
	return true
}

// uses holds the events of work that uses a block, besides the work of the stream that it is freed on.
type uses struct {
	some   atomic.Bool
	mu     sync.Mutex
	events []*hal.Event
}

// add adds an event, whose reference it takes over, for a block. It reports false and leaves the reference to the caller if the
// block is stale.
func (u *uses) add(b Block, e *hal.Event) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !b.Valid() {
		return false
	}
	u.events = append(passed(u.events), e)
	u.some.Store(true)
	if b.Valid() {
		return true
	}
	u.events = u.events[:len(u.events)-1] // the block was freed just now, by a call that has not taken the events yet
	u.some.Store(len(u.events) > 0)
	return false
}

// take returns the events, which the caller then owns.
func (u *uses) take() []*hal.Event {
	u.mu.Lock()
	defer u.mu.Unlock()
	events := u.events
	u.events = nil
	u.some.Store(false)
	return events
}

// passed closes and removes the events whose work has finished, and reuses the slice.
func passed(events []*hal.Event) []*hal.Event {
	return slices.DeleteFunc(events, func(m *hal.Event) bool {
		done, _ := m.Done() // the owner of the work finds its error
		if done {
			_ = m.Close()
		}
		return done
	})
}
