package host

import (
	"os"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/memcopy"
	"github.com/go-halyard/halyard/internal/pages"
)

const (
	mapFrom   = 256 << 10 // bytes; memory of this size or more is mapped, smaller memory comes from the Go heap
	hugeFrom  = 4 << 20   // bytes; memory of this size or more asks for huge pages
	hugePage  = 2 << 20   // bytes
	checkFrom = 16 << 20  // bytes; before an allocation of this size or more the system is asked for its free memory

	// poison is what new memory holds.
	poison = 0xA5

	// Larger memory of the unified device is poisoned at both ends only, so that pages which are never used cost nothing.
	poisonWhole = 8 << 20 // bytes
	poisonEnd   = 1 << 20 // bytes
)

// memory is one allocation, or registered or imported memory of the program.
type memory struct {
	dev     *device
	kind    driver.Kind
	base    unsafe.Pointer
	size    uint64
	visible bool // the host may use base
	locked  bool // all its pages are locked

	heap       []byte // keeps base alive, for memory of the Go heap
	mapping    []byte // pages to give back to the system
	registered bool
	imported   bool // owned by the program
}

var _ driver.Memory = (*memory)(nil)

func (d *device) Alloc(kind driver.Kind, size, align uint64) (driver.Memory, error) {
	m, err := d.alloc("alloc", kind, size, align)
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (d *device) alloc(op string, kind driver.Kind, size, align uint64) (*memory, error) {
	if align == 0 {
		align = defaultAlign
	}
	m := &memory{dev: d, kind: kind, size: size, visible: d.info.SharesHostMemory || kind != driver.KindDevice}
	if m.counted() && !d.hardware.take(size) {
		return nil, d.shortage(op, nil, "the device's memory limit is reached")
	}
	if err := m.obtain(op, align); err != nil {
		if m.counted() {
			d.hardware.giveBack(size)
		}
		return nil, err
	}
	if !m.visible {
		d.hardware.blocks.add(uintptr(m.base), uintptr(m.base)+uintptr(size))
	}
	m.spoil()
	return m, nil
}

// counted reports whether m counts against the device's memory limit.
func (m *memory) counted() bool { return m.kind != driver.KindHost && !m.registered && !m.imported }

// obtain allocates the bytes of m.
func (m *memory) obtain(op string, align uint64) error {
	if m.size < mapFrom && m.kind != driver.KindHost {
		m.heap = make([]byte, m.size+align)
		m.base = unsafe.Pointer(&m.heap[0])
		m.base = unsafe.Pointer(&m.heap[padding(m.base, align)])
		return nil
	}
	if m.size >= checkFrom {
		// A sixteenth is left for the rest of the program.
		if free, _, ok := memoryNow(); ok && m.size > free-free/16 {
			return m.dev.shortage(op, nil, "the system has %d bytes available", free)
		}
	}
	if m.size >= hugeFrom {
		align = max(align, hugePage)
	}
	length := m.size
	if align > uint64(os.Getpagesize()) {
		length += align
	}
	mapping, err := pages.Map(length)
	if err != nil {
		return m.dev.shortage(op, err, "the system failed to map pages")
	}
	m.mapping = mapping
	at := padding(unsafe.Pointer(&mapping[0]), align)
	m.base = unsafe.Pointer(&mapping[at])
	if m.size >= hugeFrom {
		adviseHuge(mapping[at : at+m.size])
	}
	if m.kind == driver.KindHost {
		m.locked = m.dev.lock(uintptr(m.base), uintptr(m.base)+uintptr(m.size))
	}
	return nil
}

// lock locks the pages of a range, and reports whether it did. A device whose memory is the host's copies nothing, so nothing is gained by a
// lock, which would also make the system provide every page at once: a rank that works on a part of its elements would pay for all of them.
func (d *device) lock(from, to uintptr) bool { return !d.info.SharesHostMemory && locks.lock(from, to) }

// padding returns the number of bytes from p to the next multiple of align.
func padding(p unsafe.Pointer, align uint64) uint64 { return -uint64(uintptr(p)) & (align - 1) }

// spoil fills new memory with poison, so that code which relies on zeros fails.
func (m *memory) spoil() {
	if m.size <= poisonWhole || !m.dev.info.SharesHostMemory {
		memcopy.Fill(m.base, m.size, poison, 1)
		return
	}
	memcopy.Fill(m.base, poisonEnd, poison, 1)
	memcopy.Fill(unsafe.Add(m.base, m.size-poisonEnd), poisonEnd, poison, 1)
}

func (m *memory) Size() uint64 { return m.size }

// Handle implements driver.Memory: the address, also where the host may not use it.
func (m *memory) Handle() uintptr { return uintptr(m.base) }

func (m *memory) HostPointer() unsafe.Pointer {
	if !m.visible {
		return nil
	}
	return m.base
}

// PageLocked reports whether the memory is page-locked. KindHost and registered memory of discrete devices is, within the limits of the system.
func (m *memory) PageLocked() bool { return m.locked }

func (m *memory) Free() error {
	if m.imported {
		m.base = nil
		return nil
	}
	if m.locked {
		locks.unlock(uintptr(m.base), uintptr(m.base)+uintptr(m.size))
	}
	if m.registered {
		m.dev.hardware.registered.remove(uintptr(m.base), uintptr(m.base)+uintptr(m.size))
		m.base = nil
		return nil
	}
	if !m.visible {
		m.dev.hardware.blocks.remove(uintptr(m.base), uintptr(m.base)+uintptr(m.size))
	}
	mapping := m.mapping
	m.base, m.heap, m.mapping = nil, nil, nil
	if m.counted() {
		m.dev.hardware.giveBack(m.size)
	}
	if mapping == nil {
		return nil
	}
	if err := pages.Unmap(mapping); err != nil {
		return &driver.Error{Op: "free", Backend: m.dev.info.Backend, Device: m.dev.info.Ordinal,
			Kind: driver.ErrDriver, Detail: "the system failed to release pages", Vendor: vendorOf(err), Err: err}
	}
	return nil
}
