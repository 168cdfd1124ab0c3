package life

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// busy is a user with work under way, which never ends unless it is gone.
func busy() *User {
	u := new(User)
	u.Pending = func() func() bool {
		if u.Gone.Load() {
			return nil
		}
		return u.Gone.Load
	}
	return u
}

// An object remembers the users that are open, and no more than about as many that are gone.
func TestUsesForgetUsersThatAreGone(t *testing.T) {
	var u Uses
	open := make([]*User, 100)
	for i := range open {
		open[i] = busy()
		u.Note(open[i])
	}
	for range 10000 {
		s := busy()
		u.Note(s)
		s.Gone.Store(true)
		require.LessOrEqual(t, len(u.others), 2*len(open))
	}
	over := u.Over()
	for _, s := range open {
		require.False(t, over(), "an open user is forgotten")
		s.Gone.Store(true)
	}
	require.True(t, over())
}

// Each of a few users that come again and again is waited for, in whatever order they end.
func TestUsesOfFewUsers(t *testing.T) {
	a, b, c := busy(), busy(), busy()
	for _, end := range [][]*User{{a, b, c}, {c, b, a}, {b, a, c}} {
		var u Uses
		for _, s := range []*User{a, b, a, b, c, b} {
			s.Gone.Store(false)
			u.Note(s)
		}
		over := u.Over()
		require.Nil(t, u.Over(), "nothing is remembered")
		for _, s := range end {
			require.False(t, over())
			s.Gone.Store(true)
		}
		require.True(t, over())
	}
}

// An object that is used by one user at a time, each gone before the next, remembers the last of them.
func TestUsesForgetUsersOneByOne(t *testing.T) {
	var u Uses
	for range 1000 {
		s := busy()
		u.Note(s)
		s.Gone.Store(true)
	}
	require.Nil(t, u.others)
	require.Nil(t, u.Over())
}
