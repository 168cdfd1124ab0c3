package hal

import "github.com/go-halyard/halyard/hal/driver"

// Advise tells the driver how the n bytes that begin at offset off will be used. It needs CapAdvise and memory of KindShared; for
// other memory the error is of kind ErrUnsupported. Advice changes no byte and no result, only what accesses cost. It takes effect at
// once, whatever work is under way, for the whole pages in which the bytes lie, and lasts until it is taken back or the memory is
// freed; memory of a pool keeps it for the next user.
//
// at is the place that the advice names: a device of the same backend, or nil for the host. Advice that names no place, which is
// AdviceReadMostly, AdviceNotReadMostly and AdviceNotPreferred, takes nil. A device of another backend is an error of kind ErrWrongDevice, one
// without CapAdvise of kind ErrUnsupported.
//
// See cuMemAdvise of the CUDA driver API, section Unified Addressing, and hipMemAdvise of HIP, Managed Memory.
func (m *Memory) Advise(off, n uint64, a Advice, at *Device) error {
	const op = "advise"
	s := m.state()
	if s == nil {
		return noMemory(op)
	}
	if !s.Enter() {
		return s.dev.failure(op, ErrClosed, "the memory is closed")
	}
	defer s.Leave()
	if err := s.dev.begin(op); err != nil {
		return err
	}
	defer s.dev.end()
	d, ok := s.dev.drv.(driver.Adviser)
	switch {
	case !ok || !s.dev.info.Caps.Has(CapAdvise) || s.kind != KindShared:
		return s.dev.failure(op, ErrUnsupported, "advice on %s memory is not supported", s.kind)
	case a < AdviceReadMostly || a > AdviceNotAccessedBy:
		return s.dev.failure(op, ErrInvalidArgument, "invalid advice %d", uint8(a))
	case at != nil && !a.NamesPlace():
		return s.dev.failure(op, ErrInvalidArgument, "advice %q names no place, but a device was given", a)
	}
	var place driver.Device
	if at != nil {
		if err := at.begin(op); err != nil {
			return err
		}
		defer at.s.end()
		switch {
		case at.s.info.Backend != s.dev.info.Backend:
			return s.dev.failure(op, ErrWrongDevice, "%s belongs to another backend", at.s.info.Name())
		case !at.s.info.Caps.Has(CapAdvise):
			return s.dev.failure(op, ErrUnsupported, "%s takes no advice", at.s.info.Name())
		}
		place = at.s.drv
	}
	r := m.Region(off, n)
	switch {
	case !r.inside():
		return r.outside(op)
	case n == 0:
		return nil
	}
	return s.dev.check(d.Advise(r.raw(), a, place))
}
