package cudahip

import "github.com/go-halyard/halyard/hal/driver"

// Advise implements driver.Adviser. Advice about a place needs a device whose managed memory the host may access at the same time, so
// CapAdvise does too. The call takes the place as the number of a device, which every version of the libraries exports.
func (d *Device) Advise(r driver.Region, a driver.Advice, at driver.Device) error {
	const op = "advise"
	m, ok := r.Mem.(*Memory)
	switch {
	case !ok || m.dev.lib != d.lib:
		return d.refuse(op, driver.ErrWrongDevice, "the memory belongs to another backend")
	case m.origin != fromManaged || !d.info.Caps.Has(driver.CapAdvise):
		return d.refuse(op, driver.ErrUnsupported, "advice on this memory is not supported")
	}
	place := HostCPU
	if at != nil {
		o, ok := at.(*Device)
		if !ok || o.lib != d.lib {
			return d.refuse(op, driver.ErrWrongDevice, "the device belongs to another backend")
		}
		place = o.dev
	}
	return d.check(op, CallAdvise, d.api.Advise(d.ctx, m.at(r), uintptr(r.Len), int32(a), place))
}
