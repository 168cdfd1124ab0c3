package host

import (
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// Import implements driver.Importer. handle is any address that the process may read and write. Import does not page-lock the
// memory. On a discrete device imported memory of KindDevice has no host pointer, although its bytes lie in host memory.
func (d *device) Import(kind driver.Kind, handle uintptr, size uint64) (driver.Memory, error) {
	switch {
	case handle == 0 || size == 0:
		return nil, d.failure("import", driver.ErrInvalidArgument, "size %d at address %#x; both must be nonzero", size, handle)
	case size-1 > uint64(^uintptr(0)-handle):
		return nil, d.failure("import", driver.ErrOutOfRange, "%d bytes at %#x exceed the address space", size, handle)
	}
	return &memory{dev: d, kind: kind, base: pointer(handle), size: size, visible: d.info.SharesHostMemory || kind != driver.KindDevice,
		imported: true}, nil
}

// pointer converts an address. If the address is in the Go heap, the pointer keeps the memory there alive; the uintptr does not.
func pointer(addr uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&addr)) }
