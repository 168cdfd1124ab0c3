package model

import "math/rand/v2"

// Draw chooses a number from lo to hi, both included. The label says what for.
type Draw func(label string, lo, hi int) int

// Generate draws a program for a fleet, of at most the given numbers of elements and operations.
func Generate(draw Draw, f Fleet, elements, operations int) Program {
	p := Program{Elements: draw("elements", 1, elements)}
	for range draw("operations", 1, operations) {
		k := kinds[draw("kind", 0, len(kinds)-1)]
		o := Operation{Kind: k.name}
		if k.devices {
			first := 1
			if k.host {
				first = 0
			}
			if o.Place = draw("place", first, len(f.Devices)); o.Place > 0 {
				o.Stream = draw("stream", 0, len(f.Streams[o.Place-1])-1)
			}
		}
		if k.ranged {
			o.Lo = draw("lo", 0, p.Elements-1)
			o.Hi = draw("hi", o.Lo+1, p.Elements)
		}
		if k.writes {
			o.From = draw("from", o.Lo, o.Hi-1)
			o.To = draw("to", o.From+1, o.Hi)
		}
		p.Operations = append(p.Operations, o)
	}
	return p
}

// Seeded returns a Draw of evenly distributed numbers, which are the same for the same seed.
func Seeded(seed uint64) Draw {
	rng := rand.New(rand.NewPCG(seed, 0x4a11a4d))
	return func(_ string, lo, hi int) int { return lo + rng.IntN(hi-lo+1) }
}
