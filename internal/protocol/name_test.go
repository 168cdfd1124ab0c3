package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The definitions of the six names, each by itself.
var definitions = map[Name]func(s State) bool{
	Uninitialized: func(s State) bool { return s.Valid == 0 },
	HostOnly:      func(s State) bool { return s.Valid.Has(Host) && s.Allocated == Of(Host) },
	DeviceOnly:    func(s State) bool { return s.Valid != 0 && !s.Allocated.Has(Host) },
	Synchronized: func(s State) bool {
		return s.Valid.Has(Host) && s.Allocated.Len() > 1 && s.Valid == s.Allocated
	},
	HostDirty: func(s State) bool { return s.Valid.Has(Host) && s.Valid != s.Allocated },
	DeviceDirty: func(s State) bool {
		return s.Valid != 0 && s.Allocated.Has(Host) && !s.Valid.Has(Host)
	},
}

func TestEveryStateHasExactlyOneName(t *testing.T) {
	states := 0
	seen := map[Name]int{}
	for allocated := Set(0); allocated < 64; allocated++ {
		for valid := Set(0); valid <= allocated; valid++ {
			if valid&^allocated != 0 {
				continue
			}
			s := State{allocated, valid}
			states++
			seen[s.Name()]++
			for _, n := range Names() {
				require.Equal(t, n == s.Name(), definitions[n](s), "%v: %v, called %v", n, s, s.Name())
			}
		}
	}
	assert.Equal(t, 729, states, "3⁶ states of 6 places")
	assert.Len(t, seen, len(Names()), "each name is in use")
	assert.Len(t, definitions, len(Names()))
}

func TestVersionIsHeldWhereValid(t *testing.T) {
	s := State{Of(0, 1, 2), Of(0, 2)}
	assert.Equal(t, int64(7), s.Version(0, 7))
	assert.Equal(t, int64(-1), s.Version(1, 7))
	assert.Equal(t, int64(7), s.Version(2, 7))
	assert.Equal(t, int64(-1), s.Version(NoPlace, 7))
}
