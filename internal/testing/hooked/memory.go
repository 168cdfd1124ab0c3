package hooked

import (
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// Memory is Bytes bytes of the memory below, from Off on.
type Memory struct {
	driver.Memory
	Device     *Device
	Kind       driver.Kind
	Bytes, Off uint64
	Lent       bool // PlainFree does not free the memory below
	Data       any  // for the hooks' own use
}

func (d *Device) wrap(m driver.Memory, kind driver.Kind, size uint64, err error) (*Memory, error) {
	if err != nil {
		return nil, err
	}
	return &Memory{Memory: m, Device: d, Kind: kind, Bytes: size}, nil
}

// below returns the region of the memory below that r stands for.
func below(r driver.Region) driver.Region {
	m, ok := r.Mem.(*Memory)
	if !ok { // the null pointer
		return r
	}
	return driver.Region{Mem: m.Memory, Off: m.Off + r.Off, Len: r.Len}
}

// All returns the region of the memory below that m stands for.
func (m *Memory) All() driver.Region { return driver.Region{Mem: m.Memory, Off: m.Off, Len: m.Bytes} }

// Size implements driver.Memory.
func (m *Memory) Size() uint64 { return m.Bytes }

// Handle implements driver.Memory.
func (m *Memory) Handle() uintptr { return m.Memory.Handle() + uintptr(m.Off) }

// PlainHostPointer returns the host's address of m in the memory below.
func (m *Memory) PlainHostPointer() unsafe.Pointer {
	if p := m.Memory.HostPointer(); p != nil {
		return unsafe.Add(p, m.Off)
	}
	return nil
}

// HostPointer implements driver.Memory.
func (m *Memory) HostPointer() unsafe.Pointer {
	if f := m.Device.Layer.HostPointer; f != nil {
		return f(m)
	}
	return m.PlainHostPointer()
}

// FreeMayBlock implements driver.FreeBlocker.
func (m *Memory) FreeMayBlock() bool {
	if f := m.Device.Layer.FreeMayBlock; f != nil {
		return f(m)
	}
	b, ok := m.Memory.(driver.FreeBlocker)
	return ok && b.FreeMayBlock()
}

// PlainFree frees the memory below, unless it is lent.
func (m *Memory) PlainFree() error {
	if m.Lent {
		return nil
	}
	return m.Memory.Free()
}

// Free implements driver.Memory.
func (m *Memory) Free() error {
	return m.Device.release("Free", func() error {
		if f := m.Device.Layer.Free; f != nil {
			return f(m)
		}
		return m.PlainFree()
	})
}
