package life

import (
	"maps"
	"sync"
	"sync/atomic"
)

// User is something whose work uses objects: a stream. It is a part of the stream, and its address identifies the stream.
type User struct {
	Gone atomic.Bool // closed, and its work has finished

	// Pending returns nil if no work is under way, else a function that reports whether the work enqueued so far has finished.
	Pending func() (over func() bool)
}

// Uses remembers which users have work on an object, so that the object is given back only after that work.
type Uses struct {
	last   atomic.Pointer[User] // the user that came last
	mu     sync.Mutex
	others map[*User]struct{} // those before it, except some that are gone
	many   int                // length of others at which those that are gone are removed
}

// usersFew is the least number of others at which Uses looks for users that are gone. It looks again when there are twice as many as were
// left, so there are never many more than those that are open or still have work, and a Note takes constant time on average.
const usersFew = 8

// Last returns the user that was noted last, nil if there is none.
func (u *Uses) Last() *User { return u.last.Load() }

// Note records that t has work on the object.
func (u *Uses) Note(t *User) {
	if u.last.Load() == t {
		return
	}
	u.mu.Lock()
	if before := u.last.Load(); before != nil {
		if _, known := u.others[before]; !known && !before.Gone.Load() {
			u.add(before)
		}
	}
	u.last.Store(t)
	u.mu.Unlock()
}

// add adds a user to the others; u.mu is held.
func (u *Uses) add(t *User) {
	if u.others == nil {
		u.others, u.many = map[*User]struct{}{}, usersFew
	}
	u.others[t] = struct{}{}
	if len(u.others) >= u.many {
		maps.DeleteFunc(u.others, func(x *User, _ struct{}) bool { return x.Gone.Load() })
		u.many = max(usersFew, 2*len(u.others))
	}
}

// Over forgets the users and returns a function that reports whether their work so far has finished, or nil if it has. No call
// of Note may be under way.
func (u *Uses) Over() func() bool {
	last := u.last.Load()
	if last == nil {
		return nil
	}
	var waits []func() bool
	if w := last.Pending(); w != nil {
		waits = append(waits, w)
	}
	delete(u.others, last)
	for t := range u.others {
		if w := t.Pending(); w != nil {
			waits = append(waits, w)
		}
	}
	u.others = nil
	u.last.Store(nil)
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
