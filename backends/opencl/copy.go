//go:build opencl

package opencl

import (
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// Copy copies between two memories of the device.
func (s *stream) Copy(dst, src driver.Region) error {
	const op = "copy"
	d := s.dev
	to, from := dst.Mem.(*memory), src.Mem.(*memory)
	s.pace()
	s.mu.Lock()
	if d.tier == tierBuffer {
		ev, st := d.t.copyBuffer(s.queue, from.mem, to.mem, src.Off, dst.Off, dst.Len)
		return s.enqueued(op, "clEnqueueCopyBuffer", ev, st)
	}
	return s.memcpy(op, to.addr+uintptr(dst.Off), from.addr+uintptr(src.Off), dst.Len)
}

// memcpy copies between addresses. s.mu is locked, and memcpy unlocks it.
func (s *stream) memcpy(op string, dst, src uintptr, n uint64) error {
	d := s.dev
	if d.tier == tierUSM {
		ev, st := d.hw.usm.memcpy(s.queue, dst, src, n)
		return s.enqueued(op, "clEnqueueMemcpyINTEL", ev, st)
	}
	ev, st := d.t.svmMemcpy(s.queue, dst, src, n)
	return s.enqueued(op, "clEnqueueSVMMemcpy", ev, st)
}

// CopyIn copies from host memory.
func (s *stream) CopyIn(dst driver.Region, src unsafe.Pointer) error {
	const op = "copy in"
	d := s.dev
	to := dst.Mem.(*memory)
	s.pace()
	s.mu.Lock()
	if d.tier == tierBuffer {
		ev, st := d.t.writeBuffer(s.queue, to.mem, dst.Off, dst.Len, dl.Address(src))
		return s.enqueued(op, "clEnqueueWriteBuffer", ev, st)
	}
	return s.memcpy(op, to.addr+uintptr(dst.Off), dl.Address(src), dst.Len)
}

// CopyOut copies to host memory.
func (s *stream) CopyOut(dst unsafe.Pointer, src driver.Region) error {
	const op = "copy out"
	d := s.dev
	from := src.Mem.(*memory)
	s.pace()
	s.mu.Lock()
	if d.tier == tierBuffer {
		ev, st := d.t.readBuffer(s.queue, from.mem, src.Off, src.Len, dl.Address(dst))
		return s.enqueued(op, "clEnqueueReadBuffer", ev, st)
	}
	return s.memcpy(op, dl.Address(dst), from.addr+uintptr(src.Off), src.Len)
}

// mostFilled is the most bytes of one fill: NVIDIA's clEnqueueFillBuffer writes other bytes from 2 GiB on (inducer/pyopencl#395). It is a multiple
// of every width of a pattern.
const mostFilled = 1 << 30

// Fill fills memory with a repeated pattern.
func (s *stream) Fill(dst driver.Region, p driver.Pattern) error {
	const op = "fill"
	d := s.dev
	to := dst.Mem.(*memory)
	s.pace()
	s.mu.Lock()
	switch d.tier {
	case tierBuffer:
		for dst.Len > mostFilled {
			ev, st := d.t.fillBuffer(s.queue, to.mem, p.Bits, uint64(p.Width), dst.Off, mostFilled)
			if st != success {
				return s.enqueued(op, "clEnqueueFillBuffer", ev, st)
			}
			if old := s.follow(ev); old != 0 {
				d.t.releaseEvent(old)
			}
			dst.Off, dst.Len = dst.Off+mostFilled, dst.Len-mostFilled
		}
		ev, st := d.t.fillBuffer(s.queue, to.mem, p.Bits, uint64(p.Width), dst.Off, dst.Len)
		return s.enqueued(op, "clEnqueueFillBuffer", ev, st)
	case tierUSM:
		ev, st := d.hw.usm.fill(s.queue, to.addr+uintptr(dst.Off), p.Bits, uint64(p.Width), dst.Len)
		return s.enqueued(op, "clEnqueueMemFillINTEL", ev, st)
	}
	ev, st := d.t.svmFill(s.queue, to.addr+uintptr(dst.Off), p.Bits, uint64(p.Width), dst.Len)
	return s.enqueued(op, "clEnqueueSVMMemFill", ev, st)
}

// Map hands memory to the host.
func (s *stream) Map(mem driver.Memory, write bool) error {
	const op = "map"
	m := mem.(*memory)
	if !m.NeedsMap() {
		return nil
	}
	flags := uint64(mapRead)
	if write {
		flags |= mapWrite
	}
	s.mu.Lock()
	if s.dev.tier != tierBuffer {
		ev, st := s.dev.t.svmMap(s.queue, flags, m.addr, m.size)
		return s.enqueued(op, "clEnqueueSVMMap", ev, st)
	}
	addr, ev, st := s.dev.t.mapBuffer(s.queue, m.mem, flags, 0, m.size)
	if err := s.enqueued(op, "clEnqueueMapBuffer", ev, st); err != nil {
		return err
	}
	if m.addr != 0 && addr != m.addr {
		// The host would read and write outside the memory.
		_ = s.unmap(op, m, addr)
		return s.dev.refuse(op, driver.ErrDriver,
			"the driver mapped the memory at %#x instead of its own address %#x", addr, m.addr)
	}
	m.host.Store((*byte)(dl.Pointer(addr)))
	return nil
}

// Unmap hands memory back to the device.
func (s *stream) Unmap(mem driver.Memory) error {
	const op = "unmap"
	m := mem.(*memory)
	if !m.NeedsMap() {
		return nil
	}
	return s.unmap(op, m, uintptr(m.HostPointer()))
}

func (s *stream) unmap(op string, m *memory, addr uintptr) error {
	s.mu.Lock()
	if s.dev.tier != tierBuffer {
		ev, st := s.dev.t.svmUnmap(s.queue, addr)
		return s.enqueued(op, "clEnqueueSVMUnmap", ev, st)
	}
	ev, st := s.dev.t.unmapBuffer(s.queue, m.mem, addr)
	if st == invalidValue && s.dev.info.Caps.Has(driver.CapGate) {
		s.mu.Unlock()
		return s.unmapLate(op, m, addr)
	}
	return s.enqueued(op, "clEnqueueUnmapMemObject", ev, st)
}

// unmapLate waits for the work so far, then unmaps, and holds later work of the stream until the unmap is done. Rusticl (Mesa 22.3) needs
// this: it knows a mapping only after the command that makes it has run, and refuses the address as an invalid value before.
func (s *stream) unmapLate(op string, m *memory, addr uintptr) error {
	d := s.dev
	queue, err := d.queueOfUnmaps(op)
	if err != nil {
		return err
	}
	s.mu.Lock()
	before, err := s.mark(op)
	if err == nil {
		defer d.t.releaseEvent(before)
		// Rusticl calls back only when every command of the same flush has begun, so the gate must be flushed after the marker.
		err = s.flushLocked(op)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	g, err := s.Gate()
	if err != nil {
		return err
	}
	d.t.retainBuffer(m.mem)
	id, err := eventDone().Add(func(dl.CallbackArgs) {
		d.late.Add(1)
		go func() {
			defer d.late.Done()
			ev, st := d.t.unmapBuffer(queue, m.mem, addr)
			if st == success {
				st = d.t.waitForEvent(ev)
				d.t.releaseEvent(ev)
			}
			g.(*gate).end(int32(st))
			d.t.releaseBuffer(m.mem)
		}()
	})
	if err == nil {
		if st := d.t.setEventCallback(before, eventDone().Entry(), id); st != success {
			eventDone().Remove(id)
			err = d.check(op, "clSetEventCallback", st)
		}
	}
	if err != nil {
		_ = g.Open()
		d.t.releaseBuffer(m.mem)
	}
	return err
}

// queueOfUnmaps returns the queue on which the device unmaps late. No stream uses it.
func (d *device) queueOfUnmaps(op string) (uintptr, error) {
	c := d.ctx
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unmaps == 0 {
		queue, st := d.t.createQueue(c.cl, d.hw.id, 0)
		if st != success {
			return 0, d.check(op, "clCreateCommandQueue", st)
		}
		c.unmaps = queue
	}
	return c.unmaps, nil
}

// Prefetch moves shared memory of the svm tier. In the usm tier clEnqueueMigrateMemINTEL cannot
// move memory to the device: flags of zero are an invalid value.
func (s *stream) Prefetch(r driver.Region, toHost bool) error {
	const op = "prefetch"
	d := s.dev
	var flags uint64
	if toHost {
		flags = migrateToHost
	}
	m := r.Mem.(*memory)
	s.mu.Lock()
	ev, st := d.t.svmMigrate(s.queue, m.addr+uintptr(r.Off), r.Len, flags)
	return s.enqueued(op, "clEnqueueSVMMigrateMem", ev, st)
}
