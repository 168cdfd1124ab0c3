package hooked

import "github.com/go-halyard/halyard/hal/driver"

// memory is memory whose Free calls the test's function first, and says that it may wait.
type memory struct {
	driver.Memory
	b *Backend
}

func (m *memory) FreeMayBlock() bool { return true }

func (m *memory) Free() error {
	m.b.Free()
	return m.Memory.Free()
}

// raw is the region of the other backend's memory.
func raw(r driver.Region) driver.Region {
	if m, ok := r.Mem.(*memory); ok {
		r.Mem = m.Memory
	}
	return r
}

func (s *stream) Copy(dst, src driver.Region) error { return s.Stream.Copy(raw(dst), raw(src)) }

func (s *stream) Fill(dst driver.Region, p driver.Pattern) error { return s.Stream.Fill(raw(dst), p) }
