package cudahip

import (
	"runtime"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/memcopy"
)

// onDevice reports whether the memory certainly is on its device. Managed and page-locked memory
// may be elsewhere.
func (m *Memory) onDevice() bool {
	return m.origin == fromDevice || m.origin == fromStream || m.origin == fromIPC
}

// onHost reports whether the memory is host memory, which the host can access while the device uses
// it.
func (m *Memory) onHost() bool {
	return m.host != 0 && (m.origin == fromHost || m.origin == fromCaller)
}

// hostAt returns the host's address of a byte of the memory.
func (m *Memory) hostAt(off uint64) unsafe.Pointer { return dl.Pointer(m.host + uintptr(off)) }

// wouldWait reports whether the stream is busy and host functions are supported. Then a vendor's call that waits for the
// stream would block the caller, and a host function can do the work instead.
func (s *Stream) wouldWait(op string) (bool, error) {
	if s.dev.info.Caps&driver.CapHostCallback == 0 {
		return false, nil
	}
	idle, err := s.idle(op)
	return !idle, err
}

// moveOnHost copies from host memory to host memory in stream order. The vendors' calls would block the caller
// until the stream reaches the copy ("fully synchronous", CUDA Driver API, section 2).
func (s *Stream) moveOnHost(op string, dst, src unsafe.Pointer, n uintptr) error {
	code := s.dev.calls.enqueue(s, func() { memcopy.Copy(dst, src, uint64(n)) }, nil)
	return s.dev.check(op, CallHostCall, code)
}

// copyWay is a way to copy between a memory and host memory.
type copyWay uint8

const (
	byVendor copyWay = iota // by the vendor's call
	hostCopy                // by a host function
	staged                  // through page-locked memory
)

// way returns how to copy n bytes between the memory and host memory. It avoids the vendor's call in three cases: the
// call would block the caller, it would fail because only part of the host memory is page-locked, or it would be
// slower.
func (s *Stream) way(op string, m *Memory, host, n uintptr) (copyWay, error) {
	hosts, info := &s.dev.lib.hosts, &s.dev.info
	other, bytes := staged, addresses(host, n)
	if m.onHost() {
		other = hostCopy
	} else if hosts.Contains(bytes) {
		return byVendor, nil
	}
	crosses := other == staged && info.PCI != "" && !info.SharesHostMemory
	if info.Caps&driver.CapHostCallback != 0 && (crosses && n >= worthStaging || hosts.Touches(bytes) && !hosts.Contains(bytes)) {
		return other, nil
	}
	if wait, err := s.wouldWait(op); !wait || err != nil {
		return byVendor, err
	}
	return other, nil
}

func (s *Stream) Copy(dst, src driver.Region) error {
	const op = "copy"
	to, from := dst.Mem.(*Memory), src.Mem.(*Memory)
	dstAddr, srcAddr, n := to.at(dst), from.at(src), uintptr(dst.Len)
	if to.onHost() && from.onHost() {
		switch wait, err := s.wouldWait(op); {
		case err != nil:
			return err
		case wait:
			return s.moveOnHost(op, to.hostAt(dst.Off), from.hostAt(src.Off), n)
		}
	}
	switch {
	case !to.onDevice() || !from.onDevice():
		return s.dev.check(op, CallCopyAny, s.api.CopyAny(s.ctx, dstAddr, srcAddr, n, s.handle))
	case to.dev.dev == from.dev.dev && to.dev.dev == s.dev.dev:
		return s.dev.check(op, CallCopyDevice, s.api.CopyDevice(s.ctx, dstAddr, srcAddr, n, s.handle))
	}
	return s.dev.check(op, CallCopyPeer, s.api.CopyPeer(s.ctx, dstAddr, to.dev.ctx, srcAddr, from.dev.ctx, n, s.handle))
}

func (s *Stream) CopyIn(dst driver.Region, src unsafe.Pointer) error {
	const op = "copy in"
	m := dst.Mem.(*Memory)
	addr, n := m.at(dst), uintptr(dst.Len)
	switch way, err := s.way(op, m, uintptr(src), n); {
	case err != nil:
		return err
	case way == hostCopy:
		return s.moveOnHost(op, m.hostAt(dst.Off), src, n)
	case way == staged:
		return s.stageIn(m, addr, src, n)
	}
	err := s.copyIn(op, m, addr, uintptr(src), n)
	runtime.KeepAlive(src)
	return err
}

