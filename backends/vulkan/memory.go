//go:build vulkan

package vulkan

import (
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/span"
)

// place is a byte of a buffer.
type place struct {
	buffer uintptr
	off    uint64
}

// overlaps reports whether n bytes from two places overlap. The device cannot make such a copy.
func (a place) overlaps(b place, n uint64) bool {
	return a.buffer == b.buffer && a.off < b.off+n && b.off < a.off+n
}

// memory is one allocation: all of a block, a slot of a slab, or host memory that was registered.
type memory struct {
	dev  *memories
	kind driver.Kind
	size uint64
	blk  *block
	off  uint64         // bytes from the start of the block
	host unsafe.Pointer // the host's address, nil if it does not see the memory

	slot slot // of is nil if the block is this memory's own

	foreign bool                // host memory that was registered
	node    *span.Node[*memory] // in hosts, if the host sees the memory
}

var _ driver.Memory = (*memory)(nil)

// memories are all memory of a device, and the queues whose work uses it.
type memories struct {
	logical
	queues  []*queue
	settled sync.Once

	hosts        hostRanges
	slabs        slabs
	bytes, empty lazyMemory
}

// Alloc returns memory of KindDevice or KindHost. Small memory comes from slabs, because a driver may allow no more than 4096 allocations
// (maxMemoryAllocationCount).
func (d *memories) Alloc(kind driver.Kind, size, align uint64) (driver.Memory, error) {
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

func (d *memories) alloc(op string, kind driver.Kind, size, align uint64) (*memory, error) {
	s, err := d.slabs.take(op, &d.logical, kind, max(size, align))
	if err != nil {
		return nil, err
	}
	if s.of != nil {
		return &memory{dev: d, kind: kind, size: size, blk: s.of.blk, off: s.offset(), slot: s}, nil
	}
	// The driver aligns memory as buffers need it. If that is not enough, a later byte is the first.
	blk, err := d.countedBlock(op, kind, size, align)
	if err != nil {
		return nil, err
	}
	return &memory{dev: d, kind: kind, size: size, blk: blk, off: -uint64(blk.addr) & (align - 1)}, nil
}

// lazyMemory is memory that is allocated when it is needed.
type lazyMemory struct {
	mu  sync.Mutex
	mem *memory
}

func (l *lazyMemory) get(op string, d *memories, kind driver.Kind, size uint64, write func(*memory)) (*memory, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mem == nil {
		m, err := d.alloc(op, kind, size, alignment)
		if err != nil {
			return nil, err
		}
		write(m)
		l.mem = m
	}
	return l.mem, nil
}

func (l *lazyMemory) close() {
	if l.mem != nil {
		_ = l.mem.Free()
	}
}

// emptySize is how many bytes can be read at the address of an empty slice.
const emptySize = 64 << 10

// readable returns memory whose address a kernel gets for an empty slice. Mesa 26 reads x[i] of "if len(x) > 0 { v = x[i] }" also where the
// condition is false, if condition and index are the same for all threads; the value is not used.
func (d *memories) readable(op string) (*memory, error) {
	return d.empty.get(op, d, driver.KindDevice, emptySize, func(*memory) {})
}

// byteTable returns memory with each byte once, in order.
func (d *memories) byteTable(op string) (*memory, error) {
	return d.bytes.get(op, d, driver.KindHost, 256, func(m *memory) {
		for i := range 256 {
			*(*byte)(unsafe.Add(m.blk.host, m.off+uint64(i))) = byte(i)
		}
	})
}

// Register makes existing host memory usable in place, by VK_EXT_external_memory_host, which takes whole pages.
func (d *memories) Register(ptr unsafe.Pointer, size uint64) (driver.Memory, error) {
	const op = "register"
	page := max(d.plan.importAlign, 1)
	start := uint64(dl.Address(ptr))
	first := start &^ (page - 1)
	n := (start + size - first + page - 1) &^ (page - 1)
	m := &memory{dev: d, kind: driver.KindHost, size: size, off: start - first, host: ptr, foreign: true}
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

// Size returns the requested size.
func (m *memory) Size() uint64 { return m.size }

// Handle returns the device's address, which kernels take. It need not be the host's.
func (m *memory) Handle() uintptr { return m.blk.addr + uintptr(m.off) }

// HostPointer returns the host's address, or nil.
func (m *memory) HostPointer() unsafe.Pointer { return m.host }

// hostAt returns the host's address of a byte, or nil.
func (m *memory) hostAt(off uint64) unsafe.Pointer {
	if m.host == nil {
		return nil
	}
	return unsafe.Add(m.host, off)
}

// at returns the place of a byte.
func (m *memory) at(off uint64) place { return place{m.blk.buffer, m.off + off} }

// Free gives the memory back.
func (m *memory) Free() error {
	d := m.dev
	d.settle()
	if m.node != nil {
		d.hosts.remove(m)
	}
	if m.slot.of != nil {
		d.slabs.put(&d.logical, m.kind, m.slot)
		return nil
	}
	d.freeBlock(m.blk)
	if !m.foreign {
		d.giveBack(m.kind, m.size)
	}
	return nil
}

// settle waits for what a lost device may still be doing, before memory that it may use is freed. The driver promises that such a wait ends
// (Vulkan 1.2, section 5.2.3).
func (d *memories) settle() {
	if d.lost.Load() == nil {
		return
	}
	d.settled.Do(func() {
		for _, q := range d.queues { // vkDeviceWaitIdle needs them for itself
			q.mu.Lock()
			defer q.mu.Unlock()
		}
		d.t.deviceWaitIdle(d.handle)
	})
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
