package model

import "slices"

// Simplify returns a program that fails and is no longer than p: it leaves out operations, and shortens ranges, as long as the program fails. It calls
// fails at most the given number of times.
func Simplify(p Program, runs int, fails func(Program) bool) Program {
	try := func(q Program) bool {
		runs--
		if runs < 0 || !fails(q) {
			return false
		}
		p = q
		return true
	}
	for size := len(p.Operations); size > 0; {
		smaller := false
		for at := 0; at+size <= len(p.Operations); {
			if try(Program{p.Elements, slices.Delete(slices.Clone(p.Operations), at, at+size)}) {
				smaller = true
			} else {
				at += size
			}
		}
		if !smaller || size > len(p.Operations) {
			size = min(size/2, len(p.Operations))
		}
	}
	for i := range p.Operations {
		for _, simpler := range []func(o *Operation){
			func(o *Operation) { o.Stream = 0 },
			func(o *Operation) { o.From, o.To = o.Lo, o.Hi },
			func(o *Operation) { o.Hi = o.Lo + (o.Hi-o.Lo)/2 },
			func(o *Operation) { o.Lo = o.Hi - (o.Hi-o.Lo)/2 },
		} {
			for {
				q := Program{p.Elements, slices.Clone(p.Operations)}
				o := &q.Operations[i]
				k := kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == o.Kind })]
				if simpler(o); k.writes {
					o.From, o.To = max(o.From, o.Lo), min(o.To, o.Hi)
				} else {
					o.From, o.To = 0, 0
				}
				if *o == p.Operations[i] || !k.fits(*o, p.Elements) || !try(q) {
					break
				}
			}
		}
	}
	return p
}
