package conformance_test

import (
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal/driver"
)

// A mapped shim has memory that host and device take turns with, as OpenCL's buffers are: the host sees
// what the device had when it mapped the memory, and the device what the host had when it was unmapped.

// NeedsMap implements driver.Mapped.
func (m *shimMemory) NeedsMap() bool { return m.d.b.bug.mapped != nil && m.d.b.bug.mapped(m.kind) }

// view is where the host finds mapped memory.
func (m *shimMemory) view() unsafe.Pointer {
	if m.registered != nil {
		return m.registered
	}
	if m.shadow == nil {
		m.shadow = make([]byte, m.size)
		for i := range m.shadow {
			m.shadow[i] = 0xC3 // what nobody takes for the contents
		}
	}
	return unsafe.Pointer(&m.shadow[0])
}

func (m *shimMemory) region() driver.Region {
	return driver.Region{Mem: m.real, Off: m.off, Len: m.size}
}

// Map implements driver.Mapper.
func (s *shimStream) Map(mem driver.Memory, write bool) error {
	m := mem.(*shimMemory)
	if err := s.d.fail("Map"); err != nil {
		return err
	}
	m.writable = write
	return s.real.CopyOut(m.view(), m.region())
}

// Unmap implements driver.Mapper.
func (s *shimStream) Unmap(mem driver.Memory) error {
	m := mem.(*shimMemory)
	if err := s.d.fail("Unmap"); err != nil {
		return err
	}
	if !m.writable {
		return nil
	}
	return s.real.CopyIn(m.region(), m.view())
}

// registerApart registers host memory that the device has its own block for.
func registerApart(d *shimDevice, p unsafe.Pointer, size uint64) (*shimMemory, error) {
	// The backend knows what overlaps.
	real, err := d.real.(driver.Registerer).Register(p, size)
	if err != nil {
		return nil, err
	}
	block, err := d.real.Alloc(driver.KindHost, size, 0)
	if err != nil {
		_ = real.Free()
		return nil, err
	}
	s, err := d.real.NewStream(driver.StreamOptions{})
	if err == nil {
		err = s.CopyIn(driver.Region{Mem: block, Len: size}, p)
	}
	if err == nil {
		err = s.Sync()
	}
	return &shimMemory{real: block, d: d, kind: driver.KindHost, size: size, registered: p, registration: real}, err
}

func mappedBug(mapped func(driver.Kind) bool, change func(i *driver.Info)) bug {
	return bug{
		mapped:   mapped,
		register: registerApart,
		info: func(_ *shim, i driver.Info) driver.Info {
			if i.Ordinal > 0 {
				i.Caps |= driver.CapMustMap
				i.Caps &^= driver.CapConcurrentShared | driver.CapShared
				change(&i)
			}
			return i
		},
	}
}

// The discrete device's host memory takes turns.
func TestMappedDevice(t *testing.T) {
	conformance.Run(t, newShim(mappedBug(func(k driver.Kind) bool { return k == driver.KindHost }, func(*driver.Info) {})).harness())
}

// The unified device's memory takes turns, all of it.
func TestMappedUnifiedDevice(t *testing.T) {
	h := newShim(mappedBug(func(driver.Kind) bool { return true }, func(i *driver.Info) {
		i.SharesHostMemory = true
		i.Caps &^= driver.CapAddress
	})).harness()
	conformance.Run(t, h)
}
