package gpu

import (
	"encoding/binary"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
)

// A token of Export, 112 bytes, little-endian:
//
//	0   "HYIP"
//	4   version, 1
//	5   kind of memory
//	6   8 bytes of the backend's name, padded with zeros
//	16  UUID of the device
//	32  offset of the memory from the start of the vendor's allocation
//	40  size of the memory
//	48  the vendor's handle
const (
	tokenMagic   = "HYIP"
	tokenVersion = 1
	tokenSize    = 48 + handleSize
)

// imports are the allocations of other processes that a device has open. A vendor may refuse
// to open one twice, so a second import shares the first.
type imports struct {
	mu    sync.Mutex
	bases map[IPCHandle]*imported
	uses  map[uintptr]*imported
}

type imported struct {
	handle IPCHandle
	base   uintptr
	n      int
}

// Export implements driver.Sharer. Only memory of KindDevice that was not allocated in stream
// order can be exported.
func (d *Device) Export(mem driver.Memory) ([]byte, error) {
	const op = "export"
	m, ok := mem.(*Memory)
	switch {
	case !ok || m.dev != d:
		return nil, d.refuse(op, driver.ErrWrongDevice, "the memory belongs to another device")
	case !d.info.Caps.Has(driver.CapIPC) || m.origin != fromDevice:
		return nil, d.refuse(op, driver.ErrUnsupported, "only plain device memory can be exported")
	}
	h, code := d.api.IPCExport(d.ctx, m.base)
	if code != Success {
		return nil, d.fail(op, CallIPCExport, code)
	}
	// The handle names the vendor's whole allocation, which may start before this one.
	start := m.base
	if d.api.Has(CallAddressRange) {
		base, _, code := d.api.AddressRange(d.ctx, m.base)
		if code != Success {
			return nil, d.fail(op, CallAddressRange, code)
		}
		start = base
	}
	t := make([]byte, tokenSize)
	copy(t, tokenMagic)
	t[4], t[5] = tokenVersion, byte(driver.KindDevice)
	copy(t[6:14], d.lib.vendor.Name)
	copy(t[16:32], d.info.UUID[:])
	binary.LittleEndian.PutUint64(t[32:], uint64(m.addr-start))
	binary.LittleEndian.PutUint64(t[40:], m.size)
	copy(t[48:], h[:])
	return t, nil
}

// Import implements driver.Sharer. A process cannot import what it exported itself.
func (d *Device) Import(token []byte, size uint64) (driver.Memory, error) {
	const op = "import"
	switch {
	case !d.info.Caps.Has(driver.CapIPC):
		return nil, d.refuse(op, driver.ErrUnsupported, "the device does not share memory between processes")
	case len(token) != tokenSize || string(token[:4]) != tokenMagic || token[4] != tokenVersion:
		return nil, d.refuse(op, driver.ErrInvalidArgument, "%d bytes that are not a token", len(token))
	}
	var name [8]byte
	copy(name[:], d.lib.vendor.Name)
	if [8]byte(token[6:14]) != name || driver.UUID(token[16:32]) != d.info.UUID {
		return nil, d.refuse(op, driver.ErrWrongDevice, "the token is of another device")
	}
	offset, length := binary.LittleEndian.Uint64(token[32:]), binary.LittleEndian.Uint64(token[40:])
	if size > length || size == 0 {
		return nil, d.refuse(op, driver.ErrOutOfRange, "%d bytes of memory that has %d", size, length)
	}
	base, err := d.imports.open(d, IPCHandle(token[48:]))
	if err != nil {
		return nil, err
	}
	return &Memory{dev: d, addr: base + uintptr(offset), base: base, size: size, origin: fromIPC}, nil
}

func (t *imports) open(d *Device, h IPCHandle) (uintptr, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := t.bases[h]; i != nil {
		i.n++
		return i.base, nil
	}
	base, code := d.api.IPCOpen(d.ctx, &h)
	if code != Success {
		return 0, d.fail("import", CallIPCOpen, code)
	}
	if t.bases == nil {
		t.bases, t.uses = make(map[IPCHandle]*imported), make(map[uintptr]*imported)
	}
	i := &imported{handle: h, base: base, n: 1}
	t.bases[h], t.uses[base] = i, i
	return base, nil
}

func (t *imports) close(d *Device, base uintptr) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.uses[base]
	if i.n--; i.n > 0 {
		return nil
	}
	delete(t.bases, i.handle)
	delete(t.uses, base)
	return d.give(CallIPCClose, API.IPCClose, base)
}
