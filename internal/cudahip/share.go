package cudahip

import (
	"bytes"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
)

// imports are the allocations of other processes that a device has open. A vendor may refuse to
// open an allocation twice, so a second import uses the address of the first.
type imports struct {
	mu    sync.Mutex
	bases map[IPCHandle]*opened
	uses  map[uintptr]*opened
}

// opened is an allocation of another process. A vendor may give an allocation several handles, and the same address for each.
type opened struct {
	handles []IPCHandle // each was opened once
	base    uintptr
	n       int // imports that use it
}

// ExportIPC implements driver.IPCSharer. A device can export memory of KindDevice that it allocated
// itself, except memory that was allocated in stream order.
func (d *Device) ExportIPC(mem driver.Memory) (driver.IPCShare, error) {
	const op = "ipc handle"
	m, ok := mem.(*Memory)
	switch {
	case !ok || m.dev != d:
		return driver.IPCShare{}, d.refuse(op, driver.ErrWrongDevice, "the memory belongs to another device")
	case !d.info.Caps.Has(driver.CapIPC) || m.origin != fromDevice || m.foreign:
		return driver.IPCShare{}, d.refuse(op, driver.ErrUnsupported, "only device memory allocated by Device.Alloc can be exported")
	}
	h, code := d.api.IPCExport(d.ctx, m.base)
	if code != Success {
		return driver.IPCShare{}, d.fail(op, CallIPCExport, code)
	}
	// The handle stands for the vendor's whole allocation, which may start before this memory.
	start := m.base
	if d.api.Has(CallAddressRange) {
		base, _, code := d.api.AddressRange(d.ctx, m.base)
		if code != Success {
			return driver.IPCShare{}, d.fail(op, CallAddressRange, code)
		}
		start = base
	}
	return driver.IPCShare{Handle: bytes.Clone(h[:]), Offset: uint64(m.addr - start), Size: m.size}, nil
}

// OpenIPC implements driver.IPCSharer. A process cannot import memory that it exported itself.
func (d *Device) OpenIPC(s driver.IPCShare) (driver.Memory, error) {
	const op = "open ipc handle"
	switch {
	case !d.info.Caps.Has(driver.CapIPC):
		return nil, d.refuse(op, driver.ErrUnsupported, "sharing memory between processes is not supported")
	case len(s.Handle) != handleSize:
		return nil, d.refuse(op, driver.ErrInvalidArgument, "vendor handle of %d bytes, expected %d", len(s.Handle), handleSize)
	case s.Size == 0 || s.Offset+s.Size < s.Size || uint64(uintptr(s.Offset+s.Size)) != s.Offset+s.Size:
		return nil, d.refuse(op, driver.ErrOutOfRange, "invalid size %d at offset %d", s.Size, s.Offset)
	}
	base, err := d.imports.open(d, IPCHandle(s.Handle))
	if err != nil {
		return nil, err
	}
	if d.api.Has(CallAddressRange) {
		start, size, code := d.api.AddressRange(d.ctx, base)
		if code != Success {
			_ = d.imports.close(d, base)
			return nil, d.fail(op, CallAddressRange, code)
		}
		if has := uint64(size - (base - start)); s.Offset+s.Size > has {
			_ = d.imports.close(d, base)
			return nil, d.refuse(op, driver.ErrOutOfRange, "%d bytes at offset %d exceed the allocation of %d bytes", s.Size, s.Offset, has)
		}
	}
	return &Memory{dev: d, addr: base + uintptr(s.Offset), base: base, size: s.Size, origin: fromIPC}, nil
}

func (t *imports) open(d *Device, h IPCHandle) (uintptr, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := t.bases[h]; i != nil {
		i.n++
		return i.base, nil
	}
	base, code := d.api.IPCOpen(d.ctx, &h)
	if code = given(base, code); code != Success {
		return 0, d.fail("open ipc handle", CallIPCOpen, code)
	}
	if t.bases == nil {
		t.bases, t.uses = make(map[IPCHandle]*opened), make(map[uintptr]*opened)
	}
	i := t.uses[base]
	if i == nil {
		i = &opened{base: base}
		t.uses[base] = i
	}
	i.handles, i.n = append(i.handles, h), i.n+1
	t.bases[h] = i
	return base, nil
}

func (t *imports) close(d *Device, base uintptr) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.uses[base]
	if i.n--; i.n > 0 {
		return nil
	}
	delete(t.uses, base)
	var err error
	for _, h := range i.handles {
		delete(t.bases, h)
		if e := d.give(CallIPCClose, API.IPCClose, base); err == nil {
			err = e
		}
	}
	return err
}
