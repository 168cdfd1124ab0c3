//go:build opencl

package opencl

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/span"
)

// memory is one allocation: a cl_mem in the buffer tier, an address in the SVM and USM tiers.
type memory struct {
	dev  *device
	size uint64

	kind       driver.Kind
	charged    bool // its size counts against the device's memory
	registered bool
	foreign    bool // imported: the program owns it
	direct     bool // addr is also the host's address

	addr uintptr // the address that copies and kernels use; 0 in the buffer tier
	mem  uintptr // what the driver frees: the cl_mem in the buffer tier, otherwise the start of the allocation, which is at or before addr

	host atomic.Pointer[byte] // the host's address where direct is false; nil if there is none

	parts parts // of the cl_mem
}

// vendorAlign is the largest alignment that clSVMAlloc and the USM calls take: the size of the largest type, long16.
const vendorAlign = 128

// Alloc allocates memory.
func (d *device) Alloc(kind driver.Kind, size, align uint64) (driver.Memory, error) {
	const op = "alloc"
	// CPU runtimes allocate lazily: they would exceed the memory that exists, and the system would then kill the program. So this counts.
	// Counting before m is made is faster, because an atomic operation waits for the stores before it.
	counts := d.counts(kind)
	if counts && !d.ctx.charge(size, d.info.TotalMemory) {
		return nil, d.refuse(op, driver.ErrOutOfMemory, "the device has %d bytes in total", d.info.TotalMemory)
	}
	m := &memory{dev: d, kind: kind, size: size, charged: counts}
	var err error
	switch d.tier {
	case tierBuffer:
		err = m.allocBuffer(op)
	case tierUSM:
		err = m.allocUSM(op, max(align, d.info.Alignment))
	default:
		err = m.allocSVM(op, max(align, d.info.Alignment))
	}
	if err != nil {
		if counts {
			d.ctx.held.Add(-size)
		}
		return nil, err
	}
	return m, nil
}

// Register makes host memory usable in place. The memory must be aligned to 8 bytes, the width of the widest fill pattern.
func (d *device) Register(ptr unsafe.Pointer, size uint64) (driver.Memory, error) {
	const op = "register"
	start := uintptr(ptr)
	if start%8 != 0 {
		return nil, d.refuse(op, driver.ErrMisaligned, "address %#x is not aligned to 8 bytes", start)
	}
	if !d.ctx.registered.Add(span.Range{Lo: uint64(start), Hi: uint64(start) + size}) {
		return nil, d.refuse(op, driver.ErrBusy, "%d bytes at %#x overlap a registered range", size, start)
	}
	m := &memory{dev: d, kind: driver.KindHost, size: size, addr: start, registered: true}
	m.host.Store((*byte)(ptr))
	return m, nil
}

// emptySize is how many bytes can be read at the address of an empty slice.
const emptySize = 64 << 10

// readable returns memory whose address a kernel gets for an empty slice. Mesa 26 reads x[i] of "if len(x) > 0 { v = x[i] }" also where the
// condition is false, if condition and index are the same for all threads; the value is not used.
func (d *device) readable() (*memory, error) {
	d.emptyMu.Lock()
	defer d.emptyMu.Unlock()
	if d.empty == nil {
		m, err := d.Alloc(driver.KindDevice, emptySize, 0)
		if err != nil {
			return nil, err
		}
		d.empty = m.(*memory)
	}
	return d.empty, nil
}

// counts reports whether memory of a kind counts against the device's total memory.
func (d *device) counts(kind driver.Kind) bool {
	return (kind != driver.KindHost || d.hw.unified) && d.info.TotalMemory != 0
}

// wanted returns the size and alignment to request from the driver, so that the allocation has room for size bytes at an
// address with the alignment align.
func wanted(size, align uint64) (uint64, uint32) {
	if align > vendorAlign {
		return size + align - 1, vendorAlign
	}
	return size, uint32(align)
}

