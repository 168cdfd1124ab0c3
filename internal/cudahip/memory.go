package cudahip

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/span"
)

// Memory implements driver.Memory.
type Memory struct {
	dev    *Device
	addr   uintptr // the device's address of the first byte
	host   uintptr // the host's address of the first byte, 0 if there is none
	base   uintptr // the address to pass to the vendor's call that frees the memory
	start  uintptr // the device's address of base
	size   uint64
	bytes  uint64 // bytes of the allocation
	origin origin

	foreign bool // imported: Free does not release it
	listed  bool // foreign is set and the range is in the library's hosts
}

// origin says how memory was allocated, and so how it is released.
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

func (m *Memory) Size() uint64 { return m.size }

// Handle implements driver.Memory: the device's address.
func (m *Memory) Handle() uintptr { return m.addr }

func (m *Memory) HostPointer() unsafe.Pointer { return dl.Pointer(m.host) }

func (d *Device) Alloc(kind driver.Kind, size, align uint64) (driver.Memory, error) {
	const op = "alloc"
	m := &Memory{dev: d, size: size}
	call, ask := CallMemAlloc, d.api.MemAlloc
	switch kind {
	case driver.KindHost:
		call, ask, m.origin = CallHostAlloc, d.api.HostAlloc, fromHost
	case driver.KindShared:
		call, ask, m.origin = CallManagedAlloc, d.api.ManagedAlloc, fromManaged
	}
	how := &releases[m.origin]
	free := func(base uintptr) { _ = d.release(how.call, how.release, base) }
	alloc := func(total uint64) (base, addr uintptr, failed Call, code Code) {
		base, code = ask(d.ctx, uintptr(total))
		if code = allocated(base, code); code != Success || m.origin != fromHost {
			return base, base, call, code
		}
		addr, code = d.api.HostAddr(d.ctx, base)
		if code = allocated(addr, code); code != Success {
			free(base)
		}
		return base, addr, CallHostAddr, code
	}
	// A free at this point could wait for work behind a gate that only the caller can open, so
	// unusable allocations are kept.
	if err := m.allocate(op, align, alloc, func(base uintptr) { d.leftovers.add(m.origin, base) }); err != nil {
		return nil, err
	}
	if m.origin != fromDevice {
		// The host's address is aligned like the device's, since both allocations start on a page.
		m.host = m.base + (m.addr - m.start)
		d.lib.hosts.Add(addresses(m.base, uintptr(m.bytes)))
	}
	return m, nil
}

// allocate calls alloc for m.size bytes at the alignment, and puts m at the first aligned address of the result.
//
// The vendors do not document how they align allocations. CUDA and HIP align to at least naturalAlign; chipStar aligns to
// 128 bytes on Intel's OpenCL, HIP-CPU to 16. If an allocation has a smaller alignment than d.aligned, allocate passes
// it to refuse, which frees it at once or later, sets d.aligned to the smaller alignment, and tries again with more
// bytes. That happens at most a few times for each device.
func (m *Memory) allocate(op string, align uint64,
	alloc func(total uint64) (base, start uintptr, failed Call, code Code), refuse func(base uintptr)) error {
	d := m.dev
	align = max(align, naturalAlign)
	for {
		aligned := d.aligned.Load()
		total := m.size + align - min(align, aligned)
		if align > maxAlign || total < m.size || uint64(uintptr(total)) != total {
			return d.refuse(op, driver.ErrInvalidArgument, "cannot allocate %d bytes aligned to %d", m.size, align)
		}
		base, start, failed, code := alloc(total)
		if code = allocated(start, code); code != Success {
			return d.fail(op, failed, code)
		}
		if is := uint64(start & -start); is < min(align, aligned) {
			refuse(base)
			d.aligned.CompareAndSwap(aligned, is)
			continue
		}
		mask := uintptr(align) - 1
		m.base, m.start, m.addr, m.bytes = base, start, (start+mask)&^mask, total
		return nil
	}
}

// leftovers are allocations with too small an alignment. They are kept until a call that may wait for the
// device frees them.
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

// close frees the leftovers, and returns the first error. It may wait for all work of the device.
func (l *leftovers) close(d *Device) (first error) {
	l.mu.Lock()
	list := l.list
	l.list = nil
	l.mu.Unlock()
	for _, x := range list {
		r := &releases[x.origin]
		if err := d.release(r.call, r.release, x.base); first == nil {
			first = err
		}
	}
	return first
}

// FreeMayBlock implements driver.FreeBlocker. hipFree and HIP's other calls that free wait for the device. The documentation
// of cuMemFree says that it "may perform implicit synchronization". Freeing in stream order does not wait.
func (m *Memory) FreeMayBlock() bool { return !m.foreign && m.origin != fromStream }

func (m *Memory) Free() error {
	d := m.dev
	if m.foreign {
		if m.listed {
			d.lib.hosts.Remove(uint64(m.host))
		}
		return nil
	}
	if m.origin == fromIPC {
		return d.imports.close(d, m.base)
	}
	if m.host != 0 {
		// This comes before the release, because the addresses may be reused after it.
		d.lib.hosts.Remove(uint64(m.base))
	}
	r := &releases[m.origin]
	return d.release(r.call, r.release, m.base)
}

func (d *Device) Register(ptr unsafe.Pointer, size uint64) (driver.Memory, error) {
	const op = "register"
	host := uintptr(ptr)
	// Not every vendor reports that a range overlaps a registered one.
	if !d.lib.hosts.Add(addresses(host, uintptr(size))) {
		return nil, d.refuse(op, driver.ErrBusy, "[%#x, %#x) overlaps memory that is already page-locked", host, host+uintptr(size))
	}
	code := d.api.HostRegister(d.ctx, host, uintptr(size))
	runtime.KeepAlive(ptr)
	if code != Success {
		d.lib.hosts.Remove(uint64(host))
		return nil, d.fail(op, CallHostRegister, code)
	}
	addr, code := d.api.HostAddr(d.ctx, host)
	if code != Success {
		d.lib.hosts.Remove(uint64(host))
		_ = d.release(CallHostUnregister, API.HostUnregister, host)
		return nil, d.fail(op, CallHostAddr, code)
	}
	return &Memory{dev: d, addr: addr, host: host, base: host, size: size, origin: fromCaller}, nil
}

// addresses is a range of host memory.
func addresses(start, size uintptr) span.Range {
	return span.Range{Lo: uint64(start), Hi: uint64(start + size)}
}
