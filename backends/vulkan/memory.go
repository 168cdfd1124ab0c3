//go:build vulkan

package vulkan

import (
	"math/bits"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/span"
)

// block is a VkDeviceMemory and the VkBuffer that is all of it.
type block struct {
	memory, buffer uintptr
	size           uint64         // bytes
	addr           uintptr        // the device's address of the first byte
	host           unsafe.Pointer // where it is mapped, or nil
}

// memory is one allocation: all of a block, a slot of a slab, or host memory that was registered.
type memory struct {
	dev  *device
	kind driver.Kind
	size uint64
	blk  *block
	off  uint64         // bytes from the start of the block
	host unsafe.Pointer // the host's address, nil if it does not see the memory

	slab *slab // nil if the block is this memory's own
	slot uint32

	registered bool
	node       *span.Node[*memory] // in hosts, if the host sees the memory
}

var _ driver.Memory = (*memory)(nil)

// Alloc returns memory of KindDevice or KindHost. Small memory comes from slabs, because a driver may allow no more than 4096 allocations
// (maxMemoryAllocationCount).
func (d *device) Alloc(kind driver.Kind, size, align uint64) (driver.Memory, error) {
	const op = "alloc"
	m, err := d.alloc(op, kind, size, max(align, alignment))
	if err != nil {
		return nil, err
	}
	if m.blk.host != nil {
		m.host = unsafe.Add(m.blk.host, m.off)
		d.hosts.add(m)
	}
	return m, nil
}

func (d *device) alloc(op string, kind driver.Kind, size, align uint64) (*memory, error) {
	if m, err := d.slabs.take(op, d, kind, size, align); m != nil || err != nil {
		return m, err
	}
	// The driver aligns memory as buffers need it. If that is not enough, a later byte is the first.
	blk, err := d.countedBlock(op, kind, size, align)
	if err != nil {
		return nil, err
	}
	return &memory{dev: d, kind: kind, size: size, blk: blk, off: -uint64(blk.addr) & (align - 1)}, nil
}

// emptySize is how many bytes can be read at the address of an empty slice.
const emptySize = 64 << 10

// readable returns memory whose address a kernel gets for an empty slice. Mesa 26 reads x[i] of "if len(x) > 0 { v = x[i] }" also where the
// condition is false, if condition and index are the same for all threads; the value is not used.
func (d *device) readable() (m *memory, err error) {
	d.emptyMu.Lock()
	defer d.emptyMu.Unlock()
	if d.empty == nil {
		if d.empty, err = d.alloc("launch", driver.KindDevice, emptySize, alignment); err != nil {
			return nil, err
		}
	}
	return d.empty, nil
}

// countedBlock returns a block in which size bytes fit as they are aligned, and counts them. It fails if that were more than the limit of a
// simulated device. Package hal adds the figures to the error.
func (d *device) countedBlock(op string, kind driver.Kind, size, align uint64) (*block, error) {
	for claimed := kind != driver.KindDevice; !claimed; {
		used := d.used.Load()
		if limit := d.plan.limit; limit > 0 && size > limit-min(used, limit) {
			return nil, d.refuse(op, driver.ErrOutOfMemory, "the device's memory limit is reached")
		}
		claimed = d.used.CompareAndSwap(used, used+size)
	}
	blk, err := d.newBlock(op, kind, size+align)
	if err != nil {
		d.giveBack(kind, size)
	}
	return blk, err
}

func (d *device) giveBack(kind driver.Kind, size uint64) {
	if kind == driver.KindDevice {
		d.used.Add(-size)
	}
}

// newBlock allocates memory and makes its buffer.
func (d *device) newBlock(op string, kind driver.Kind, size uint64) (*block, error) {
	index, mapped := d.deviceType, d.plan.unified
	if kind == driver.KindHost {
		index, mapped = d.hostType, true
	}
	buffer, r, err := d.newBuffer(op, size, false)
	if err != nil {
		return nil, err
	}
	return d.bind(op, buffer, size, mapped, &memoryAllocateInfo{size: r.size, typeIndex: index})
}

