package conformance_test

import (
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// Adopt implements driver.Adopter.
func (d *shimDevice) Adopt(kind driver.Kind, handle uintptr, size uint64) (driver.Memory, error) {
	if err := d.fail("Adopt"); err != nil {
		return nil, err
	}
	real, err := d.real.(driver.Adopter).Adopt(kind, handle, size)
	if err != nil {
		return nil, err
	}
	if f := d.b.bug.adopt; f != nil {
		m, err := f(d, real, kind, handle, size)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	return &shimMemory{real: real, d: d, kind: kind, size: size}, nil
}

// bytesAt are the bytes of an address of the host's.
func bytesAt(addr uintptr, n uint64) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), n)
}

func init() {
	mutants = append(mutants,
		mutant{"adopts a copy", bug{adopt: func(d *shimDevice, _ driver.Memory, kind driver.Kind, handle uintptr, size uint64) (*shimMemory, error) {
			m, err := d.alloc(kind, size, 0)
			if err == nil {
				copy(bytesAt(m.real.Handle(), size), bytesAt(handle, size))
			}
			return m, err
		}}},
		mutant{"adopts from the start of the page on", bug{adopt: func(d *shimDevice, real driver.Memory, kind driver.Kind, handle uintptr, size uint64) (*shimMemory, error) {
			if handle%1024 == 512 {
				real, err := d.real.(driver.Adopter).Adopt(kind, handle-512, size)
				return &shimMemory{real: real, d: d, kind: kind, size: size}, err
			}
			return &shimMemory{real: real, d: d, kind: kind, size: size}, nil
		}}},
		mutant{"hides adopted memory from the host", bug{adopt: func(d *shimDevice, _ driver.Memory, kind driver.Kind, handle uintptr, size uint64) (*shimMemory, error) {
			real, err := d.real.(driver.Adopter).Adopt(driver.KindDevice, handle, size)
			return &shimMemory{real: real, d: d, kind: kind, size: size}, err
		}}},
		mutant{"clears adopted memory when it is closed", bug{
			adopt: func(d *shimDevice, real driver.Memory, kind driver.Kind, handle uintptr, size uint64) (*shimMemory, error) {
				return &shimMemory{real: real, d: d, kind: kind, size: size, borrowed: true}, nil
			},
			free: func(m *shimMemory) error {
				if m.borrowed {
					clear(bytesAt(m.real.Handle(), m.size))
					return nil
				}
				return m.free()
			},
		}},
		mutant{"promises to adopt and does not", bug{adopt: func(*shimDevice, driver.Memory, driver.Kind, uintptr, uint64) (*shimMemory, error) {
			return nil, &driver.Error{Op: "adopt", Backend: "shim", Device: 1, Kind: driver.ErrUnsupported}
		}}},
	)
}
