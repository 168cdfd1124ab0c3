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
