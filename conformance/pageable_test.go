package conformance_test

import (
	"sync"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// pinned remembers which host memory is page-locked.
type pinned struct {
	mu     sync.Mutex
	blocks map[uintptr]uint64 // bytes by address
}

func (p *pinned) add(at unsafe.Pointer, n uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blocks[uintptr(at)] = n
}

func (p *pinned) remove(at unsafe.Pointer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.blocks, uintptr(at))
}

func (p *pinned) has(at unsafe.Pointer, n uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for start, size := range p.blocks {
		if a := uintptr(at); a >= start && a+uintptr(n) <= start+uintptr(size) {
			return true
		}
	}
	return false
}

// A device like CUDA's: copies from and to host memory that is not page-locked hold up the caller until
// they are done.
func TestPageableCopiesBlock(t *testing.T) {
	p := &pinned{blocks: map[uintptr]uint64{}}
	g := withInfo(func(_ *shim, i *driver.Info) { i.Caps &^= driver.CapOrderedPageable })
	g.alloc = func(d *shimDevice, kind driver.Kind, size, align uint64) (*shimMemory, error) {
		m, err := d.alloc(kind, size, align)
		if err == nil && kind == driver.KindHost {
			p.add(m.pointer(), size)
		}
		return m, err
	}
	g.register = func(d *shimDevice, at unsafe.Pointer, size uint64) (*shimMemory, error) {
		real, err := d.real.(driver.Registerer).Register(at, size)
		if err != nil {
			return nil, err
		}
		p.add(at, size)
		return &shimMemory{real: real, d: d, kind: driver.KindHost, size: size, registered: at}, nil
	}
	g.free = func(m *shimMemory) error {
		if m.kind == driver.KindHost {
			p.remove(m.pointer())
		}
		return m.free()
	}
	g.copyIn = func(s *shimStream, dst driver.Region, src unsafe.Pointer) error {
		err := s.real.CopyIn(dst, src)
		if err == nil && !p.has(src, dst.Len) {
			err = s.real.Sync()
		}
		return err
	}
	g.copyOut = func(s *shimStream, dst unsafe.Pointer, src driver.Region) error {
		err := s.real.CopyOut(dst, src)
		if err == nil && !p.has(dst, src.Len) {
			err = s.real.Sync()
		}
		return err
	}
	const why = "replicas of less than 64 KiB are not page-locked, so that copies of them wait for the stream in the driver"
	runBut(t, newShim(g).harness(), nil, map[string]string{
		"Coherence/ViewHonoursContext": why,
		"Coherence/CloseWhileInFlight": why,
	})
}