// place puts the memory at the first aligned address of the vendor's allocation.
func (m *memory) place(base uintptr, align uint64) {
	m.mem, m.addr = base, (base+uintptr(align-1))&^uintptr(align-1)
	m.direct = m.visible()
}

func (m *memory) allocSVM(op string, align uint64) error {
	d := m.dev
	flags := uint64(memReadWrite)
	// Memory that only the device touches need not be fine-grained.
	if d.tier == tierSVM && m.visible() {
		flags |= memSVMFineGrained
	}
	size, ask := wanted(m.size, align)
	var base uintptr
	d.ctx.late.allocate(d.ctx.held.Load(), d.info.TotalMemory, func() bool {
		base = d.t.svmAlloc(d.ctx.cl, flags, size, ask)
		return base != 0
	})
	if base == 0 {
		return d.refuse(op, driver.ErrOutOfMemory, "clSVMAlloc returned no memory")
	}
	m.place(base, align)
	return nil
}

func (m *memory) allocUSM(op string, align uint64) error {
	d := m.dev
	size, ask := wanted(m.size, align)
	var base uintptr
	var st status
	var api string
	d.ctx.late.allocate(d.ctx.held.Load(), d.info.TotalMemory, func() bool {
		switch {
		case m.kind == driver.KindShared:
			api = "clSharedMemAllocINTEL"
			base, st = d.hw.usm.sharedAlloc(d.ctx.cl, d.hw.id, size, ask)
		case m.visible():
			api = "clHostMemAllocINTEL"
			base, st = d.hw.usm.hostAlloc(d.ctx.cl, size, ask)
		default:
			api = "clDeviceMemAllocINTEL"
			base, st = d.hw.usm.deviceAlloc(d.ctx.cl, d.hw.id, size, ask)
		}
		return st == success
	})
	if st != success {
		return d.fail(op, api, st)
	}
	m.place(base, align)
	if m.disguised() {
		d.ctx.mu.Lock()
		if d.ctx.disguised == nil {
			d.ctx.disguised = map[uintptr]struct{}{}
		}
		d.ctx.disguised[base] = struct{}{}
		d.ctx.mu.Unlock()
	}
	return nil
}

// disguised reports whether the memory is of KindDevice and the vendor calls it host memory, because the device shares the host's.
func (m *memory) disguised() bool {
	return m.dev.tier == tierUSM && m.kind == driver.KindDevice && m.visible() && !m.foreign && !m.registered
}

// reveal removes the memory from those that the context lists as disguised.
func (m *memory) reveal() {
	if m.disguised() {
		c := m.dev.ctx
		c.mu.Lock()
		delete(c.disguised, m.mem)
		c.mu.Unlock()
	}
}

// visible reports whether the host can access the memory. In the tiers usm and svm it can access all but KindDevice memory of a discrete
// device, in the others none.
func (m *memory) visible() bool {
	return (m.dev.tier == tierUSM || m.dev.tier == tierSVM) && (m.kind != driver.KindDevice || m.dev.hw.unified)
}

// allocBuffer makes a cl_mem. For KindHost the driver page-locks its memory.
func (m *memory) allocBuffer(op string) error {
	d := m.dev
	flags := uint64(memReadWrite)
	if m.kind == driver.KindHost {
		flags |= memAllocHostPtr
	}
	mem, st := d.t.createBuffer(d.ctx.cl, flags, m.size, 0)
	if st != success {
		return d.fail(op, "clCreateBuffer", st)
	}
	m.mem = mem
	return nil
}

// Size returns the requested size.
func (m *memory) Size() uint64 { return m.size }

// Handle returns an address, or the cl_mem in the buffer tier.
func (m *memory) Handle() uintptr {
	if m.dev.tier == tierBuffer {
		return m.mem
	}
	return m.addr
}

// HostPointer returns the host's address of the memory, or nil.
func (m *memory) HostPointer() unsafe.Pointer {
	if m.direct {
		return dl.Pointer(m.addr)
	}
	return unsafe.Pointer(m.host.Load())
}

