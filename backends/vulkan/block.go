//go:build vulkan

package vulkan

import (
	"math/bits"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// block is a VkDeviceMemory and the VkBuffer that is all of it.
type block struct {
	memory, buffer uintptr
	size           uint64         // bytes
	addr           uintptr        // the device's address of the first byte
	host           unsafe.Pointer // where it is mapped, or nil
}

// countedBlock returns a block in which size bytes fit as they are aligned, and counts them. It fails if that were more than the limit of a
// simulated device. Package hal adds the figures to the error.
func (d *logical) countedBlock(op string, kind driver.Kind, size, align uint64) (*block, error) {
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

func (d *logical) giveBack(kind driver.Kind, size uint64) {
	if kind == driver.KindDevice {
		d.used.Add(-size)
	}
}

// newBlock allocates memory and makes its buffer.
func (d *logical) newBlock(op string, kind driver.Kind, size uint64) (*block, error) {
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
func (d *logical) newBuffer(op string, size uint64, imported bool) (buffer uintptr, r *requirements, err error) {
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
func (d *logical) bind(op string, buffer uintptr, size uint64, mapped bool, info *memoryAllocateInfo) (*block, error) {
	blk := &block{buffer: buffer, size: size}
	if err := d.supply(op, blk, mapped, info); err != nil {
		d.freeBlock(blk)
		return nil, err
	}
	return blk, nil
}

// supply gives the buffer of a block its memory. If it fails, the block may have some of what it needs.
func (d *logical) supply(op string, blk *block, mapped bool, info *memoryAllocateInfo) error {
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
func (d *logical) freeBlock(blk *block) {
	d.t.destroyBuffer(d.handle, blk.buffer)
	if blk.memory != 0 {
		d.t.freeMemory(d.handle, blk.memory)
	}
}

// chooseTypes takes the best type of memory for each kind that buffers can use. All buffers of one usage can use the same types, so one is
// made to ask.
func (d *logical) chooseTypes(op string) error {
	buffer, r, err := d.newBuffer(op, maxAlign, false)
	if err != nil {
		return err
	}
	d.t.destroyBuffer(d.handle, buffer)
	for i, types := range [][]uint32{d.plan.deviceTypes, d.plan.hostTypes} {
		to := []*uint32{&d.deviceType, &d.hostType}[i]
		chosen := false
		for _, index := range types {
			if r.typeBits&(1<<index) != 0 {
				*to, chosen = index, true
				break
			}
		}
		if !chosen {
			return d.refuse(op, driver.ErrUnsupported, "buffers can use none of the memory types %v", types)
		}
	}
	for _, index := range d.plan.hostTypes {
		d.coherentTypes |= 1 << index
	}
	return nil
}

// importHost makes a block of whole pages of host memory. The address is a number, because the first page may begin before the program's
// memory, where no Go pointer may point.
func (d *logical) importHost(op string, host uintptr, size uint64) (*block, error) {
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

// Sizes are in bytes. Memory of up to largestSlot is a slot of a slab, which is a block whose slots all have the same size: a power of two.
const (
	slabSize     = 1 << 20
	smallestSlot = 256
	largestSlot  = 64 << 10

	slotSizes = 9 // from smallestSlot to largestSlot
)

// slabs hands out small memory. Memory that is allocated and freed again and again costs no call of the driver: of each kind and slot
// size one empty slab is kept, until the device is closed.
type slabs struct {
	mu   sync.Mutex
	open [2][slotSizes][]*slab // with free slots, of KindDevice and KindHost
}

// slab is a block of slots.
type slab struct {
	blk   *block
	class int // index of the slot size
	slots int
	free  []uint32 // slots
	at    int      // index in open, if free is not empty
}

// slot is a part of a slab.
type slot struct {
	of *slab
	at uint32 // its number
}

func slotSize(class int) uint64 { return smallestSlot << class }

func kindIndex(kind driver.Kind) int { return int(kind - driver.KindDevice) }

// take returns a slot of so many bytes, or one of no slab if they are too many.
func (p *slabs) take(op string, d *logical, kind driver.Kind, need uint64) (slot, error) {
	need = max(need, smallestSlot)
	if need > largestSlot || d.plan.limit > 0 && d.plan.limit < 16*slabSize {
		return slot{}, nil
	}
	class := bits.Len64((need - 1) / smallestSlot)
	p.mu.Lock()
	defer p.mu.Unlock()
	list := &p.open[kindIndex(kind)][class]
	if len(*list) == 0 {
		s, err := newSlab(op, d, kind, class)
		if err != nil {
			return slot{}, err
		}
		p.list(list, s)
	}
	s := (*list)[len(*list)-1]
	at := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	if len(s.free) == 0 {
		*list = (*list)[:len(*list)-1]
	}
	return slot{s, at}, nil
}

func newSlab(op string, d *logical, kind driver.Kind, class int) (*slab, error) {
	blk, err := d.countedBlock(op, kind, slabSize, maxAlign)
	if err != nil {
		return nil, err
	}
	s := &slab{blk: blk, class: class, slots: int(slabSize / slotSize(class))}
	for i := s.slots - 1; i >= 0; i-- {
		s.free = append(s.free, uint32(i)) // so that the first slots are taken first
	}
	return s, nil
}

// offset returns where a slot begins in the block. Slots are aligned to their size, up to maxAlign.
func (x slot) offset() uint64 {
	return -uint64(x.of.blk.addr)&(maxAlign-1) + uint64(x.at)*slotSize(x.of.class)
}

func (p *slabs) list(list *[]*slab, s *slab) {
	s.at = len(*list)
	*list = append(*list, s)
}

// put takes a slot back. A slab without used slots is freed if there is another with free ones.
func (p *slabs) put(d *logical, kind driver.Kind, x slot) {
	s := x.of
	p.mu.Lock()
	list := &p.open[kindIndex(kind)][s.class]
	if len(s.free) == 0 {
		p.list(list, s)
	}
	s.free = append(s.free, x.at)
	gone := len(s.free) == s.slots && len(*list) > 1
	if gone {
		last := (*list)[len(*list)-1]
		(*list)[s.at], last.at = last, s.at
		*list = (*list)[:len(*list)-1]
	}
	p.mu.Unlock()
	if gone {
		d.freeBlock(s.blk)
		d.giveBack(kind, slabSize)
	}
}

// trim frees the slabs without used slots. A device that is closed has no others.
func (p *slabs) trim(d *logical) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for kind := range p.open {
		for class := range p.open[kind] {
			list := &p.open[kind][class]
			kept := (*list)[:0]
			for _, s := range *list {
				if len(s.free) < s.slots {
					p.list(&kept, s)
					continue
				}
				d.freeBlock(s.blk)
				d.giveBack(driver.KindDevice+driver.Kind(kind), slabSize)
			}
			clear((*list)[len(kept):])
			*list = kept
		}
	}
}
