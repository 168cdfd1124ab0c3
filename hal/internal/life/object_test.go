package life

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAHandleIsFinishedOnce(t *testing.T) {
	const all = 5000
	rounds := all
	if testing.Short() {
		rounds = 500
	}
	for i := range rounds {
		var h Handle
		var finished atomic.Int32
		var wg sync.WaitGroup
		for range 4 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for h.Enter() {
					runtime.Gosched()
					if h.Leave() {
						finished.Add(1)
					}
				}
			}()
		}
		runtime.Gosched()
		if _, finish := h.Close(); finish {
			finished.Add(1)
		}
		wg.Wait()
		if n := finished.Load(); n != 1 {
			t.Fatalf("round %d: finished %d times", i, n)
		}
	}
	t.Logf("did %d of %d rounds", rounds, all)
}

// A call that goes on elsewhere keeps a handle that is closed meanwhile from being finished.
func TestAHandleThatIsClosedMeanwhile(t *testing.T) {
	var h Handle
	if !h.Enter() {
		t.Fatal("a new handle is closed")
	}
	if first, finish := h.Close(); !first || finish {
		t.Fatal("closed with a call under way: ", first, finish)
	}
	h.Stay()
	if h.Leave() || !h.Closed() || h.Enter() {
		t.Fatal("the first call has left, and the other one is under way")
	}
	if !h.Leave() || !h.Closed() || h.Enter() {
		t.Fatal("the last call has left")
	}
	if first, finish := h.Close(); first || finish {
		t.Fatal("closed twice: ", first, finish)
	}
}

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