func (s *Stream) copyIn(op string, m *Memory, addr, host, n uintptr) error {
	if m.onDevice() {
		return s.dev.check(op, CallCopyIn, s.api.CopyIn(s.ctx, addr, host, n, s.handle))
	}
	return s.dev.check(op, CallCopyAny, s.api.CopyAny(s.ctx, addr, host, n, s.handle))
}

func (s *Stream) CopyOut(dst unsafe.Pointer, src driver.Region) error {
	const op = "copy out"
	m := src.Mem.(*Memory)
	addr, n := m.at(src), uintptr(src.Len)
	switch way, err := s.way(op, m, uintptr(dst), n); {
	case err != nil:
		return err
	case way == hostCopy:
		return s.moveOnHost(op, dst, m.hostAt(src.Off), n)
	case way == staged:
		return s.stageOut(dst, m, addr, n)
	}
	err := s.copyOut(op, uintptr(dst), m, addr, n)
	runtime.KeepAlive(dst)
	return err
}

func (s *Stream) copyOut(op string, host uintptr, m *Memory, addr, n uintptr) error {
	if m.onDevice() {
		return s.dev.check(op, CallCopyOut, s.api.CopyOut(s.ctx, host, addr, n, s.handle))
	}
	return s.dev.check(op, CallCopyAny, s.api.CopyAny(s.ctx, host, addr, n, s.handle))
}

// Fill implements driver.Stream. The vendors fill with patterns of 1, 2 and 4 bytes, at addresses
// that are multiples of the pattern's size. Longer patterns, and other addresses, which registered
// memory may have, need another way: the pattern is written once, and copies within the region
// double the filled part until the region is full.
func (s *Stream) Fill(dst driver.Region, p driver.Pattern) error {
	const op = "fill"
	m := dst.Mem.(*Memory)
	addr, n := m.at(dst), uintptr(dst.Len)
	p = shortest(p)
	if p.Width <= 4 && addr%uintptr(p.Width) == 0 {
		return s.fill(op, addr, p, n)
	}
	if m.onHost() { // on a busy stream the vendor's copies within host memory would block the caller
		switch wait, err := s.wouldWait(op); {
		case err != nil:
			return err
		case wait:
			at := m.hostAt(dst.Off)
			return s.dev.check(op, CallHostCall, s.dev.calls.enqueue(s, func() { repeat(at, p, n) }, nil))
		}
	}
	return s.double(op, m, addr, p, n)
}

// shortest returns the shortest pattern that repeats to the same bytes.
func shortest(p driver.Pattern) driver.Pattern {
	if p.Width == 8 && uint32(p.Bits) == uint32(p.Bits>>32) {
		p.Width = 4
	}
	if p.Width == 4 && uint16(p.Bits) == uint16(p.Bits>>16) {
		p.Width = 2
	}
	if p.Width == 2 && uint8(p.Bits) == uint8(p.Bits>>8) {
		p.Width = 1
	}
	return p
}

// fill calls the vendor's fill, for a pattern of at most 4 bytes.
func (s *Stream) fill(op string, addr uintptr, p driver.Pattern, n uintptr) error {
	switch p.Width {
	case 1:
		return s.dev.check(op, CallFill8, s.api.Fill8(s.ctx, addr, uint8(p.Bits), n, s.handle))
	case 2:
		return s.dev.check(op, CallFill16, s.api.Fill16(s.ctx, addr, uint16(p.Bits), n/2, s.handle))
	}
	return s.dev.check(op, CallFill32, s.api.Fill32(s.ctx, addr, uint32(p.Bits), n/4, s.handle))
}

// double writes the pattern once, and then doubles the filled part by copies until the region is
// full.
func (s *Stream) double(op string, m *Memory, addr uintptr, p driver.Pattern, n uintptr) error {
	width := uintptr(p.Width)
	part := driver.Pattern{Width: 4}
	if addr%4 != 0 {
		part.Width = 1
	}
	step := uintptr(part.Width)
	for off := uintptr(0); off < width; off += step {
		part.Bits = p.Bits >> (8 * off)
		if err := s.fill(op, addr+off, part, step); err != nil {
			return err
		}
	}
	for done := width; done < n; {
		c := min(done, n-done)
		call, copies := CallCopyAny, s.api.CopyAny
		if m.onDevice() && m.dev.dev == s.dev.dev {
			call, copies = CallCopyDevice, s.api.CopyDevice
		}
		if code := copies(s.ctx, addr+done, addr, c, s.handle); code != Success {
			return s.dev.fail(op, call, code)
		}
		done += c
	}
	return nil
}

