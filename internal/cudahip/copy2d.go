package cudahip

import (
	"runtime"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

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
// them: copies from or to other devices, copies that would block the caller, and copies with pitches that
// the device does not support.
func (s *Stream) Copy2D(r driver.Rect) error {
	const op = "copy rows"
	v := Rect{DstPitch: uintptr(r.Dst.Pitch), SrcPitch: uintptr(r.Src.Pitch), Width: uintptr(r.Width), Rows: uintptr(r.Rows)}
	var near [2]bool
	var err error
	if v.Dst, v.DstAt, near[0], err = s.plane(op, &r.Dst); err != nil {
		return err
	}
	if v.Src, v.SrcAt, near[1], err = s.plane(op, &r.Src); err != nil {
		return err
	}
	alone := !near[0] || !near[1] || r.Dst.Pitch > maxPitch || r.Src.Pitch > maxPitch
	if !alone && (s.pageable(&r.Dst, &r) || s.pageable(&r.Src, &r) || onHost(&r.Dst) && onHost(&r.Src)) {
		if alone, err = s.wouldWait(op); err != nil {
			return err
		}
	}
	if alone {
		return s.rowByRow(r)
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
	return p.Mem == nil && !s.dev.lib.hosts.contains(uintptr(p.Host), uintptr((r.Rows-1)*p.Pitch+r.Width))
}

// onHost reports whether the rows are in host memory.
func onHost(p *driver.Pitched) bool {
	m, ok := p.Mem.(*Memory)
	return p.Mem == nil || ok && m.onHost()
}

// plane returns the address of the first row and its place. near is false if the rows are in memory
// of another device.
func (s *Stream) plane(op string, p *driver.Pitched) (addr uintptr, at Place, near bool, err error) {
	if p.Mem == nil {
		return uintptr(p.Host), OnHost, true, nil
	}
	region := driver.Region{Mem: p.Mem, Off: p.Off}
	m, ok := s.memory(region)
	if !ok {
		return 0, 0, false, s.strange(op)
	}
	addr = m.at(region)
	if !m.onDevice() {
		return addr, Anywhere, true, nil
	}
	return addr, OnDevice, m.dev.dev == s.dev.dev, nil
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
