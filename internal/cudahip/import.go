package cudahip

import (
	"github.com/go-halyard/halyard/hal/driver"
)

// Pointer is what a vendor reports about an address.
type Pointer struct {
	Kind driver.Kind // 0 if this package does not know the kind
	Dev  int32       // the device that allocated the memory
	Addr uintptr     // the device's address of the memory, 0 if the device cannot use the memory
	Host uintptr     // the host's address of the memory, 0 if there is none
	Base uintptr     // start of the allocation, in the address space of the queried address
	Size uint64      // bytes of the allocation, 0 if the vendor does not report it
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

	cudaHostMemory = 1 // CU_MEMORYTYPE_HOST
)

// Pointer implements [API].
func (t *Table) Pointer(ctx Context, addr uintptr) (Pointer, Code) {
	p, code := t.PointerOf(ctx, addr, cudaHostMemory)
	if code != Success {
		return Pointer{}, code
	}
	start, code := t.pointer(ctx, addr, pointerRangeStart)
	size, sizeCode := t.pointer(ctx, addr, pointerRangeSize)
	if code == Success && sizeCode == Success {
		p.Base, p.Size = start, uint64(size)
	} else { // before CUDA 10.2
		t.PointerRange(ctx, addr, &p)
	}
	return p, Success
}

// PointerOf is Pointer without the range. host is the vendor's number for page-locked memory, and
// host+1 that for device memory.
func (t *Table) PointerOf(ctx Context, addr, host uintptr) (p Pointer, code Code) {
	kind, code := t.pointer(ctx, addr, pointerType)
	if code != Success {
		return Pointer{}, code
	}
	dev, code := t.pointer(ctx, addr, pointerOrdinal)
	if code != Success {
		return Pointer{}, code
	}
	p.Dev = int32(dev)
	managed, code := t.pointer(ctx, addr, pointerManaged)
	switch {
	case code == Success && managed != 0:
		p.Kind = driver.KindShared
	case uint32(kind) == uint32(host):
		p.Kind = driver.KindHost
	case uint32(kind) == uint32(host)+1:
		p.Kind = driver.KindDevice
	}
	// The query of an address fails if the memory has no such address.
	if a, code := t.pointer(ctx, addr, pointerDevice); code == Success {
		p.Addr = a
	}
	if p.Kind != driver.KindDevice {
		if a, code := t.pointer(ctx, addr, pointerHost); code == Success {
			p.Host = a
		}
	}
	return p, Success
}

// PointerRange queries the range of an allocation with the vendor's separate call, and stores it in p.
func (t *Table) PointerRange(ctx Context, addr uintptr, p *Pointer) {
	if !t.Has(CallAddressRange) {
		return
	}
	if base, size, code := t.AddressRange(ctx, addr); code == Success {
		p.Base, p.Size = base, uint64(size)
	}
}

func (t *Table) pointer(ctx Context, addr, attribute uintptr) (uintptr, Code) {
	return t.Make(CallPointer, ctx, attribute, addr, 0)
}

// StreamOwner implements [API].
func (t *Table) StreamOwner(ctx Context, stream uintptr) (Context, Code) {
	f := t.frame(CallStreamOwner, ctx)
	f.out[0] = 0
	f.args[0], f.args[1] = stream, f.outAddr(0)
	code := f.call()
	owner := Context(f.out[0])
	f.put()
	return owner, code
}

// ask calls API.Pointer and turns its code into an error.
func (d *Device) ask(op string, addr uintptr) (Pointer, error) {
	p, code := d.api.Pointer(d.ctx, addr)
	switch {
	case code == CodeInvalidValue, code == Success && p.Kind == 0:
		return Pointer{}, d.refuse(op, driver.ErrInvalidArgument, "the driver knows of no memory at %#x", addr)
	case code != Success:
		return Pointer{}, d.fail(op, CallPointer, code)
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
	return driver.PointerInfo{Kind: p.Kind, Device: d.lib.ordinal(p.Dev), Base: p.Base, Size: p.Size}, nil
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
		case p.Kind != kind:
			return nil, d.refuse(op, driver.ErrInvalidArgument, "the memory at %#x is %v memory, not %v memory", handle, p.Kind, kind)
		case kind == driver.KindDevice && p.Dev != d.dev:
			return nil, d.refuse(op, driver.ErrWrongDevice, "the memory at %#x belongs to device %d", handle, p.Dev)
		case p.Addr == 0:
			return nil, d.refuse(op, driver.ErrWrongDevice, "the device cannot use the memory at %#x", handle)
		case p.Size != 0 && size > p.Size-uint64(handle-p.Base):
			return nil, d.refuse(op, driver.ErrOutOfRange, "%d bytes at %#x exceed the allocation of %d bytes at %#x", size, handle, p.Size, p.Base)
		}
		m.addr, m.host = p.Addr, p.Host
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
