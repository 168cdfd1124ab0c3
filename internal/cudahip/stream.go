package cudahip

import (
	"runtime"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/memcopy"
)

// Stream implements driver.Stream, driver.Gater, driver.Notifier, driver.StreamAllocator,
// driver.Prefetcher and driver.Launcher.
type Stream struct {
	dev    *Device
	api    API
	ctx    Context
	handle uintptr

	foreign bool // imported: Close does not destroy it
	gates   gates
	staging staging
}

// Handle implements driver.Stream.
func (s *Stream) Handle() uintptr { return s.handle }

// memory returns the memory of a region. ok is false if the memory does not belong to the stream's
// library.
func (s *Stream) memory(r driver.Region) (m *Memory, ok bool) {
	m, ok = r.Mem.(*Memory)
	return m, ok && m.dev.lib == s.dev.lib
}

// at returns the device's address of a region of the memory.
func (m *Memory) at(r driver.Region) uintptr { return m.addr + uintptr(r.Off) }

func (s *Stream) strange(op string) error {
	return s.dev.refuse(op, driver.ErrWrongDevice, "the memory belongs to another backend")
}

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
func (m *Memory) hostAt(off uint64) unsafe.Pointer { return hostPointer(m.host + uintptr(off)) }

// moveOnHost copies from host memory to host memory in stream order. The vendors' calls would block the caller
// until the stream reaches the copy ("fully synchronous", CUDA Driver API, section 2).
func (s *Stream) moveOnHost(op string, dst, src unsafe.Pointer, n uintptr) error {
	code := s.dev.calls.enqueue(s, func() { memcopy.Copy(dst, src, uint64(n)) }, nil)
	return s.dev.check(op, CallHostCall, code)
}

// idle reports whether all work of the stream is done.
func (s *Stream) idle(op string) (bool, error) {
	return s.dev.finished(op, CallStreamQuery, s.api.StreamQuery(s.ctx, s.handle))
}

// wouldWait reports whether the stream is busy and host functions are supported. Then a vendor's call that waits for the
// stream would block the caller, and a host function can do the work instead.
func (s *Stream) wouldWait(op string) (bool, error) {
	if !s.dev.info.Caps.Has(driver.CapHostCallback) {
		return false, nil
	}
	idle, err := s.idle(op)
	return !idle, err
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
	other := staged
	if m.onHost() {
		other = hostCopy
	} else if hosts.contains(host, n) {
		return byVendor, nil
	}
	crosses := other == staged && info.PCI.Known && !info.SharesHostMemory
	if info.Caps.Has(driver.CapHostCallback) && (crosses && n >= worthStaging || hosts.touches(host, n) && !hosts.contains(host, n)) {
		return other, nil
	}
	if wait, err := s.wouldWait(op); !wait || err != nil {
		return byVendor, err
	}
	return other, nil
}

// Copy implements driver.Stream.
func (s *Stream) Copy(dst, src driver.Region) error {
	const op = "copy"
	to, ok := s.memory(dst)
	if !ok {
		return s.strange(op)
	}
	from, ok := s.memory(src)
	if !ok {
		return s.strange(op)
	}
	dstAddr, srcAddr, n := to.at(dst), from.at(src), uintptr(dst.Len)
	if to.onHost() && from.onHost() {
		switch wait, err := s.wouldWait(op); {
		case err != nil:
			return err
		case wait:
			return s.moveOnHost(op, to.hostAt(dst.Off), from.hostAt(src.Off), n)
		}
	}
	var code Code
	call := CallCopyAny
	switch {
	case !to.onDevice() || !from.onDevice():
		code = s.api.CopyAny(s.ctx, dstAddr, srcAddr, n, s.handle)
	case to.dev.dev == from.dev.dev && to.dev.dev == s.dev.dev:
		call = CallCopyDevice
		code = s.api.CopyDevice(s.ctx, dstAddr, srcAddr, n, s.handle)
	default:
		call = CallCopyPeer
		code = s.api.CopyPeer(s.ctx, dstAddr, to.dev.ctx, srcAddr, from.dev.ctx, n, s.handle)
	}
	if code != Success {
		return s.dev.fail(op, call, code)
	}
	return nil
}

// CopyIn implements driver.Stream.
func (s *Stream) CopyIn(dst driver.Region, src unsafe.Pointer) error {
	const op = "copy in"
	m, ok := s.memory(dst)
	if !ok {
		return s.strange(op)
	}
	addr, n := m.at(dst), uintptr(dst.Len)
	switch way, err := s.way(op, m, uintptr(src), n); {
	case err != nil:
		return err
	case way == hostCopy:
		return s.moveOnHost(op, m.hostAt(dst.Off), src, n)
	case way == staged:
		return s.stageIn(m, addr, src, n)
	}
	call, code := s.copyIn(m, addr, uintptr(src), n)
	runtime.KeepAlive(src)
	if code != Success {
		return s.dev.fail(op, call, code)
	}
	return nil
}

func (s *Stream) copyIn(m *Memory, addr, host, n uintptr) (Call, Code) {
	if m.onDevice() {
		return CallCopyIn, s.api.CopyIn(s.ctx, addr, host, n, s.handle)
	}
	return CallCopyAny, s.api.CopyAny(s.ctx, addr, host, n, s.handle)
}

