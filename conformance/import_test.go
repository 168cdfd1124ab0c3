package conformance_test

import (
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// Import implements driver.Importer.
func (d *shimDevice) Import(kind driver.Kind, handle uintptr, size uint64) (driver.Memory, error) {
	if err := d.fail("Adopt"); err != nil {
		return nil, err
	}
	real, err := d.real.(driver.Importer).Import(kind, handle, size)
	if err != nil {
		return nil, err
	}
	if f := d.b.bug.imports; f != nil {
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
		mutant{"imports a copy", bug{imports: func(d *shimDevice, _ driver.Memory, kind driver.Kind, handle uintptr, size uint64) (*shimMemory, error) {
			m, err := d.alloc(kind, size, 0)
			if err == nil {
				copy(bytesAt(m.real.Handle(), size), bytesAt(handle, size))
			}
			return m, err
		}}},
		mutant{"imports from the start of the page on", bug{imports: func(d *shimDevice, real driver.Memory, kind driver.Kind, handle uintptr, size uint64) (*shimMemory, error) {
			if handle%1024 == 512 {
				real, err := d.real.(driver.Importer).Import(kind, handle-512, size)
				return &shimMemory{real: real, d: d, kind: kind, size: size}, err
			}
			return &shimMemory{real: real, d: d, kind: kind, size: size}, nil
		}}},
		mutant{"hides imported memory from the host", bug{imports: func(d *shimDevice, _ driver.Memory, kind driver.Kind, handle uintptr, size uint64) (*shimMemory, error) {
			real, err := d.real.(driver.Importer).Import(driver.KindDevice, handle, size)
			return &shimMemory{real: real, d: d, kind: kind, size: size}, err
		}}},
		mutant{"clears imported memory when it is closed", bug{
			imports: func(d *shimDevice, real driver.Memory, kind driver.Kind, handle uintptr, size uint64) (*shimMemory, error) {
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
		mutant{"promises to import and does not", bug{imports: func(*shimDevice, driver.Memory, driver.Kind, uintptr, uint64) (*shimMemory, error) {
			return nil, &driver.Error{Op: "import", Backend: "shim", Device: 1, Kind: driver.ErrUnsupported}
		}}},
	)
}
