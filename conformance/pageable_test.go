package conformance_test

import (
	"sync"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
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
	var g hooks
	g.Alloc = func(d *hooked.Device, kind driver.Kind, size, align uint64) (*hooked.Memory, error) {
		m, err := d.PlainAlloc(kind, size, align)
		if err == nil && kind == driver.KindHost {
			p.add(m.PlainHostPointer(), size)
		}
		return m, err
	}
	g.Register = func(d *hooked.Device, at unsafe.Pointer, size uint64) (*hooked.Memory, error) {
		m, err := d.PlainRegister(at, size)
		if err == nil {
			p.add(at, size)
		}
		return m, err
	}
	g.Free = func(m *hooked.Memory) error {
		if m.Kind == driver.KindHost {
			p.remove(m.PlainHostPointer())
		}
		return free(m)
	}
	g.CopyIn = func(s *hooked.Stream, dst driver.Region, src unsafe.Pointer) error {
		err := s.Stream.CopyIn(dst, src)
		if err == nil && !p.has(src, dst.Len) {
			err = s.Stream.Sync()
		}
		return err
	}
	g.CopyOut = func(s *hooked.Stream, dst unsafe.Pointer, src driver.Region) error {
		err := s.Stream.CopyOut(dst, src)
		if err == nil && !p.has(dst, src.Len) {
			err = s.Stream.Sync()
		}
		return err
	}
	const why = "replicas of less than 64 KiB are not page-locked, so that copies of them wait for the stream in the driver"
	unordered := withInfo(func(_ *shim, i *driver.Info) { i.Caps &^= driver.CapOrderedPageable })
	runBut(t, newShim(bugs{unordered, g}).harness(), nil, map[string]string{
		"Coherence/ViewHonoursContext": why,
		"Coherence/CloseWhileInFlight": why,
	})
}
