package protocol

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestSetHoldsPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := map[Place]bool{}
		var s Set
		for _, p := range rapid.SliceOf(rapid.Uint8Range(0, 70)).Draw(t, "places") {
			if rapid.Bool().Draw(t, "add") {
				s = s.With(Place(p))
				if Place(p).Usable() {
					want[Place(p)] = true
				}
			} else {
				s = s.Without(Place(p))
				delete(want, Place(p))
			}
		}
		var sorted []Place
		for p := Place(0); p < 255; p++ {
			if s.Has(p) != want[p] {
				t.Fatalf("Has(%d) is %t", p, s.Has(p))
			}
			if want[p] {
				sorted = append(sorted, p)
			}
		}
		if s.Len() != len(sorted) || !slices.Equal(slices.Collect(s.All()), sorted) || Of(sorted...) != s {
			t.Fatalf("%v is not %v", s, sorted)
		}
		first := NoPlace
		if len(sorted) > 0 {
			first = sorted[0]
		}
		if s.First() != first {
			t.Fatalf("First is %v", s.First())
		}
	})
}

func TestSetAllStopsWhenToldTo(t *testing.T) {
	for p := range Of(3, 4, 5).All() {
		assert.Equal(t, Place(3), p)
		break
	}
}

func TestSetLeavesOutWhatIsNoPlace(t *testing.T) {
	assert.Equal(t, Of(1), Of(1, 64, 200, NoPlace))
	assert.False(t, (^Set(0)).Has(NoPlace))
	assert.False(t, (^Set(0)).Has(64))
}

func TestValuesPrintAsWords(t *testing.T) {
	for want, got := range map[string]interface{ String() string }{
		"{}":               Set(0),
		"{host, 1, 63}":    Of(63, Host, 1),
		"host":             Host,
		"device 7":         Place(7),
		"none":             NoPlace,
		"place(64)":        Place(64),
		"ReadWrite":        ReadWrite,
		"Action(9)":        Action(9),
		"HOST_DIRTY":       HostDirty,
		"Name(6)":          Name(6),
		"host → device 1":  Move{Host, 1},
		"zeros → host":     Move{NoPlace, Host},
		"valid {1} of {1}": State{Of(1), Of(1)},
		"sole or shared":   WhenValid,
		"always":           WhenAlways,
		"copy to p":        SupplyCopy,
		"?":                Supply(9),
	} {
		assert.Equal(t, want, got.String())
	}
}
