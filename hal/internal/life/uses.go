package life

import (
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
	last  atomic.Pointer[User] // the user that came last
	mu    sync.Mutex
	first *User  // the only one so far, or nil
	users *users // nil while there is at most one
}

// Last returns the user that was noted last, nil if there is none.
func (u *Uses) Last() *User { return u.last.Load() }

// Note records that t has work on the object.
func (u *Uses) Note(t *User) {
	if u.last.Load() == t {
		return
	}
	u.mu.Lock()
	switch {
	case u.users != nil:
		u.users.add(t)
	case u.first == nil || u.first.Gone.Load():
		u.first = t
	case u.first != t:
		u.users = &users{list: []*User{u.first, t}}
		u.first = nil
	}
	u.last.Store(t)
	u.mu.Unlock()
}

// Over forgets the users and returns a function that reports whether their work so far has finished, or nil if it has. No call
// of Note may be under way.
func (u *Uses) Over() func() bool {
	if u.last.Load() == nil {
		return nil
	}
	var list []*User
	switch {
	case u.users != nil:
		list = u.users.list
	case u.first != nil:
		list = append(list, u.first)
	}
	u.first, u.users = nil, nil
	u.last.Store(nil)
	var waits []func() bool
	for _, t := range list {
		if w := t.Pending(); w != nil {
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

// users is a set. Users that are gone are removed: adding one checks up to two others, so the set never has many more users than those that
// are open or still have work.
type users struct {
	list  []*User
	index map[*User]struct{} // the elements of list; nil while the list is short
	hand  int                // index of the user to check next
}

// usersShort is the length up to which the list is searched without an index.
const usersShort = 8

// add adds a user unless it is in the set.
func (u *users) add(t *User) {
	if u.has(t) {
		return
	}
	for range min(2, len(u.list)) {
		u.check()
	}
	u.list = append(u.list, t)
	switch {
	case u.index != nil:
		u.index[t] = struct{}{}
	case len(u.list) > usersShort:
		u.index = make(map[*User]struct{}, 2*usersShort)
		for _, t := range u.list {
			u.index[t] = struct{}{}
		}
	}
}

func (u *users) has(t *User) bool {
	if u.index != nil {
		_, ok := u.index[t]
		return ok
	}
	for _, x := range u.list {
		if x == t {
			return true
		}
	}
	return false
}

// check removes the next user if it is gone.
func (u *users) check() {
	if u.hand >= len(u.list) {
		u.hand = 0
	}
	t := u.list[u.hand]
	if !t.Gone.Load() {
		u.hand++
		return
	}
	last := len(u.list) - 1
	u.list[u.hand], u.list[last] = u.list[last], nil
	u.list = u.list[:last]
	if u.index != nil {
		delete(u.index, t)
	}
}
