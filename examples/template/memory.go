package template

import (
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// memory is one allocation: a block of the card, or memory of the host.
type memory struct {
	dev  *device
	kind driver.Kind
	size uint64

	block *block // of KindDevice
	host  []byte // of KindHost, size bytes
}

var _ driver.Memory = (*memory)(nil)

// Alloc implements driver.Device. size is at least 1 and at most Info.MaxAlloc, align 0 or a power of two up to
// Info.MaxAlign. It guarantees:
//
//   - memory that no other allocation overlaps, aligned to align, or to Info.Alignment if align is 0. Memory without an
//     address (no CapAddress) has the vendor's alignment;
//   - nothing about contents: a program that wants zeros fills the memory;
//   - KindDevice is memory of the device. If the host could see it, HostPointer would say where, and Info.SharesHostMemory
//     would be set;
//   - KindHost is memory that host and device both reach. Every backend has it. A vendor's library page-locks it, so
//     that copies need not go through another buffer;
//   - KindShared is only asked for with CapShared;
//   - too little memory is ErrOutOfMemory. Package hal then frees closed memory that is no longer in use, and tries once more. If
//     that fails, too, it adds the numbers to the error;
//   - it does not wait for streams.
//
// It is called by many goroutines at once, as every method is.
func (d *device) Alloc(kind driver.Kind, size, align uint64) (driver.Memory, error) {
	m := &memory{dev: d, kind: kind, size: size}
	switch kind {
	case driver.KindDevice:
		b, st := d.card.alloc(size)
		if err := d.check("alloc", "memAlloc", st); err != nil {
			return nil, err
		}
		m.block = b
	case driver.KindHost:
		// REPLACE with the vendor's page-locked memory.
		m.host = aligned(size, max(align, d.info.Alignment))
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

// Size implements driver.Memory: the size that was asked for, even if the vendor gave more.
func (m *memory) Size() uint64 { return m.size }

// Handle implements driver.Memory: what the vendor's launches take, never 0. With CapAddress it is the address at which
// the device finds the bytes, and programs add offsets to it. Without CapAddress programs only pass it on.
func (m *memory) Handle() uintptr {
	if m.block != nil {
		return m.block.id
	}
	return uintptr(unsafe.Pointer(&m.host[0]))
}

// HostPointer implements driver.Memory: nil for memory that the host cannot touch.
func (m *memory) HostPointer() unsafe.Pointer {
	if m.host == nil {
		return nil
	}
	return unsafe.Pointer(&m.host[0])
}

// Free implements driver.Memory. All work that uses the memory has finished, on every stream. Free must not wait. If it
// returns an error, the memory counts as freed all the same.
func (m *memory) Free() error {
	if m.block == nil {
		m.host = nil
		return nil
	}
	return m.dev.check("free", "memFree", m.dev.card.free(m.block))
}

// write and read are the only methods that access the bytes: every copy and fill in copy.go uses them. Streams call them
// when the work's turn has come.

func (m *memory) write(off uint64, src []byte) error {
	if m.host != nil {
		copy(m.host[off:], src)
		return nil
	}
	return m.dev.check("copy", "memWrite", m.dev.card.write(m.block, off, src))
}

func (m *memory) read(dst []byte, off uint64) error {
	if m.host != nil {
		copy(dst, m.host[off:])
		return nil
	}
	return m.dev.check("copy", "memRead", m.dev.card.read(dst, m.block, off))
}
