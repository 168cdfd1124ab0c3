package cudahip

import (
	"github.com/go-halyard/halyard/hal/driver"
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

func (s *Stream) otherBackend(op string) error {
	return s.dev.refuse(op, driver.ErrWrongDevice, "the memory belongs to another backend")
}

// idle reports whether all work of the stream is done.
func (s *Stream) idle(op string) (bool, error) {
	return s.dev.finished(op, CallStreamQuery, s.api.StreamQuery(s.ctx, s.handle))
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
		return s.otherBackend(op)
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
		err = d.release(CallStreamDestroy, API.StreamDestroy, s.handle)
	}
	d.staging.put(left)
	return err
}
