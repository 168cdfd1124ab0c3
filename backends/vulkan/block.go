//go:build vulkan

package vulkan

import (
	"math/bits"
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
