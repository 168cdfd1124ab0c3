package main

import (
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// memory is memory of the layer.
type memory struct {
	driver.Memory
	d      *device
	kind   driver.Kind
	size   uint64
	opened bool // memory of another process
	cached bool // the device keeps it when it is freed
	freed  atomic.Bool
}

func (m *memory) b() *backend { return m.d.b }

func (m *memory) Size() uint64 {
	n, p := m.size, point{"Memory.Size", ""}
	m.b().low(p.method, "size", &n)
	switch {
	case m.b().is(nothing, p):
		return 0
	case m.b().is(short, p):
		return n - 1
	}
	return n
}

func (m *memory) Handle() uintptr {
	h, p := uint64(m.Memory.Handle()), point{"Memory.Handle", ""}
	m.b().low(p.method, "handle", &h)
	if m.b().is(nothing, p) {
		return 0
	}
	return uintptr(h)
}

func (m *memory) HostPointer() unsafe.Pointer {
	switch {
	case m.b().is(nothing, point{"Memory.HostPointer", ""}):
		return nil
	case m.b().large && m.kind == driver.KindDevice:
		return nil
	}
	return m.Memory.HostPointer()
}

func (m *memory) FreeMayBlock() bool { return m.b().mayBlock(m.Memory) }

func (m *memory) Free() error {
	p := point{"Memory.Free", kindNames[m.kind]}
	if m.opened {
		p.class = "of another process"
	}
	return m.b().release(p, func() error {
		if m.freed.Swap(true) && !m.b().is(twice, p) {
			return nil // a mutant has given it out twice
		}
		if m.cached {
			m.d.mu.Lock()
			m.d.kept = append(m.d.kept, m.Memory)
			m.d.mu.Unlock()
			return nil
		}
		if p := m.Memory.HostPointer(); p != nil {
			m.b().locked.Delete(uintptr(p))
		}
		return m.Memory.Free()
	})
}

// below is the region of the memory below.
func below(r driver.Region) driver.Region {
	if m, ok := r.Mem.(*memory); ok {
		r.Mem = m.Memory
	}
	return r
}

// pieceSize is how much of each end of a very long piece of work the large backend does.
const pieceSize = 1 << 20

// pieces are the parts of a length that are worked on: all, but for lengths of the large backend that take seconds. There they are those
// around which the suite looks.
func (b *backend) pieces(n uint64, do func(off, n uint64) error) error {
	if !b.large || n < 1<<30 {
		return do(0, n)
	}
	for _, at := range []uint64{0, 1<<24 - pieceSize/2, 1<<31 - pieceSize/2, 1<<32 - pieceSize/2, n - pieceSize} {
		if at < n {
			if err := do(at, min(pieceSize, n-at)); err != nil {
				return err
			}
		}
	}
	return nil
}
