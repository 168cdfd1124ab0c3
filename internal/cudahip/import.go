package cudahip

import (
	"bytes"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
)

// pointer is what a vendor reports about an address.
type pointer struct {
	kind driver.Kind // 0 if this package does not know the kind
	dev  int32       // the device that allocated the memory
	addr uintptr     // the device's address of the memory, 0 if the device cannot use the memory
	host uintptr     // the host's address of the memory, 0 if there is none
	base uintptr     // start of the allocation, in the address space of the queried address
	size uint64      // bytes of the allocation, 0 if the vendor does not report it
}

// The attributes of an address have the same numbers in CUDA and in HIP.
const (
	pointerType       = 2
	pointerDevice     = 3 // the device's address
	pointerHost       = 4
	pointerManaged    = 8
	pointerOrdinal    = 9
	pointerRangeStart = 11
	pointerRangeSize  = 12
)

// pointer queries the attributes of an address.
func (d *Device) pointer(addr uintptr) (p pointer, code Code) {
	get := func(number int32) (uintptr, Code) { return d.api.PointerAttribute(d.ctx, number, addr) }
	kind, code := get(pointerType)
	if code != Success {
		return pointer{}, code
	}
	dev, code := get(pointerOrdinal)
	if code != Success {
		return pointer{}, code
	}
	p.dev = int32(dev)
	host := d.lib.vendor.HostPointers(d.lib.version)
	managed, code := get(pointerManaged)
	switch {
	case code == Success && managed != 0:
		p.kind = driver.KindShared
	case int32(kind) == host:
		p.kind = driver.KindHost
	case int32(kind) == host+1:
		p.kind = driver.KindDevice
	}
	// The query of an address fails if the memory has no such address.
	lost := func(code Code) bool { return d.lib.vendor.Codes.Status(code.Value()).Kind == driver.ErrDeviceLost }
	if a, code := get(pointerDevice); code == Success {
		p.addr = a
	} else if lost(code) {
		return pointer{}, code
	}
	if p.kind != driver.KindDevice {
		if a, code := get(pointerHost); code == Success {
			p.host = a
		} else if lost(code) {
			return pointer{}, code
		}
	}
	if d.lib.vendor.PointerRanges {
		start, code := get(pointerRangeStart)
		size, sizeCode := get(pointerRangeSize)
		if code == Success && sizeCode == Success {
			p.base, p.size = start, uint64(size)
			return p, Success
		}
	}
	if d.api.Has(CallAddressRange) {
		if base, size, code := d.api.AddressRange(d.ctx, addr); code == Success {
			p.base, p.size = base, uint64(size)
		}
	}
	return p, Success
}

// pointerTo is pointer with an error in place of a code.
func (d *Device) pointerTo(op string, addr uintptr) (pointer, error) {
	p, code := d.pointer(addr)
	switch {
	case code == CodeInvalidValue, code == Success && p.kind == 0:
		return pointer{}, d.refuse(op, driver.ErrInvalidArgument, "the driver knows of no memory at %#x", addr)
	case code != Success:
		return pointer{}, d.fail(op, CallPointerAttribute, code)
	}
	return p, nil
}

func (d *Device) PointerInfo(addr uintptr) (driver.PointerInfo, error) {
	p, err := d.pointerTo("query a pointer", addr)
	if err != nil {
		return driver.PointerInfo{}, err
	}
	return driver.PointerInfo{Kind: p.kind, Device: d.lib.ordinal(p.dev), Base: p.base, Size: p.size}, nil
}

var imported = [...]origin{driver.KindDevice: fromDevice, driver.KindHost: fromHost, driver.KindShared: fromManaged}

// Import implements driver.Importer. For page-locked memory the handle may be the host's or the
// device's address.
func (d *Device) Import(kind driver.Kind, handle uintptr, size uint64) (driver.Memory, error) {
	const op = "import"
	m := &Memory{dev: d, addr: handle, size: size, origin: imported[kind], foreign: true}
	switch {
	case d.info.Caps.Has(driver.CapPointerInfo):
		p, err := d.pointerTo(op, handle)
		if err != nil {
			return nil, err
		}
		switch {
		case p.kind != kind:
			return nil, d.refuse(op, driver.ErrInvalidArgument, "the memory at %#x is %v memory, not %v memory", handle, p.kind, kind)
		case kind == driver.KindDevice && p.dev != d.dev:
			return nil, d.refuse(op, driver.ErrWrongDevice, "the memory at %#x belongs to device %d", handle, p.dev)
		case p.addr == 0:
			return nil, d.refuse(op, driver.ErrWrongDevice, "the device cannot use the memory at %#x", handle)
		case p.size != 0 && size > p.size-uint64(handle-p.base):
			return nil, d.refuse(op, driver.ErrOutOfRange, "%d bytes at %#x exceed the allocation of %d bytes at %#x", size, handle, p.size,
				p.base)
		}
		m.addr, m.host = p.addr, p.host
	case kind == driver.KindHost:
		addr, code := d.api.HostAddr(d.ctx, handle)
		if code != Success {
			return nil, d.fail(op, CallHostAddr, code)
		}
		m.addr, m.host = addr, handle
	case kind == driver.KindShared:
		m.host = handle
	}
	// Memory that this backend allocated is in hosts already, and add reports false.
	m.listed = m.host != 0 && d.lib.hosts.Add(addresses(m.host, uintptr(size)))
	return m, nil
}

// The handles that stand for default streams have the same numbers in CUDA and in HIP.
const (
	legacyStream    = 0
	perThreadStream = 2
)

func (d *Device) ImportStream(handle uintptr) (driver.Stream, error) {
	const op = "import a stream"
	if handle == perThreadStream {
		// On each thread this handle means another stream, and the backend's calls come from any
		// thread.
		return nil, d.refuse(op, driver.ErrUnsupported, "the per-thread default stream is not supported")
	}
	if d.api.Has(CallStreamOwner) {
		owner, code := d.api.StreamOwner(d.ctx, handle)
		if code != Success {
			// A vendor may report an unknown stream as a lost device.
			e := d.lib.fail(op, d.info.Ordinal, CallStreamOwner, code)
			e.Kind = driver.ErrInvalidArgument
			return nil, e
		}
		if owner != d.ctx {
			return nil, d.refuse(op, driver.ErrWrongDevice, "the stream belongs to another context")
		}
	}
	if handle == legacyStream {
		handle = d.lib.vendor.LegacyStream
	}
	return &Stream{dev: d, api: d.api, ctx: d.ctx, handle: handle, foreign: true}, nil
}

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
	m := mem.(*Memory)
	if m.origin != fromDevice || m.foreign {
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
	if code = allocated(base, code); code != Success {
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
		if e := d.release(CallIPCClose, API.IPCClose, base); err == nil {
			err = e
		}
	}
	return err
}
