package cudahip

import (
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
	if a, code := get(pointerDevice); code == Success {
		p.addr = a
	}
	if p.kind != driver.KindDevice {
		if a, code := get(pointerHost); code == Success {
			p.host = a
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

// ask calls pointer and turns its code into an error.
func (d *Device) ask(op string, addr uintptr) (pointer, error) {
	p, code := d.pointer(addr)
	switch {
	case code == CodeInvalidValue, code == Success && p.kind == 0:
		return pointer{}, d.refuse(op, driver.ErrInvalidArgument, "the driver knows of no memory at %#x", addr)
	case code != Success:
		return pointer{}, d.fail(op, CallPointerAttribute, code)
	}
	return p, nil
}

// PointerInfo implements driver.PointerQuerier.
func (d *Device) PointerInfo(addr uintptr) (driver.PointerInfo, error) {
	const op = "query a pointer"
	if !d.info.Caps.Has(driver.CapPointerInfo) {
		return driver.PointerInfo{}, d.refuse(op, driver.ErrUnsupported, "pointer queries are not supported")
	}
	p, err := d.ask(op, addr)
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
		p, err := d.ask(op, handle)
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
			return nil, d.refuse(op, driver.ErrOutOfRange, "%d bytes at %#x exceed the allocation of %d bytes at %#x", size, handle, p.size, p.base)
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
	m.listed = m.host != 0 && d.lib.hosts.add(m.host, uintptr(size))
	return m, nil
}

// The handles that stand for default streams have the same numbers in CUDA and in HIP.
const (
	legacyStream    = 0
	perThreadStream = 2
)

// ImportStream implements driver.StreamImporter.
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
