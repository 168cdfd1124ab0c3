//go:build opencl

package opencl

import (
	"encoding/binary"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/memcopy"
)

// word queries a number of n bytes, at most 8.
func (d *device) word(op, api string, get func(object uintptr, param uint32, value []byte) status,
	object uintptr, param uint32, n uint64) (uint64, error) {
	var value [wordSize]byte
	if st := get(object, param, value[:n]); st != success {
		return 0, d.check(op, api, st)
	}
	return binary.NativeEndian.Uint64(value[:]), nil
}

// Import imports unified shared memory, SVM memory, or a buffer of the device's context. A buffer is retained until Free.
func (d *device) Import(kind driver.Kind, handle uintptr, size uint64) (driver.Memory, error) {
	const op = "import"
	m := &memory{dev: d, kind: kind, size: size, foreign: true}
	if d.tier == tierBuffer {
		if err := m.adoptBuffer(op, handle); err != nil {
			return nil, err
		}
		return m, nil
	}
	if handle%8 != 0 {
		return nil, d.refuse(op, driver.ErrMisaligned, "address %#x is not aligned to 8 bytes", handle)
	}
	visible := m.visible()
	if d.info.Caps.Has(driver.CapPointerInfo) {
		p, err := d.pointer(op, handle)
		if err != nil {
			return nil, err
		}
		switch {
		case p.Kind != kind && (kind != driver.KindDevice || p.Kind != driver.KindHost || !d.hw.unified):
			return nil, d.refuse(op, driver.ErrInvalidArgument, "the memory at %#x is %v memory, not %v memory", handle, p.Kind, kind)
		case p.Kind != driver.KindHost && p.Device != d.info.Ordinal:
			return nil, d.refuse(op, driver.ErrWrongDevice, "the memory at %#x belongs to another device", handle)
		case size > p.Size-uint64(handle-p.Base):
			return nil, d.refuse(op, driver.ErrOutOfRange,
				"%d bytes at %#x exceed the allocation of %d bytes at %#x", size, handle, p.Size, p.Base)
		}
		visible = p.Kind != driver.KindDevice
	} else if d.hw.unified {
		// OpenCL does not report which memory an address belongs to. At least this ensures that the process can read
		// the memory.
		switch last := handle + uintptr(size-1); {
		case !memcopy.Readable(handle):
			return nil, d.refuse(op, driver.ErrInvalidArgument, "the process cannot read at %#x", handle)
		case !memcopy.Readable(last):
			return nil, d.refuse(op, driver.ErrOutOfRange, "the process cannot read all of %d bytes at %#x", size, handle)
		}
	}
	m.addr, m.mem = handle, handle
	if visible {
		m.host.Store((*byte)(dl.Pointer(handle)))
	}
	return m, nil
}

// object returns an error if handle certainly is no object of the device's driver. The loader would follow its first
// word, which in all objects of one driver is the address of the driver's functions (cl_khr_icd), and end the
// process. Nothing else about a handle can be known without asking the driver, which need not check it either.
func (d *device) object(op, what string, handle uintptr) error {
	first, ok := memcopy.Word(handle)
	if own, _ := memcopy.Word(d.ctx.cl); ok && handle%wordSize == 0 && first == own {
		return nil
	}
	return d.refuse(op, driver.ErrInvalidArgument, "%#x is no %s of this driver", handle, what)
}

func (m *memory) adoptBuffer(op string, mem uintptr) error {
	d := m.dev
	if err := d.object(op, "cl_mem", mem); err != nil {
		return err
	}
	const api = "clGetMemObjectInfo"
	var words [6]uint64
	for i, param := range []uint32{memContext, memType, memFlags, memSize, memAssociated, memOffset} {
		n := uint64(8) // bytes of an address, a size_t and of flags
		if param == memType {
			n = 4
		}
		var err error
		if words[i], err = d.word(op, api, d.t.memInfo, mem, param, n); err != nil {
			return err
		}
	}
	context, kind, flags, size := words[0], words[1], words[2], words[3]
	found := driver.KindDevice
	if flags&(memUseHostPtr|memAllocHostPtr) != 0 {
		found = driver.KindHost
	}
	switch {
	case uintptr(context) != d.ctx.cl:
		return d.refuse(op, driver.ErrWrongDevice, "the cl_mem belongs to another context")
	case kind != memTypeBuffer:
		return d.refuse(op, driver.ErrInvalidArgument, "the cl_mem is not a buffer")
	case flags&(memHostWriteOnly|memHostReadOnly|memHostNoAccess) != 0:
		return d.refuse(op, driver.ErrInvalidArgument, "the buffer's flags %#x restrict host access", flags)
	case found != m.kind:
		return d.refuse(op, driver.ErrInvalidArgument, "the buffer is %v memory, not %v memory", found, m.kind)
	case m.size > size:
		return d.refuse(op, driver.ErrOutOfRange, "%d bytes exceed the buffer of %d bytes", m.size, size)
	}
	m.parts.of, m.parts.off = uintptr(words[4]), words[5]
	if err := d.check(op, "clRetainMemObject", d.t.retainBuffer(mem)); err != nil {
		return err
	}
	m.mem = mem
	return nil
}

