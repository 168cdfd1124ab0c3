package conformance_test

import (
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// bytesAt are the bytes of an address of the host's.
func bytesAt(addr uintptr, n uint64) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), n)
}

func init() {
	mutants = append(mutants,
		mutant{"imports a copy", hooks{Import: func(d *hooked.Device, kind driver.Kind, handle uintptr, size uint64) (*hooked.Memory, error) {
			m, err := d.PlainAlloc(kind, size, 0)
			if err == nil {
				copy(bytesAt(m.Memory.Handle(), size), bytesAt(handle, size))
			}
			return m, err
		}}},
		mutant{"imports from the start of the page on", hooks{Import: func(d *hooked.Device, kind driver.Kind, handle uintptr, size uint64) (*hooked.Memory, error) {
			if handle%1024 == 512 {
				handle -= 512
			}
			return d.PlainImport(kind, handle, size)
		}}},
		mutant{"hides imported memory from the host", hooks{Import: func(d *hooked.Device, kind driver.Kind, handle uintptr, size uint64) (*hooked.Memory, error) {
			return d.PlainImport(driver.KindDevice, handle, size)
		}}},
		mutant{"clears imported memory when it is closed", hooks{
			Import: func(d *hooked.Device, kind driver.Kind, handle uintptr, size uint64) (*hooked.Memory, error) {
				m, err := d.PlainImport(kind, handle, size)
				if err == nil {
					m.Lent = true
				}
				return m, err
			},
			Free: func(m *hooked.Memory) error {
				if m.Lent {
					clear(bytesAt(m.Memory.Handle(), m.Bytes))
					return nil
				}
				return free(m)
			},
		}},
		mutant{"promises to import and does not", hooks{Import: func(*hooked.Device, driver.Kind, uintptr, uint64) (*hooked.Memory, error) {
			return nil, &driver.Error{Op: "import", Backend: "shim", Device: 1, Kind: driver.ErrUnsupported}
		}}},
	)
}
