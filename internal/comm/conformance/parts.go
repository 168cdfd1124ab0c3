package conformance

import (
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

// parts says where the ranks' parts of some memory lie.
type parts struct{ driver.Parts }

// layout makes parts of the given lengths, with a gap before each, in the reverse order of the ranks.
func (t *trial) layout(length func(i int) uint64) parts {
	p := parts{driver.Parts{Counts: make([]uint64, t.size), Offsets: make([]uint64, t.size)}}
	end := uint64(0)
	for i := t.size - 1; i >= 0; i-- {
		end += uint64(i%3 + 1)
		p.Counts[i], p.Offsets[i] = length(i), end
		end += p.Counts[i]
	}
	return p
}

// parts makes a layout whose parts have the lengths 0, n, 2n and 3n, over and over.
func (t *trial) parts(n int) parts { return t.layout(func(i int) uint64 { return uint64(i % 4 * n) }) }

func (p parts) end() int {
	end := uint64(0)
	for i := range p.Counts {
		end = max(end, p.Offsets[i]+p.Counts[i])
	}
	return int(end)
}

// of returns the part of rank i.
func (p parts) of(a *area, i int) []byte { return a.b[p.Offsets[i] : p.Offsets[i]+p.Counts[i]] }

// at returns the address at an offset in an area, or its end.
func at(a *area, off int) unsafe.Pointer { return unsafe.Add(a.p, off) }
