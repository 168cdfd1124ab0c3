package cudahip

import (
	"runtime"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// Memory implements driver.Memory.
type Memory struct {
	dev    *Device
	addr   uintptr // the device's address of the first byte
	host   uintptr // the host's, 0 if it has none
	base   uintptr // what the vendor's release takes
	size   uint64
	bytes  uint64 // charged to the device
	origin origin

	foreign bool // the program's own, which is not released here
	listed  bool // foreign, and among the library's host memory
}

// origin is where memory came from, and so how it goes back.
type origin uint8

const (
	fromDevice origin = iota
	fromHost
	fromManaged
	fromStream // allocated in stream order
	fromCaller // host memory that was registered
	fromIPC
)

var releases = [...]struct {
	call    Call
	release releaser
}{
	fromDevice:  {CallMemFree, API.MemFree},
	fromHost:    {CallHostFree, API.HostFree},
	fromManaged: {CallMemFree, API.MemFree},
	fromStream:  {CallMemFree, API.MemFree},
	fromCaller:  {CallHostUnregister, API.HostUnregister},
}

// Size implements driver.Memory.
func (m *Memory) Size() uint64 { return m.size }

// Handle implements driver.Memory: the device's address.
func (m *Memory) Handle() uintptr { return m.addr }

// HostPointer implements driver.Memory.
func (m *Memory) HostPointer() unsafe.Pointer { return hostPointer(m.host) }

// Alloc implements driver.Device.
func (d *Device) Alloc(kind driver.Kind, size, align uint64) (driver.Memory, error) {
	const op = "alloc"
	total, err := d.padded(op, size, align)
	if err != nil {
		return nil, err
	}
	m := &Memory{dev: d, size: size, bytes: total}
	var code Code
	call := CallMemAlloc
	switch {
	case kind == driver.KindDevice:
		m.base, code = d.api.MemAlloc(d.ctx, total)
	case kind == driver.KindHost:
		call, m.origin = CallHostAlloc, fromHost
		m.base, code = d.api.HostAlloc(d.ctx, total)
	case kind == driver.KindShared && d.info.Caps.Has(driver.CapShared):
		call, m.origin = CallManagedAlloc, fromManaged
		m.base, code = d.api.ManagedAlloc(d.ctx, total)
	case kind == driver.KindShared:
		return nil, d.refuse(op, driver.ErrUnsupported, "the device has no managed memory")
	default:
		return nil, d.refuse(op, driver.ErrInvalidArgument, "%v is no kind of memory", kind)
	}
	if code != Success {
		return nil, d.short(op, call, code, kind, size)
	}
	m.addr = m.base
	if m.origin == fromHost {
		if m.addr, code = d.api.HostAddr(d.ctx, m.base); code != Success {
			_ = d.give(CallHostFree, API.HostFree, m.base)
			return nil, d.fail(op, CallHostAddr, code)
		}
	}
	// Both addresses of host memory are aligned to pages alike.
	shift := up(m.addr, align) - m.addr
	m.addr += shift
	if m.origin != fromDevice {
		m.host = m.base + shift
		d.lib.hosts.add(m.base, uintptr(total))
	}
	d.held.Add(total)
	return m, nil
}

// padded is how many bytes to ask the vendor for, so that size bytes at the alignment fit in.
func (d *Device) padded(op string, size, align uint64) (uint64, error) {
	if align <= naturalAlign {
		return size, nil
	}
	total := size + align - naturalAlign
	if align > maxAlign || total < size || uint64(uintptr(total)) != total {
		return 0, d.refuse(op, driver.ErrInvalidArgument, "%d bytes aligned to %d", size, align)
	}
	return total, nil
}

func up(addr uintptr, align uint64) uintptr {
	if align <= naturalAlign {
		return addr
	}
	mask := uintptr(align) - 1
	return (addr + mask) &^ mask
}

// short is fail for an allocation.
func (d *Device) short(op string, c Call, code Code, kind driver.Kind, size uint64) error {
	e := d.fail(op, c, code)
	if e.Kind == driver.ErrOutOfMemory {
		e.Shortage = &driver.Shortage{Request: size, Kind: kind, Held: d.held.Load()}
		if free, total, code := d.api.MemInfo(d.ctx); code == Success {
			e.Shortage.Free, e.Shortage.Total, e.Shortage.FreeKnown = free, total, true
		}
	}
	return e
}

// FreeMayBlock implements driver.FreeBlocker. hipFree, hipHostFree and the like wait for the device, and cuMemFree is
// documented as one that "may perform implicit synchronization". What is freed in stream order waits for nothing.
func (m *Memory) FreeMayBlock() bool { return !m.foreign && m.origin != fromStream }

// Free implements driver.Memory.
func (m *Memory) Free() error {
	d := m.dev
	if m.foreign {
		if m.listed {
			d.lib.hosts.remove(m.host)
		}
		return nil
	}
	defer d.held.Add(-m.bytes)
	if m.origin == fromIPC {
		return d.imports.close(d, m.base)
	}
	if m.host != 0 {
		// Before the release, after which the addresses may be someone else's.
		d.lib.hosts.remove(m.base)
	}
	r := &releases[m.origin]
	return d.give(r.call, r.release, m.base)
}

// Register implements driver.Registerer.
func (d *Device) Register(ptr unsafe.Pointer, size uint64) (driver.Memory, error) {
	const op = "register"
	host := uintptr(ptr)
	if !d.info.Caps.Has(driver.CapRegister) {
		return nil, d.refuse(op, driver.ErrUnsupported, "the device cannot use existing host memory")
	}
	if host+uintptr(size) < host || uint64(uintptr(size)) != size {
		return nil, d.refuse(op, driver.ErrInvalidArgument, "%d bytes at %#x", size, host)
	}
	// Not every vendor notices.
	if !d.lib.hosts.add(host, uintptr(size)) {
		return nil, d.refuse(op, driver.ErrBusy, "[%#x, %#x) overlaps memory that is page-locked already", host, host+uintptr(size))
	}
	code := d.api.HostRegister(d.ctx, host, size)
	runtime.KeepAlive(ptr)
	if code != Success {
		d.lib.hosts.remove(host)
		return nil, d.short(op, CallHostRegister, code, driver.KindHost, size)
	}
	addr, code := d.api.HostAddr(d.ctx, host)
	if code != Success {
		d.lib.hosts.remove(host)
		_ = d.give(CallHostUnregister, API.HostUnregister, host)
		return nil, d.fail(op, CallHostAddr, code)
	}
	return &Memory{dev: d, addr: addr, host: host, base: host, size: size, origin: fromCaller}, nil
}
