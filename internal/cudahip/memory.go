package cudahip

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// Memory implements driver.Memory.
type Memory struct {
	dev    *Device
	addr   uintptr // the device's address of the first byte
	host   uintptr // the host's address of the first byte, 0 if there is none
	base   uintptr // the address to pass to the vendor's call that frees the memory
	start  uintptr // the device's address of base
	size   uint64
	bytes  uint64 // bytes of the allocation, which count in the device's held
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
	if err := m.allocate(op, kind, align, alloc, func(base uintptr) { d.leftovers.add(m.origin, base) }); err != nil {
		return nil, err
	}
	if m.origin != fromDevice {
		// The host's address is aligned like the device's, since both allocations start on a page.
		m.host = m.base + (m.addr - m.start)
		d.lib.hosts.add(m.base, uintptr(m.bytes))
	}
	return m, nil
}

// allocate calls alloc for m.size bytes at the alignment, and puts m at the first aligned address of the result.
//
// The vendors do not document how they align allocations. CUDA and HIP align to at least naturalAlign; chipStar aligns to
// 128 bytes on Intel's OpenCL, HIP-CPU to 16. If an allocation has a smaller alignment than d.aligned, allocate passes
// it to refuse, which frees it at once or later, sets d.aligned to the smaller alignment, and tries again with more
// bytes. That happens at most a few times for each device.
func (m *Memory) allocate(op string, kind driver.Kind, align uint64,
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
			return d.failAlloc(op, failed, code, kind, m.size)
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

// failAlloc is fail for an allocation: it adds a Shortage if memory is short.
func (d *Device) failAlloc(op string, c Call, code Code, kind driver.Kind, size uint64) error {
	e := d.fail(op, c, code)
	if e.Kind == driver.ErrOutOfMemory {
		e.Shortage = &driver.Shortage{Request: size, Kind: kind, Held: d.held.Load()}
		if free, total, code := d.api.MemInfo(d.ctx); code == Success {
			e.Shortage.Free, e.Shortage.Total, e.Shortage.FreeKnown = uint64(free), uint64(total), true
		}
	}
	return e
}

// FreeMayBlock implements driver.FreeBlocker. hipFree and HIP's other calls that free wait for the device. The documentation
// of cuMemFree says that it "may perform implicit synchronization". Freeing in stream order does not wait.
func (m *Memory) FreeMayBlock() bool { return !m.foreign && m.origin != fromStream }

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
		// This comes before the release, because the addresses may be reused after it.
		d.lib.hosts.remove(m.base)
	}
	r := &releases[m.origin]
	return d.release(r.call, r.release, m.base)
}

func (d *Device) Register(ptr unsafe.Pointer, size uint64) (driver.Memory, error) {
	const op = "register"
	host := uintptr(ptr)
	// Not every vendor reports that a range overlaps a registered one.
	if !d.lib.hosts.add(host, uintptr(size)) {
		return nil, d.refuse(op, driver.ErrBusy, "[%#x, %#x) overlaps memory that is already page-locked", host, host+uintptr(size))
	}
	code := d.api.HostRegister(d.ctx, host, uintptr(size))
	runtime.KeepAlive(ptr)
	if code != Success {
		d.lib.hosts.remove(host)
		return nil, d.failAlloc(op, CallHostRegister, code, driver.KindHost, size)
	}
	addr, code := d.api.HostAddr(d.ctx, host)
	if code != Success {
		d.lib.hosts.remove(host)
		_ = d.release(CallHostUnregister, API.HostUnregister, host)
		return nil, d.fail(op, CallHostAddr, code)
	}
	return &Memory{dev: d, addr: addr, host: host, base: host, size: size, origin: fromCaller}, nil
}

// ranges is the set of host memory that a library can copy without blocking the caller: page-locked
// and managed memory. Ranges do not overlap. A look-up takes no lock.
type ranges struct {
	mu   sync.Mutex // held to change the set
	list atomic.Pointer[[]span]
}

type span struct{ start, end uintptr }

func (r *ranges) spans() []span {
	if p := r.list.Load(); p != nil {
		return *p
	}
	return nil
}

// search returns the index of the first span that ends after addr. It does not use package slices,
// for speed: every copy calls it.
func search(list []span, addr uintptr) int {
	low, high := 0, len(list)
	for low < high {
		if mid := int(uint(low+high) >> 1); list[mid].end <= addr {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// add adds a range. If it overlaps a range of the set, add changes nothing and reports false.
func (r *ranges) add(start, size uintptr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.spans()
	i := search(list, start)
	if i < len(list) && list[i].start < start+size {
		return false
	}
	fresh := slices.Insert(slices.Clone(list), i, span{start, start + size})
	r.list.Store(&fresh)
	return true
}

// remove removes the range that begins at start.
func (r *ranges) remove(start uintptr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.spans()
	i := search(list, start)
	if i < len(list) && list[i].start == start {
		fresh := slices.Delete(slices.Clone(list), i, i+1)
		r.list.Store(&fresh)
	}
}

// contains reports whether the range lies inside one range of the set.
func (r *ranges) contains(start, size uintptr) bool {
	list := r.spans()
	i := search(list, start)
	return i < len(list) && list[i].start <= start && start+size <= list[i].end
}

// touches reports whether any byte of the range lies inside a range of the set.
func (r *ranges) touches(start, size uintptr) bool {
	list := r.spans()
	i := search(list, start)
	return i < len(list) && list[i].start < start+size
}