// repeat does the work of double on the host.
func repeat(at unsafe.Pointer, p driver.Pattern, n uintptr) {
	b := unsafe.Slice((*byte)(at), n)
	for i := range min(uintptr(p.Width), n) {
		b[i] = byte(p.Bits >> (8 * i))
	}
	for done := uintptr(p.Width); done < n; done *= 2 {
		copy(b[done:], b[:done])
	}
}

// Place says where an address of a copy lies.
type Place uint8

const (
	OnHost   Place = iota + 1
	OnDevice       // of the context
	Anywhere       // the library finds the place of the address
)

// Rect is a copy of rows. Pitches and the width are in bytes.
type Rect struct {
	Dst, Src           uintptr
	DstAt, SrcAt       Place
	DstPitch, SrcPitch uintptr
	Width, Rows        uintptr
}

// maxPitch is the largest pitch that devices support.
const maxPitch = 1<<31 - 1

// Copy2D implements driver.Copier2D. Some copies are made row by row, because the vendor's call cannot make
// them: copies from or to other devices, copies with pitches that the device does not support, and copies within
// host memory that would block the caller. Those between the device and pageable memory that would block go through the stream's block.
func (s *Stream) Copy2D(r driver.Rect) error {
	const op = "copy rows"
	v := Rect{DstPitch: uintptr(r.Dst.Pitch), SrcPitch: uintptr(r.Src.Pitch), Width: uintptr(r.Width), Rows: uintptr(r.Rows)}
	var near [2]bool
	v.Dst, v.DstAt, near[0] = s.plane(&r.Dst)
	v.Src, v.SrcAt, near[1] = s.plane(&r.Src)
	if !near[0] || !near[1] || r.Dst.Pitch > maxPitch || r.Src.Pitch > maxPitch {
		return s.rowByRow(r)
	}
	pageable := s.pageable(&r.Dst, &r) || s.pageable(&r.Src, &r)
	if within := onHost(&r.Dst) && onHost(&r.Src); pageable || within {
		switch wait, err := s.wouldWait(op); {
		case err != nil:
			return err
		case wait && !within && v.Width <= blockSizes[small]:
			return s.stageRows(op, &r, v)
		case wait:
			return s.rowByRow(r)
		}
	}
	code := s.api.Copy2D(s.ctx, &v, s.handle)
	runtime.KeepAlive(r.Dst.Host)
	runtime.KeepAlive(r.Src.Host)
	if code == CodeInvalidValue {
		// A vendor may refuse pitches other than those that its own allocator chooses.
		return s.rowByRow(r)
	}
	return s.dev.check(op, CallCopy2D, code)
}

// pageable reports whether the rows are in host memory that is not known to be page-locked.
func (s *Stream) pageable(p *driver.Pitched, r *driver.Rect) bool {
	return p.Mem == nil && !s.dev.lib.hosts.Contains(addresses(uintptr(p.Host), uintptr((r.Rows-1)*p.Pitch+r.Width)))
}

// onHost reports whether the rows are in host memory.
func onHost(p *driver.Pitched) bool {
	return p.Mem == nil || p.Mem.(*Memory).onHost()
}

// plane returns the address of the first row and its place. near is false if the rows are in memory
// of another device.
func (s *Stream) plane(p *driver.Pitched) (addr uintptr, at Place, near bool) {
	if p.Mem == nil {
		return uintptr(p.Host), OnHost, true
	}
	m := p.Mem.(*Memory)
	addr = m.at(driver.Region{Off: p.Off})
	if !m.onDevice() {
		return addr, Anywhere, true
	}
	return addr, OnDevice, m.dev.dev == s.dev.dev
}

func (s *Stream) rowByRow(r driver.Rect) error {
	for i := range r.Rows {
		dst := driver.Region{Mem: r.Dst.Mem, Off: r.Dst.Off + i*r.Dst.Pitch, Len: r.Width}
		src := driver.Region{Mem: r.Src.Mem, Off: r.Src.Off + i*r.Src.Pitch, Len: r.Width}
		var err error
		switch {
		case r.Src.Mem == nil:
			err = s.CopyIn(dst, unsafe.Add(r.Src.Host, i*r.Src.Pitch))
		case r.Dst.Mem == nil:
			err = s.CopyOut(unsafe.Add(r.Dst.Host, i*r.Dst.Pitch), src)
		default:
			err = s.Copy(dst, src)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
