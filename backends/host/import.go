package host

import (
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/memcopy"
)

// Import implements driver.Importer. handle is any address that the process may read and write; of that, Import checks that the first and
// the last byte can be read. It knows the memory of discrete devices, which belongs to one device and is of KindDevice, and refuses other
// claims. It does not page-lock the memory. On a discrete device imported memory of KindDevice has no host pointer, although its bytes lie
// in host memory.
func (d *device) Import(kind driver.Kind, handle uintptr, size uint64) (driver.Memory, error) {
	const op = "import"
	switch owner, whole := d.backend.owner(addresses(handle, handle+uintptr(size))); {
	case owner < 0 && !memcopy.Readable(handle):
		return nil, d.failure(op, driver.ErrInvalidArgument, "the process cannot read at %#x", handle)
	case owner < 0 && !memcopy.Readable(handle+uintptr(size-1)):
		return nil, d.failure(op, driver.ErrOutOfRange, "the process cannot read all of %d bytes at %#x", size, handle)
	case owner >= 0 && kind != driver.KindDevice:
		return nil, d.failure(op, driver.ErrInvalidArgument, "the memory at %#x is device memory, not %v memory", handle, kind)
	case owner >= 0 && owner != d.info.Ordinal:
		return nil, d.failure(op, driver.ErrWrongDevice, "the memory at %#x belongs to device %d", handle, owner)
	case owner >= 0 && !whole:
		return nil, d.failure(op, driver.ErrOutOfRange, "%d bytes at %#x exceed the device's memory there", size, handle)
	}
	return &memory{dev: d, kind: kind, base: pointer(handle), size: size, visible: d.info.SharesHostMemory || kind != driver.KindDevice,
		imported: true}, nil
}

// pointer converts an address. If the address is in the Go heap, the pointer keeps the memory there alive; the uintptr does not.
func pointer(addr uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&addr)) }
