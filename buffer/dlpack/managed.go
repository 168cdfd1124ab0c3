package dlpack

import (
	"slices"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
)

// Managed is a struct in C's terms that lends a tensor until its deleter is called: a
// DLManagedTensorVersioned, or a DLManagedTensor if it is Legacy.
type Managed struct {
	// Address is the struct's. A struct that a Go program makes itself, and all that it leads to, is held by a
	// [runtime.Pinner] until its deleter is called.
	Address uintptr
	Legacy  bool

	loan *loan // what Export made, which keeps its address from being used again
}

// CapsuleName is what a Python capsule of the struct is called.
func (m Managed) CapsuleName() string {
	if m.Legacy {
		return "dltensor"
	}
	return "dltensor_versioned"
}

// UsedName is what the capsule's consumer renames it to.
func (m Managed) UsedName() string { return "used_" + m.CapsuleName() }

// Tensor reads the struct, which has not been deleted, and leaves it as it is. What cannot be right is of the kinds that Import has; other
// types and devices than Import takes are described as they are.
func (m Managed) Tensor() (Tensor, error) {
	_, t, err := m.read("read tensor")
	return t, err
}

// Delete calls the struct's deleter, which ends the loan: for a struct that nobody took, and for consumers that
// do not go through Import. What Export returned is of kind ErrClosed once its deleter has been called, by
// whomever, or Import has it; any other struct is gone then, and must not be named again.
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

// take makes a struct of Export the caller's, of which it can be that only once. Of others nothing is known.
func (m Managed) take(op string) error {
	if m.loan != nil && (!lent.has(m.Address) || !m.loan.taken.CompareAndSwap(false, true)) {
		return hal.Errorf(op, hal.ErrClosed, "the tensor was imported or deleted before")
	}
	return nil
}

// untake takes a take back.
func (m Managed) untake() {
	if m.loan != nil {
		m.loan.taken.Store(false)
	}
}

func (m Managed) check(op string) error {
	switch {
	case !supported:
		return hal.Errorf(op, hal.ErrUnsupported, "DLPack's structs are not known on this platform")
	case m.Address == 0:
		return hal.Errorf(op, hal.ErrInvalidArgument, "no struct")
	case m.Address%8 != 0:
		return hal.Errorf(op, hal.ErrMisaligned, "a struct at %#x is not aligned to 8 bytes", m.Address)
	}
	return nil
}

// deleter is where every version has it.
func (m Managed) deleter() uintptr {
	if m.Legacy {
		return (*cLegacy)(at(m.Address)).deleter
	}
	return (*cVersioned)(at(m.Address)).deleter
}

// read returns what the struct says, as far as it can be right, and its deleter.
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
			return m.deleter(), Tensor{}, &VersionError{v.major, v.minor}
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
	t.ReadOnly, t.Copied = flags&flagReadOnly != 0, flags&flagCopied != 0
	return m.deleter(), t, err
}

// numbers copies n numbers at an address, nil for address 0.
func numbers(addr uintptr, n int32) []int64 {
	if addr == 0 || n == 0 {
		return nil
	}
	return slices.Clone(unsafe.Slice((*int64)(at(addr)), n))
}

// at is a pointer to what C has at an address.
func at(addr uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&addr)) }
