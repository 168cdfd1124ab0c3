package cudahip

import (
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// Fill implements driver.Stream. The vendors fill with patterns of 1, 2 and 4 bytes, at addresses
// that are multiples of the pattern's size. Longer patterns, and other addresses, which registered
// memory may have, need another way: the pattern is written once, and copies within the region
// double the filled part until the region is full.
func (s *Stream) Fill(dst driver.Region, p driver.Pattern) error {
	const op = "fill"
	m, ok := s.memory(dst)
	if !ok {
		return s.strange(op)
	}
	addr, n := m.at(dst), uintptr(dst.Len)
	p = shortest(p)
	if p.Width <= 4 && addr%uintptr(p.Width) == 0 {
		if call, code := s.fill(addr, p, n); code != Success {
			return s.dev.fail(op, call, code)
		}
		return nil
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
func (s *Stream) fill(addr uintptr, p driver.Pattern, n uintptr) (Call, Code) {
	switch p.Width {
	case 1:
		return CallFill8, s.api.Fill8(s.ctx, addr, uint8(p.Bits), n, s.handle)
	case 2:
		return CallFill16, s.api.Fill16(s.ctx, addr, uint16(p.Bits), n/2, s.handle)
	}
	return CallFill32, s.api.Fill32(s.ctx, addr, uint32(p.Bits), n/4, s.handle)
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
		if call, code := s.fill(addr+off, part, step); code != Success {
			return s.dev.fail(op, call, code)
		}
	}
	for done := width; done < n; {
		c := min(done, n-done)
		var code Code
		call := CallCopyAny
		if m.onDevice() && m.dev.dev == s.dev.dev {
			call = CallCopyDevice
			code = s.api.CopyDevice(s.ctx, addr+done, addr, c, s.handle)
		} else {
			code = s.api.CopyAny(s.ctx, addr+done, addr, c, s.handle)
		}
		if code != Success {
			return s.dev.fail(op, call, code)
		}
		done += c
	}
	return nil
}
