package hal

import (
	"sync"
	"sync/atomic"
)

// usedBy remembers which streams have work on an object, so that it is given back only after that work.
type usedBy struct {
	last  atomic.Pointer[streamState] // the stream that used the object last
	mu    sync.Mutex
	first *streamState // the only one so far, or nil
	users *users       // nil while there is at most one
}

// note records that stream t has work on the object.
func (u *usedBy) note(t *streamState) {
	if u.last.Load() == t {
		return
	}
	u.mu.Lock()
	switch {
	case u.users != nil:
		u.users.add(t)
	case u.first == nil || u.first.gone.Load():
		u.first = t
	case u.first != t:
		u.users = &users{list: []*streamState{u.first, t}}
		u.first = nil
	}
	u.last.Store(t)
	u.mu.Unlock()
}

// over forgets the streams and returns a function that reports whether their work so far has finished, or nil if it has. No call
// of note may be under way.
func (u *usedBy) over() func() bool {
	var streams []*streamState
	switch {
	case u.users != nil:
		streams = u.users.list
	case u.first != nil:
		streams = append(streams, u.first)
	}
	u.first, u.users = nil, nil
	u.last.Store(nil)
	var waits []func() bool
	for _, t := range streams {
		if w := t.pendingWork(); w != nil {
			waits = append(waits, w)
		}
	}
	if len(waits) == 0 {
		return nil
	}
	return func() bool {
		for len(waits) > 0 && waits[0]() {
			waits = waits[1:]
		}
		return len(waits) == 0
	}
}