// CopyOut implements driver.Stream.
func (s *Stream) CopyOut(dst unsafe.Pointer, src driver.Region) error {
	const op = "copy out"
	m, ok := s.memory(src)
	if !ok {
		return s.strange(op)
	}
	addr, n := m.at(src), uintptr(src.Len)
	switch way, err := s.way(op, m, uintptr(dst), n); {
	case err != nil:
		return err
	case way == hostCopy:
		return s.moveOnHost(op, dst, m.hostAt(src.Off), n)
	case way == staged:
		return s.stageOut(dst, m, addr, n)
	}
	call, code := s.copyOut(uintptr(dst), m, addr, n)
	runtime.KeepAlive(dst)
	if code != Success {
		return s.dev.fail(op, call, code)
	}
	return nil
}

func (s *Stream) copyOut(host uintptr, m *Memory, addr, n uintptr) (Call, Code) {
	if m.onDevice() {
		return CallCopyOut, s.api.CopyOut(s.ctx, host, addr, n, s.handle)
	}
	return CallCopyAny, s.api.CopyAny(s.ctx, host, addr, n, s.handle)
}

// Record implements driver.Stream.
func (s *Stream) Record(event driver.Event) error {
	const op = "record"
	e, ok := event.(*Event)
	if !ok || e.dev.lib != s.dev.lib || e.dev.ctx != s.ctx {
		return s.dev.refuse(op, driver.ErrWrongDevice, "the event belongs to another device")
	}
	if code := s.api.EventRecord(s.ctx, e.handle, s.handle); code != Success {
		return s.dev.fail(op, CallEventRecord, code)
	}
	e.recorded.Store(true)
	return nil
}

// Wait implements driver.Stream. The event may belong to any device of the library.
func (s *Stream) Wait(event driver.Event) error {
	const op = "wait"
	e, ok := event.(*Event)
	if !ok || e.dev.lib != s.dev.lib {
		return s.dev.refuse(op, driver.ErrWrongDevice, "the event belongs to another backend")
	}
	if !e.recorded.Load() {
		return nil
	}
	if code := s.api.StreamWait(s.ctx, s.handle, e.handle); code != Success {
		return s.dev.fail(op, CallStreamWait, code)
	}
	return nil
}

// Query implements driver.Stream.
func (s *Stream) Query() (bool, error) {
	return s.idle("query stream")
}

// Sync implements driver.Stream.
func (s *Stream) Sync() error {
	code := s.api.StreamSync(s.ctx, s.handle)
	s.dev.calls.observe()
	return s.dev.check("sync stream", CallStreamSync, code)
}

// AllocAsync implements driver.StreamAllocator.
func (s *Stream) AllocAsync(size, align uint64) (driver.Memory, error) {
	const op = "stream-ordered alloc"
	d := s.dev
	if !d.info.Caps.Has(driver.CapStreamAlloc) {
		return nil, d.refuse(op, driver.ErrUnsupported, "stream-ordered allocation is not supported")
	}
	m := &Memory{dev: d, size: size, origin: fromStream}
	alloc := func(total uint64) (base, addr uintptr, failed Call, code Code) {
		base, code = s.api.AllocAsync(s.ctx, uintptr(total), s.handle)
		return base, base, CallAllocAsync, code
	}
	free := func(base uintptr) { _ = s.api.FreeAsync(s.ctx, base, s.handle) }
	if err := m.allocate(op, driver.KindDevice, align, alloc, free); err != nil {
		return nil, err
	}
	return m, nil
}

// FreeAsync implements driver.StreamAllocator. As with every release, the memory must not be used
// again, even after an error.
func (s *Stream) FreeAsync(mem driver.Memory) error {
	const op = "stream-ordered free"
	m, ok := mem.(*Memory)
	if !ok || m.dev.lib != s.dev.lib || m.origin != fromStream {
		return s.dev.refuse(op, driver.ErrInvalidArgument, "the memory was not allocated with AllocAsync")
	}
	m.dev.held.Add(-m.bytes)
	code := s.api.FreeAsync(s.ctx, m.base, s.handle)
	if code.Unbound() {
		code = s.api.FreeAsync(s.ctx, m.base, s.handle)
	}
	return s.dev.check(op, CallFreeAsync, code)
}

// Prefetch implements driver.Prefetcher.
func (s *Stream) Prefetch(r driver.Region, toHost bool) error {
	const op = "prefetch"
	m, ok := s.memory(r)
	switch {
	case !ok:
		return s.strange(op)
	case m.origin != fromManaged || !s.dev.info.Caps.Has(driver.CapPrefetch):
		return s.dev.refuse(op, driver.ErrUnsupported, "prefetching this memory is not supported")
	}
	to := s.dev.dev
	if toHost {
		to = HostCPU
	}
	if code := s.api.Prefetch(s.ctx, m.at(r), uintptr(r.Len), to, s.handle); code != Success {
		return s.dev.fail(op, CallPrefetch, code)
	}
	return nil
}

// Close implements driver.Stream.
func (s *Stream) Close() error {
	d := s.dev
	d.calls.abandon(s)
	s.gates.close(d)
	left := d.staging.leave(s)
	var err error
	if !s.foreign {
		err = d.give(CallStreamDestroy, API.StreamDestroy, s.handle)
	}
	d.staging.put(left)
	return err
}
