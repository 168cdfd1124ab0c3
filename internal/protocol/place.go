package protocol

import (
	"iter"
	"math/bits"
	"strconv"
	"strings"
)

// Place is where a replica of a buffer can live: 0 is the host, 1 to 63 are devices. Devices that
// work on the same memory share a place.
type Place uint8

const (
	// Host is the place of host memory.
	Host Place = 0

	// MaxPlaces is the number of places: Host and 63 devices.
	MaxPlaces = 64

	// NoPlace is no place at all. As the source of a [Move] it stands for zeros.
	NoPlace Place = 255
)

// Usable reports whether p is the host or one of the 63 devices.
func (p Place) Usable() bool { return p < MaxPlaces }

// String returns "host", "device 3", "none" or, for any other value, "place(200)".
func (p Place) String() string {
	switch {
	case p == Host:
		return "host"
	case p < MaxPlaces:
		return "device " + strconv.Itoa(int(p))
	case p == NoPlace:
		return "none"
	}
	return "place(" + strconv.Itoa(int(p)) + ")"
}

// Set is a set of places, one bit for each.
type Set uint64

// Of returns the set of the given places. Places that are not usable are left out.
func Of(places ...Place) Set {
	var s Set
	for _, p := range places {
		s |= 1 << p
	}
	return s
}

// Has reports whether p is in the set.
func (s Set) Has(p Place) bool { return s>>p&1 != 0 }

// With returns the set with p added. It returns s if p is not usable.
func (s Set) With(p Place) Set { return s | 1<<p }

// Without returns the set without p.
func (s Set) Without(p Place) Set { return s &^ (1 << p) }

// Len is the number of places in the set.
func (s Set) Len() int { return bits.OnesCount64(uint64(s)) }

// First returns the lowest place, which is Host if the set has it, or NoPlace if the set is empty.
func (s Set) First() Place {
	if s == 0 {
		return NoPlace
	}
	return Place(bits.TrailingZeros64(uint64(s)))
}

// All yields the places from the lowest up.
func (s Set) All() iter.Seq[Place] {
	return func(yield func(Place) bool) {
		for ; s != 0; s &= s - 1 {
			if !yield(s.First()) {
				return
			}
		}
	}
}

// String lists the set as "{host, 1, 5}".
func (s Set) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for ; s != 0; s &= s - 1 {
		if b.Len() > 1 {
			b.WriteString(", ")
		}
		if p := s.First(); p == Host {
			b.WriteString("host")
		} else {
			b.WriteString(strconv.Itoa(int(p)))
		}
	}
	b.WriteByte('}')
	return b.String()
}
