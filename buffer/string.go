package buffer

import (
	"fmt"
	"strings"
)

// The String methods take no locks, so that observers may call them.

// String says how many elements of which type the buffer has, for fmt.Println and logs. It does not look at the elements.
func (b *Buffer[T]) String() string {
	var element T
	if b == nil || b.s == nil {
		return fmt.Sprintf("no buffer of %T", element)
	}
	return fmt.Sprintf("buffer of %d %T", b.Len(), element)
}

// String lists where the elements are: "DEVICE_DIRTY, version 3: host not current, cuda:0 current".
func (s State) String() string {
	places := make([]string, len(s.Places))
	for i, p := range s.Places {
		places[i] = p.String()
	}
	return fmt.Sprintf("%s, version %d: %s", s.Name, s.Version, strings.Join(places, ", "))
}

// String says whether the place's bytes are current.
func (p PlaceState) String() string {
	switch {
	case !p.Allocated:
		return p.Place + " without memory"
	case p.Valid:
		return p.Place + " current"
	}
	return p.Place + " not current"
}

// String says which bytes of the buffer are leased, for fmt.Println and logs. It does not say whether the lease is stale.
func (l Lease) String() string {
	if l.x == nil {
		return "no lease"
	}
	return fmt.Sprintf("lease of bytes [%d, %d)", l.lo, l.hi)
}
