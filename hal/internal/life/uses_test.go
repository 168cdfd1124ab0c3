package life

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A memory remembers the streams that are open, and no more than as many that are gone.
func TestUsersForgetStreamsThatAreGone(t *testing.T) {
	var u users
	open := make([]*User, 100)
	for i := range open {
		open[i] = new(User)
		u.add(open[i])
	}
	for range 10000 {
		s := new(User)
		u.add(s)
		s.Gone.Store(true)
		require.LessOrEqual(t, len(u.list), 2*len(open)+2)
	}
	for _, s := range open {
		require.True(t, u.has(s))
		u.add(s)
		s.Gone.Store(true)
	}
	require.Equal(t, len(u.list), len(u.index))
	for range 3 * len(open) { // none of them is open now
		s := new(User)
		u.add(s)
		s.Gone.Store(true)
	}
	require.LessOrEqual(t, len(u.list), 2)
	require.Equal(t, len(u.list), len(u.index))
}

// Without an index the list is as good.
func TestUsersFewStreams(t *testing.T) {
	var u users
	a, b, c := new(User), new(User), new(User)
	for _, s := range []*User{a, b, a, b} {
		u.add(s)
	}
	require.Equal(t, []*User{a, b}, u.list)
	a.Gone.Store(true)
	u.add(c)
	require.ElementsMatch(t, []*User{b, c}, u.list)
	require.Nil(t, u.index)
}

// A memory used by one stream at a time, each gone before the next, remembers the last of them.
func TestMemoryForgetsStreamsOneByOne(t *testing.T) {
	var s Uses
	for range 1000 {
		st := new(User)
		s.Note(st)
		st.Gone.Store(true)
	}
	require.Nil(t, s.users)
}
