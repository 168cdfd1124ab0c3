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
		return s.dev.Failure(op, ErrClosed, "the memory is closed")
	}
	defer s.Leave()
	if err := s.dev.begin(op); err != nil {
		return err
	}
	defer s.dev.end()
	d, ok := s.dev.Drv.(driver.Adviser)
	switch {
	case !ok || !s.dev.Info.Caps.Has(CapAdvise) || s.kind != KindShared:
		return s.dev.Failure(op, ErrUnsupported, "advice on %s memory is not supported", s.kind)
	case a < AdviceReadMostly || a > AdviceNotAccessedBy:
		return s.dev.Failure(op, ErrInvalidArgument, "invalid advice %d", uint8(a))
	case at != nil && !a.NamesPlace():
		return s.dev.Failure(op, ErrInvalidArgument, "advice %q names no place, but a device was given", a)
	}
	var place driver.Device
	if at != nil {
		if err := at.begin(op); err != nil {
			return err
		}
		defer at.s.end()
		switch {
		case at.s.Info.Backend != s.dev.Info.Backend:
			return s.dev.Failure(op, ErrWrongDevice, "%s belongs to another backend", at.s.Info.Name())
		case !at.s.Info.Caps.Has(CapAdvise):
			return s.dev.Failure(op, ErrUnsupported, "%s takes no advice", at.s.Info.Name())
		}
		place = at.s.Drv
	}
	r := m.Region(off, n)
	switch {
	case !r.inside():
		return r.outside(op)
	case n == 0:
		return nil
	}
	return s.dev.Check(d.Advise(r.raw(), a, place))
}
