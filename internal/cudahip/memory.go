package cudahip

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// Memory implements driver.Memory.
type Memory struct {
	dev    *Device
	addr   uintptr // the device's address of the first byte
	host   uintptr // the host's, 0 if it has none
	base   uintptr // what the vendor's release takes
	start  uintptr // the device's address of base
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
	m := &Memory{dev: d, size: size}
	call, ask := CallMemAlloc, d.api.MemAlloc
	switch {
	case kind == driver.KindDevice:
	case kind == driver.KindHost:
		call, ask, m.origin = CallHostAlloc, d.api.HostAlloc, fromHost
	case kind == driver.KindShared && d.info.Caps.Has(driver.CapShared):
		call, ask, m.origin = CallManagedAlloc, d.api.ManagedAlloc, fromManaged
	case kind == driver.KindShared:
		return nil, d.refuse(op, driver.ErrUnsupported, "the device has no managed memory")
	default:
		return nil, d.refuse(op, driver.ErrInvalidArgument, "%v is no kind of memory", kind)
	}
	give := &releases[m.origin]
	free := func(base uintptr) { _ = d.give(give.call, give.release, base) }
	alloc := func(total uint64) (base, addr uintptr, failed Call, code Code) {
		base, code = ask(d.ctx, total)
		if code = given(base, code); code != Success || m.origin != fromHost {
			return base, base, call, code
		}
		addr, code = d.api.HostAddr(d.ctx, base)
		if code = given(addr, code); code != Success {
			free(base)
		}
		return base, addr, CallHostAddr, code
	}
	// A free may wait for work that a gate of the program's holds up.
	if err := m.allocate(op, kind, align, alloc, func(base uintptr) { d.leftovers.add(m.origin, base) }); err != nil {
		return nil, err
	}
	if m.origin != fromDevice {
		// Both addresses of host memory are aligned to pages alike.
		m.host = m.base + (m.addr - m.start)
		d.lib.hosts.add(m.base, uintptr(m.bytes))
	}
	return m, nil
}

// allocate calls alloc for m.size bytes at the alignment, and puts m at an aligned address of what that gave.
//
// The vendors do not document how they align allocations; both align to naturalAlign and more. chipStar aligns to 128 on
// Intel's OpenCL, HIP-CPU to 16. An address that is aligned to less than the device was taken to align to is given to
// refuse, and the device asks for more room from then on: that happens a few times for each device at most.
func (m *Memory) allocate(op string, kind driver.Kind, align uint64,
	alloc func(total uint64) (base, start uintptr, failed Call, code Code), refuse func(base uintptr)) error {
	d := m.dev
	align = max(align, naturalAlign)
	for {
		aligned := d.aligned.Load()
		total := m.size + align - min(align, aligned)
		if align > maxAlign || total < m.size || uint64(uintptr(total)) != total {
			return d.refuse(op, driver.ErrInvalidArgument, "%d bytes aligned to %d", m.size, align)
		}
		base, start, failed, code := alloc(total)
		if code = given(start, code); code != Success {
			return d.short(op, failed, code, kind, m.size)
		}
		if is := uint64(start & -start); is < min(align, aligned) {
			refuse(base)
			d.aligned.CompareAndSwap(aligned, is)
			continue
		}
		mask := uintptr(align) - 1
		m.base, m.start, m.addr, m.bytes = base, start, (start+mask)&^mask, total
		d.held.Add(total)
		return nil
	}
}

// leftovers are allocations that nobody can use, until they can be freed.
type leftovers struct {
	mu   sync.Mutex
	list []leftover
}

type leftover struct {
	origin origin
	base   uintptr
}

func (l *leftovers) add(o origin, base uintptr) {
	l.mu.Lock()
	l.list = append(l.list, leftover{o, base})
	l.mu.Unlock()
}

// close frees them. It may wait for all work of the device.
func (l *leftovers) close(d *Device) {
	l.mu.Lock()
	list := l.list
	l.list = nil
	l.mu.Unlock()
	for _, x := range list {
		r := &releases[x.origin]
		_ = d.give(r.call, r.release, x.base)
	}
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