// newBuffer makes a buffer without memory, and says what memory it needs. Host memory that is imported needs buffers that are made for
// that.
func (d *device) newBuffer(op string, size uint64, imported bool) (buffer uintptr, r *requirements, err error) {
	info := &bufferCreateInfo{head: head{typeBufferCreateInfo, nil}, size: size, usage: bufferUsage}
	if imported {
		info.next = unsafe.Pointer(&externalBufferInfo{head: head{typeExternalBufferInfo, nil}, kinds: handleHostAllocation})
	}
	buffer, st := d.t.createBuffer(d.handle, unsafe.Pointer(info))
	if st < success {
		return 0, nil, d.fail(op, "vkCreateBuffer", st)
	}
	r = new(requirements)
	if d.t.bufferRequirements(d.handle, buffer, unsafe.Pointer(r)); r.size < size {
		d.t.destroyBuffer(d.handle, buffer)
		return 0, nil, d.refuse(op, driver.ErrDriver, "vkGetBufferMemoryRequirements gives %d bytes for a buffer of %d", r.size, size)
	}
	return buffer, r, nil
}

// bind allocates memory as info says, and binds the buffer to it. If it fails, the buffer is destroyed.
func (d *device) bind(op string, buffer uintptr, size uint64, mapped bool, info *memoryAllocateInfo) (*block, error) {
	blk := &block{buffer: buffer, size: size}
	if err := d.supply(op, blk, mapped, info); err != nil {
		d.freeBlock(blk)
		return nil, err
	}
	return blk, nil
}

// supply gives the buffer of a block its memory. If it fails, the block may have some of what it needs.
func (d *device) supply(op string, blk *block, mapped bool, info *memoryAllocateInfo) error {
	t := d.t
	info.sType = typeMemoryAllocateInfo
	info.next = unsafe.Pointer(&allocateFlagsInfo{head: head{typeAllocateFlagsInfo, info.next}, flags: allocateDeviceAddress})
	var st status
	if blk.memory, st = t.allocateMemory(d.handle, unsafe.Pointer(info)); st < success {
		return d.fail(op, "vkAllocateMemory", st)
	}
	if st = t.bindBuffer(d.handle, blk.buffer, blk.memory); st < success {
		return d.fail(op, "vkBindBufferMemory", st)
	}
	if mapped {
		addr, st := t.mapMemory(d.handle, blk.memory)
		if st < success {
			return d.fail(op, "vkMapMemory", st)
		}
		if addr == 0 {
			return d.refuse(op, driver.ErrDriver, "vkMapMemory succeeds and gives the address 0")
		}
		blk.host = dl.Pointer(addr)
	}
	address := &bufferAddressInfo{head: head{typeBufferAddressInfo, nil}, buffer: blk.buffer}
	if blk.addr = t.bufferAddress(d.handle, unsafe.Pointer(address)); blk.addr == 0 {
		return d.refuse(op, driver.ErrDriver, "vkGetBufferDeviceAddress gives the address 0")
	}
	return nil
}

// freeBlock frees a block, or what there is of it. Freeing memory also ends its mapping.
func (d *device) freeBlock(blk *block) {
	d.t.destroyBuffer(d.handle, blk.buffer)
	if blk.memory != 0 {
		d.t.freeMemory(d.handle, blk.memory)
	}
}

// Register makes existing host memory usable in place, by VK_EXT_external_memory_host, which takes whole pages.
func (d *device) Register(ptr unsafe.Pointer, size uint64) (driver.Memory, error) {
	const op = "register"
	page := max(d.plan.importAlign, 1)
	start := uint64(dl.Address(ptr))
	first := start &^ (page - 1)
	n := (start + size - first + page - 1) &^ (page - 1)
	m := &memory{dev: d, kind: driver.KindHost, size: size, off: start - first, host: ptr, registered: true}
	if !d.hosts.add(m) {
		return nil, d.refuse(op, driver.ErrBusy, "%d bytes at %#x overlap a registered range", size, start)
	}
	blk, err := d.importHost(op, uintptr(first), n)
	if err != nil {
		d.hosts.remove(m)
		return nil, err
	}
	d.hosts.ready(m, blk)
	return m, nil
}

