package hal

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A memory remembers the streams that are open, and no more than as many that are gone.
func TestUsersForgetStreamsThatAreGone(t *testing.T) {
	var u users
	open := make([]*streamState, 100)
	for i := range open {
		open[i] = new(streamState)
		u.add(open[i])
	}
	for range 10000 {
		s := new(streamState)
		u.add(s)
		s.gone.Store(true)
		require.LessOrEqual(t, len(u.list), 2*len(open)+2)
	}
	for _, s := range open {
		require.True(t, u.has(s))
		u.add(s)
		s.gone.Store(true)
	}
	require.Equal(t, len(u.list), len(u.index))
	for range 3 * len(open) { // none of them is open now
		s := new(streamState)
		u.add(s)
		s.gone.Store(true)
	}
	require.LessOrEqual(t, len(u.list), 2)
	require.Equal(t, len(u.list), len(u.index))
}

// Without an index the list is as good.
func TestUsersFewStreams(t *testing.T) {
	var u users
	a, b, c := new(streamState), new(streamState), new(streamState)
	for _, s := range []*streamState{a, b, a, b} {
		u.add(s)
	}
	require.Equal(t, []*streamState{a, b}, u.list)
	a.gone.Store(true)
	u.add(c)
	require.ElementsMatch(t, []*streamState{b, c}, u.list)
	require.Nil(t, u.index)
}

// A memory used by one stream at a time, each gone before the next, remembers the last of them.
func TestMemoryForgetsStreamsOneByOne(t *testing.T) {
	var s memoryState
	for range 1000 {
		st := new(streamState)
		s.note(st)
		st.gone.Store(true)
	}
	require.Nil(t, s.users)
}