// Free frees the memory. Memory that was registered or imported stays the program's.
func (m *memory) Free() error {
	const op = "free"
	d := m.dev
	var err error
	switch {
	case d.tier == tierBuffer:
		m.freeParts()
		err = d.check(op, "clReleaseMemObject", d.t.releaseBuffer(m.mem))
	case m.registered || m.foreign:
	case d.ctx.late != nil:
		m.reveal()
		d.ctx.late.put(m.mem, m.size)
	case d.tier == tierUSM:
		m.reveal()
		err = d.check(op, "clMemFreeINTEL", d.hw.usm.free(d.ctx.cl, m.mem))
	default:
		d.t.svmFree(d.ctx.cl, m.mem)
	}
	if m.registered {
		d.ctx.registered.Remove(uint64(m.addr))
	}
	if m.charged {
		d.ctx.held.Add(-m.size)
	}
	return err
}

// maxParts is how many sub-buffers of one memory are kept for later launches.
const maxParts = 16

// parts are the sub-buffers of one cl_mem. In the buffer tier the only way to pass a kernel a pointer into the middle of a memory is a
// sub-buffer, which begins there and reaches to the memory's end.
//
// Memory that the program imports may be a sub-buffer itself. A sub-buffer cannot be divided (OpenCL 1.2, section 5.2.1), so the parts of
// such memory are made from the buffer that it is a part of.
type parts struct {
	of  uintptr // the cl_mem that the memory is a part of, 0 if there is none
	off uint64  // where it begins there

	mu   sync.Mutex
	kept []*subBuffer // at most maxParts
	next int          // index in kept of the first candidate for eviction
}

// subBuffer is a cl_mem that begins inside another.
type subBuffer struct {
	of    *memory
	off   uint64
	mem   uintptr
	users int  // launches that use it and are not enqueued yet
	kept  bool // it is in the list kept of its memory
}

// from returns the sub-buffer of the memory that begins at off. The caller releases it once it has enqueued the launch that uses it.
func (m *memory) from(op string, off uint64) (*subBuffer, error) {
	d := m.dev
	if off%d.hw.align != 0 {
		return nil, d.refuse(op, driver.ErrMisaligned,
			"a buffer or slice begins %d bytes into its memory, and the device, whose memory has no addresses (the buffer tier), needs a "+
				"multiple of %d bytes there; pass one that begins at such a place, or all of it with the number of the first element", off,
			d.hw.align)
	}
	p := &m.parts
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.kept {
		if b.off == off {
			b.users++
			return b, nil
		}
	}
	whole := m.mem
	if p.of != 0 {
		whole = p.of
	}
	mem, st := d.t.createSubBuffer(whole, [2]uint64{p.off + off, m.size - off})
	if st != success {
		return nil, d.check(op, "clCreateSubBuffer", st)
	}
	b := &subBuffer{of: m, off: off, mem: mem, users: 1, kept: true}
	if len(p.kept) < maxParts {
		p.kept = append(p.kept, b)
		return b, nil
	}
	for range p.kept {
		at := p.next
		p.next = (p.next + 1) % maxParts
		if old := p.kept[at]; old.users == 0 {
			// Commands that use the sub-buffer keep it alive until they are done (OpenCL 1.2, section 5.4.1).
			_ = d.t.releaseBuffer(old.mem)
			p.kept[at] = b
			return b, nil
		}
	}
	b.kept = false
	return b, nil
}

// release ends a launch's use of the sub-buffer.
func (b *subBuffer) release() {
	p := &b.of.parts
	p.mu.Lock()
	b.users--
	gone := b.users == 0 && !b.kept
	p.mu.Unlock()
	if gone {
		_ = b.of.dev.t.releaseBuffer(b.mem)
	}
}

// freeParts releases the sub-buffers of m. No work uses m any more.
func (m *memory) freeParts() {
	for _, b := range m.parts.kept {
		_ = m.dev.t.releaseBuffer(b.mem)
	}
	m.parts.kept = nil
}