// importHost makes a block of whole pages of host memory. The address is a number, because the first page may begin before the program's
// memory, where no Go pointer may point.
func (d *device) importHost(op string, host uintptr, size uint64) (*block, error) {
	properties := &hostPointerProperties{head: head{typeHostPointerProperties, nil}}
	st := d.t.hostPointerProperties(d.handle, handleHostAllocation, host, unsafe.Pointer(properties))
	if st < success {
		return nil, d.fail(op, "vkGetMemoryHostPointerPropertiesEXT", st)
	}
	buffer, r, err := d.newBuffer(op, size, true)
	if err != nil {
		return nil, err
	}
	types := properties.typeBits & r.typeBits
	if coherent := types & d.coherentTypes; coherent != 0 {
		types = coherent
	}
	if types == 0 {
		d.t.destroyBuffer(d.handle, buffer)
		return nil, d.refuse(op, driver.ErrUnsupported, "no type of memory takes the host memory at %#x", host)
	}
	from := &importHostPointer{head: head{typeImportHostPointer, nil}, kind: handleHostAllocation, host: host}
	info := &memoryAllocateInfo{head: head{next: unsafe.Pointer(from)}, size: size, typeIndex: uint32(bits.TrailingZeros32(types))}
	return d.bind(op, buffer, size, false, info)
}

// Size returns the requested size.
func (m *memory) Size() uint64 { return m.size }

// Handle returns the device's address, which kernels take. It need not be the host's.
func (m *memory) Handle() uintptr { return m.blk.addr + uintptr(m.off) }

// HostPointer returns the host's address, or nil.
func (m *memory) HostPointer() unsafe.Pointer { return m.host }

// hostAt returns the host's address of a byte.
func (m *memory) hostAt(off uint64) unsafe.Pointer { return unsafe.Add(m.host, off) }

// Free gives the memory back.
func (m *memory) Free() error {
	d := m.dev
	d.settle()
	if m.node != nil {
		d.hosts.remove(m)
	}
	if m.slab != nil {
		d.slabs.put(d, m)
		return nil
	}
	d.freeBlock(m.blk)
	if !m.registered {
		d.giveBack(m.kind, m.size)
	}
	return nil
}

// hostRanges are the memories of a device that the host sees, by the host's address. A copy from or to host memory looks here whether the
// device can make it itself.
type hostRanges struct {
	mu   sync.Mutex
	tree span.Tree[*memory]
}

// add adds a memory, and reports false if its range overlaps another.
func (h *hostRanges) add(m *memory) bool {
	lo := uint64(uintptr(m.HostPointer()))
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tree.Any(lo, lo+m.size) != nil {
		return false
	}
	m.node = &span.Node[*memory]{Lo: lo, Hi: lo + m.size, Value: m}
	h.tree.Insert(m.node)
	return true
}

// ready makes a memory that was added known to find: its block is there now.
func (h *hostRanges) ready(m *memory, blk *block) {
	h.mu.Lock()
	m.blk = blk
	h.mu.Unlock()
}

func (h *hostRanges) remove(m *memory) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tree.Delete(m.node)
	m.node = nil
}

// find returns the memory that has all n bytes at an address, with the offset in its block, or nil. touches reports whether a memory has
// some of them.
func (h *hostRanges) find(p unsafe.Pointer, n uint64) (m *memory, off uint64, touches bool) {
	lo := uint64(uintptr(p))
	h.mu.Lock()
	defer h.mu.Unlock()
	node := h.tree.Any(lo, lo+n)
	if node == nil {
		return nil, 0, false
	}
	if node.Lo > lo || node.Hi < lo+n || node.Value.blk == nil {
		return nil, 0, true
	}
	return node.Value, node.Value.off + lo - node.Lo, true
}

// byteTable is memory with each byte once, in order.
type byteTable struct {
	mu  sync.Mutex
	mem *memory
}

func (b *byteTable) get(op string, d *device) (*memory, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mem == nil {
		m, err := d.alloc(op, driver.KindHost, 256, alignment)
		if err != nil {
			return nil, err
		}
		for i, at := 0, unsafe.Add(m.blk.host, m.off); i < 256; i++ {
			*(*byte)(unsafe.Add(at, i)) = byte(i)
		}
		b.mem = m
	}
	return b.mem, nil
}

func (b *byteTable) close() {
	if b.mem != nil {
		_ = b.mem.Free()
		b.mem = nil
	}
}
