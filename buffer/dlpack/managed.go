package dlpack

import (
	"slices"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
)

// Managed refers to a C struct that lends a tensor until its deleter is called: a
// DLManagedTensorVersioned, or a DLManagedTensor if it is Legacy.
type Managed struct {
	// Address is the address of the struct. If a Go program makes a struct itself, a [runtime.Pinner] must hold the
	// struct, and everything that it points to, until its deleter is called.
	Address uintptr
	Legacy  bool

	loan *loan // the loan if Export made the struct; this reference keeps its address from being reused
}

// CapsuleName is the name of a Python capsule that holds the struct. A consumer that takes the struct out of the capsule
// puts "used_" before the capsule's name.
func (m Managed) CapsuleName() string {
	if m.Legacy {
		return "dltensor"
	}
	return "dltensor_versioned"
}

// Tensor describes the struct and does not change it. The struct's deleter must not have been called. For an invalid struct the
// errors are those of [Import]. Tensor also describes types and devices that Import does not support.
func (m Managed) Tensor() (Tensor, error) {
	_, t, err := m.read("read tensor")
	return t, err
}

// Delete calls the struct's deleter, which ends the loan. It is meant for a struct that no consumer took, and for consumers
// that do not use Import. If the struct came from Export and has been imported or deleted before, the error is of
// kind ErrClosed. A struct from elsewhere no longer exists after its deleter has been called, and must not be used again.
func (m Managed) Delete() error {
	const op = "delete tensor"
	if err := m.check(op); err != nil {
		return err
	}
	if err := m.take(op); err != nil {
		return err
	}
	call(m.deleter(), m.Address)
	return nil
}

// take marks a struct from Export as taken, and fails if it was taken before. For other structs it does nothing.
func (m Managed) take(op string) error {
	if m.loan != nil && (!lent.has(m.Address) || !m.loan.taken.CompareAndSwap(false, true)) {
		return hal.Errorf(op, hal.ErrClosed, "the tensor was imported or deleted before")
	}
	return nil
}

// untake undoes take.
func (m Managed) untake() {
	if m.loan != nil {
		m.loan.taken.Store(false)
	}
}

func (m Managed) check(op string) error {
	switch {
	case !supported:
		return hal.Errorf(op, hal.ErrUnsupported, "DLPack is not supported on this platform")
	case m.Address == 0:
		return hal.Errorf(op, hal.ErrInvalidArgument, "the struct's address is 0")
	case m.Address%8 != 0:
		return hal.Errorf(op, hal.ErrMisaligned, "the struct at %#x is not aligned to 8 bytes", m.Address)
	}
	return nil
}

// deleter returns the struct's deleter. In versioned structs it has the same offset in every version.
func (m Managed) deleter() uintptr {
	if m.Legacy {
		return (*cLegacy)(at(m.Address)).deleter
	}
	return (*cVersioned)(at(m.Address)).deleter
}

// read checks the struct and returns its description and its deleter. For a struct of another major version it returns the deleter
// and an error.
func (m Managed) read(op string) (deleter uintptr, t Tensor, err error) {
	if err := m.check(op); err != nil {
		return 0, Tensor{}, err
	}
	var c cTensor
	flags := uint64(0)
	if m.Legacy {
		c = (*cLegacy)(at(m.Address)).tensor
	} else {
		if v := *(*cVersion)(at(m.Address)); v.major != major {
			return m.deleter(), Tensor{}, versionError(op, v)
		}
		s := (*cVersioned)(at(m.Address))
		c, flags = s.tensor, s.flags
	}
	if err := checkRank(op, &c); err != nil {
		return 0, Tensor{}, err
	}
	shape, strides := numbers(c.shape, c.ndim), numbers(c.strides, c.ndim)
	if shape == nil {
		shape = []int64{}
	}
	t, err = describe(op, &c, shape, strides)
	t.ReadOnly, t.copied = flags&flagReadOnly != 0, flags&flagCopied != 0
	return m.deleter(), t, err
}

// numbers returns a copy of the n numbers at an address, or nil if the address or n is 0.
func numbers(addr uintptr, n int32) []int64 {
	if addr == 0 || n == 0 {
		return nil
	}
	return slices.Clone(unsafe.Slice((*int64)(at(addr)), n))
}

// at converts an address of C's memory to a pointer.
func at(addr uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&addr)) }
