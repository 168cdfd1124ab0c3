package hal

// users are the streams that have used a memory. A stream that is closed and drained is forgotten: each call of add looks at
// two others, so that there are never many more of those than of streams that are open or have work under way.
type users struct {
	list  []*streamState
	index map[*streamState]struct{} // of the list; nil while the list is short
	hand  int                       // who is looked at next
}

// usersShort is how long a list is searched without an index.
const usersShort = 8

// add notes a stream unless it is there.
func (u *users) add(t *streamState) {
	if u.has(t) {
		return
	}
	for range min(2, len(u.list)) {
		u.look()
	}
	u.list = append(u.list, t)
	switch {
	case u.index != nil:
		u.index[t] = struct{}{}
	case len(u.list) > usersShort:
		u.index = make(map[*streamState]struct{}, 2*usersShort)
		for _, t := range u.list {
			u.index[t] = struct{}{}
		}
	}
}

func (u *users) has(t *streamState) bool {
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

// look forgets the next stream if it is gone.
func (u *users) look() {
	if u.hand >= len(u.list) {
		u.hand = 0
	}
	t := u.list[u.hand]
	if !t.gone.Load() {
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