// PointerInfo describes the unified shared memory at an address. The kind is the one with which the backend allocated it.
func (d *device) PointerInfo(ptr uintptr) (driver.PointerInfo, error) {
	const op = "query a pointer"
	p, err := d.pointer(op, ptr)
	if p.Kind == driver.KindHost {
		d.ctx.mu.Lock()
		if _, own := d.ctx.disguised[p.Base]; own {
			p.Kind, p.Device = driver.KindDevice, d.info.Ordinal
		}
		d.ctx.mu.Unlock()
	}
	return p, err
}

func (d *device) pointer(op string, ptr uintptr) (driver.PointerInfo, error) {
	const api = "clGetMemAllocInfoINTEL"
	get := func(ptr uintptr, param uint32, value []byte) status {
		return d.hw.usm.allocInfo(d.ctx.cl, ptr, param, value)
	}
	p := driver.PointerInfo{Device: -1}
	late := d.ctx.late
	if late != nil { // kept memory counts as freed here, and must not go back to the driver between two queries
		late.mu.Lock()
		defer late.mu.Unlock()
	}
	kind, err := d.word(op, api, get, ptr, usmAllocType, 4)
	if err != nil {
		return p, err
	}
	switch kind {
	case usmTypeHost:
		p.Kind = driver.KindHost
	case usmTypeDevice:
		p.Kind = driver.KindDevice
	case usmTypeShared:
		p.Kind = driver.KindShared
	default:
		return p, d.refuse(op, driver.ErrInvalidArgument, "the platform knows of no memory at %#x", ptr)
	}
	base, err := d.word(op, api, get, ptr, usmAllocBase, wordSize)
	if err != nil {
		return p, err
	}
	if late != nil && late.keeps(uintptr(base)) {
		return driver.PointerInfo{Device: -1}, d.refuse(op, driver.ErrInvalidArgument, "the memory at %#x is freed", ptr)
	}
	if p.Size, err = d.word(op, api, get, ptr, usmAllocSize, wordSize); err != nil {
		return p, err
	}
	id, err := d.word(op, api, get, ptr, usmAllocDevice, wordSize)
	if err != nil {
		return p, err
	}
	// Shared memory may belong to no device, and host memory never belongs to one.
	if uintptr(id) == d.hw.id || id == 0 && p.Kind != driver.KindHost {
		p.Device = d.info.Ordinal
	}
	p.Base = uintptr(base)
	return p, nil
}

// ImportStream imports a queue of the device's context. The queue is retained until Close.
func (d *device) ImportStream(queue uintptr) (driver.Stream, error) {
	const op, api = "import a stream", "clGetCommandQueueInfo"
	if err := d.object(op, "cl_command_queue", queue); err != nil {
		return nil, err
	}
	var words [3]uint64
	for i, param := range []uint32{queueContext, queueDevice, queueProperties} {
		var err error
		if words[i], err = d.word(op, api, d.t.queueInfo, queue, param, 8); err != nil {
			return nil, err
		}
	}
	switch {
	case uintptr(words[0]) != d.ctx.cl:
		return nil, d.refuse(op, driver.ErrWrongDevice, "the queue belongs to another context")
	case uintptr(words[1]) != d.hw.id:
		return nil, d.refuse(op, driver.ErrWrongDevice, "the queue belongs to another device")
	case words[2]&(queueOutOfOrder|queueOnDevice) != 0:
		return nil, d.refuse(op, driver.ErrInvalidArgument, "the queue is out-of-order or an on-device queue")
	}
	if err := d.check(op, "clRetainCommandQueue", d.t.retainQueue(queue)); err != nil {
		return nil, err
	}
	s := &stream{dev: d, queue: queue, untimed: words[2]&queueProfilingEnable == 0}
	s.handedOut.Store(true)
	return s, nil
}
