package conformance_test

import (
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// A mapped shim has memory that host and device take turns with, as OpenCL's buffers are: the host sees
// what the device had when it mapped the memory, and the device what the host had when it was unmapped.

func (b *shim) takeTurns() {
	b.NeedsMap = func(m *hooked.Memory) bool { return b.traits.mapped(m.Kind) }
	b.HostPointer = func(m *hooked.Memory) unsafe.Pointer {
		if m.NeedsMap() {
			return view(m)
		}
		return m.PlainHostPointer()
	}
	b.Map = func(s *hooked.Stream, m *hooked.Memory, write bool) error {
		shown(m).writable = write
		return s.Stream.CopyOut(view(m), m.All())
	}
	b.Unmap = func(s *hooked.Stream, m *hooked.Memory) error {
		if !shown(m).writable {
			return nil
		}
		return s.Stream.CopyIn(m.All(), view(m))
	}
}

// view is where the host finds mapped memory.
func view(m *hooked.Memory) unsafe.Pointer {
	x := shown(m)
	if x.registered != nil {
		return x.registered
	}
	if x.shadow == nil {
		x.shadow = make([]byte, m.Bytes)
		for i := range x.shadow {
			x.shadow[i] = 0xC3 // what nobody takes for the contents
		}
	}
	return unsafe.Pointer(&x.shadow[0])
}

// registerApart registers host memory that the device has its own block for.
func registerApart(d *hooked.Device, p unsafe.Pointer, size uint64) (*hooked.Memory, error) {
	// The backend knows what overlaps.
	real, err := d.Device.(driver.Registerer).Register(p, size)
	if err != nil {
		return nil, err
	}
	block, err := d.Device.Alloc(driver.KindHost, size, 0)
	if err != nil {
		_ = real.Free()
		return nil, err
	}
	s, err := d.Device.NewStream(driver.StreamOptions{})
	if err == nil {
		err = s.CopyIn(driver.Region{Mem: block, Len: size}, p)
	}
	if err == nil {
		err = s.Sync()
	}
	return &hooked.Memory{Memory: block, Device: d, Kind: driver.KindHost, Bytes: size, Data: &shimMemory{registered: p, registration: real}}, err
}

func mappedBug(mapped func(driver.Kind) bool, change func(i *driver.Info)) bug {
	return bugs{hooks{Register: registerApart}, traits{
		mapped: mapped,
		info: func(_ *shim, i driver.Info) driver.Info {
			if i.Ordinal > 0 {
				i.Caps |= driver.CapMustMap
				i.Caps &^= driver.CapConcurrentShared | driver.CapShared
				change(&i)
			}
			return i
		},
	}}
}

// The discrete device's host memory takes turns.
func TestMappedDevice(t *testing.T) {
	conformance.Run(t, newShim(mappedBug(func(k driver.Kind) bool { return k == driver.KindHost }, func(*driver.Info) {})).harness())
}
