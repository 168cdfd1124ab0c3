package filebackend

import (
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// memory is one allocation: a range of the device's file, or memory of the host.
type memory struct {
	dev  *device
	kind driver.Kind
	size uint64

	at   extent // of KindDevice
	host []byte // of KindHost, size bytes
}

var _ driver.Memory = (*memory)(nil)

// Alloc implements driver.Device.
func (d *device) Alloc(kind driver.Kind, size, align uint64) (driver.Memory, error) {
	m := &memory{dev: d, kind: kind, size: size}
	align = max(align, d.info.Alignment)
	switch kind {
	case driver.KindDevice:
		var ok bool
		if m.at, ok = d.drive.take(size, align); !ok {
			return nil, d.failure("alloc", driver.ErrOutOfMemory, "the file has no free range of that size")
		}
	case driver.KindHost:
		m.host = aligned(size, align)
	default:
		return nil, d.failure("alloc", driver.ErrUnsupported, "%v memory", kind)
	}
	return m, nil
}

// aligned returns size bytes of the Go heap, which does not move them.
func aligned(size, align uint64) []byte {
	b := make([]byte, size+align)
	pad := -uint64(uintptr(unsafe.Pointer(&b[0]))) & (align - 1)
	return b[pad:][:size:size]
}

// Size implements driver.Memory.
func (m *memory) Size() uint64 { return m.size }

// Handle implements driver.Memory: the offset in the file, or the address on the host.
func (m *memory) Handle() uintptr {
	if m.host != nil {
		return uintptr(unsafe.Pointer(&m.host[0]))
	}
	return uintptr(m.at.off)
}

// HostPointer implements driver.Memory.
func (m *memory) HostPointer() unsafe.Pointer {
	if m.host == nil {
		return nil
	}
	return unsafe.Pointer(&m.host[0])
}

// Free implements driver.Memory.
func (m *memory) Free() error {
	if m.kind == driver.KindHost {
		m.host = nil
		return nil
	}
	m.dev.drive.give(m.at)
	return nil
}

func (m *memory) write(off uint64, src []byte) error {
	if m.host != nil {
		copy(m.host[off:], src)
		return nil
	}
	return m.dev.check("copy", "write", m.dev.drive.write(src, m.at.off+off))
}

func (m *memory) read(dst []byte, off uint64) error {
	if m.host != nil {
		copy(dst, m.host[off:])
		return nil
	}
	return m.dev.check("copy", "read", m.dev.drive.read(dst, m.at.off+off))
}
