package hal

// users is the set of streams that have used a memory. Streams that are closed and drained are removed: adding a stream checks up to two
// others, so the set never has many more streams than those that are open or still have work.
type users struct {
	list  []*streamState
	index map[*streamState]struct{} // the elements of list; nil while the list is short
	hand  int                       // index of the stream to check next
}

// usersShort is the length up to which the list is searched without an index.
const usersShort = 8

// add adds a stream unless it is in the set.
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

// look checks the next stream and removes it if it is gone.
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
