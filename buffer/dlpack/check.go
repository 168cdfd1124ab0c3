package dlpack

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/buffer/dlpack/internal/abi"
	"github.com/go-halyard/halyard/hal"
)

// Tensor is the description of a tensor in a DLPack struct.
type Tensor struct {
	// DeviceType and DeviceID say where the elements are, in the numbers of DLPack and of Python's __dlpack_device__.
	// The types are 1 for the host, 2 for CUDA, 10 for ROCm, 3 and 11 for memory page-locked by CUDA and by ROCm, 13 for
	// CUDA's managed memory, 4 for a cl_mem of OpenCL and 14 for unified shared memory. DeviceID is the
	// vendor's number of the device, and 0 for memory of the host and managed memory.
	DeviceType, DeviceID int32

	Type     string // Go's name of the elements' type, such as "float32"; for vectors the number of lanes follows, as in "float32x4"
	Shape    []int64
	Strides  []int64 // in elements; if the struct has no strides, those of a row-major array without gaps
	ReadOnly bool

	data       uintptr // an address, or a cl_mem
	byteOffset uint64  // from data to the element whose indices are all 0
	copied     bool    // the producer made a copy for the consumer

	device abi.Device
	dtype  abi.DataType
	span   span
}

// span is the range of elements [lo, hi) that a tensor covers, gaps included. The element whose indices are all 0 is
// number 0.
type span struct{ lo, hi int64 }

// checkRank checks the number of axes and the pointers to shape and strides, before these are read.
func checkRank(op string, t *cTensor) error {
	switch {
	case t.ndim < 0 || t.ndim > array.MaxRank:
		return hal.Errorf(op, hal.ErrInvalidArgument, "%d axes are not supported; the number must be from 0 to %d", t.ndim, array.MaxRank)
	case t.ndim > 0 && t.shape == 0:
		return hal.Errorf(op, hal.ErrInvalidArgument, "the tensor has %d axes, but its shape is a null pointer", t.ndim)
	case t.ndim > 0 && (t.shape%8 != 0 || t.strides%8 != 0):
		return hal.Errorf(op, hal.ErrMisaligned, "shape at %#x and strides at %#x are not aligned to 8 bytes", t.shape, t.strides)
	}
	return nil
}

// describe checks a layout and fills in the strides if they are nil. It reads nothing at the tensor's addresses.
func describe(op string, t *cTensor, shape, strides []int64) (Tensor, error) {
	d := Tensor{DeviceType: int32(t.device.Type), DeviceID: t.device.ID, Type: t.dtype.String(), device: t.device, dtype: t.dtype,
		Shape: shape, Strides: strides, data: t.data, byteOffset: t.byteOffset}
	n := int64(1)
	for i, e := range shape {
		switch {
		case e < 0:
			return Tensor{}, hal.Errorf(op, hal.ErrInvalidArgument, "negative extent %d of axis %d", e, i)
		case e > 0 && n > math.MaxInt/e:
			return Tensor{}, hal.Errorf(op, hal.ErrOutOfRange, "the number of elements of shape %v exceeds the range of int", shape)
		}
		n *= e
	}
	if d.device.ID < 0 {
		return Tensor{}, hal.Errorf(op, hal.ErrInvalidArgument, "device %v has a negative number", d.device)
	}
	if strides == nil {
		d.Strides = make([]int64, len(shape))
		step := int64(1)
		for i := len(shape) - 1; i >= 0; i-- {
			d.Strides[i] = step
			step *= max(1, shape[i])
		}
	}
	if n == 0 {
		return d, nil
	}
	d.span.hi = 1
	for i, e := range shape {
		s := d.Strides[i]
		if e == 1 || s == 0 {
			continue
		}
		over, way := bits.Mul64(uint64(e-1), uint64(max(s, -s))) // also right for the smallest int64, whose negation wraps
		room := uint64(math.MaxInt64 - d.span.hi)
		if s < 0 {
			room = uint64(math.MaxInt64 + d.span.lo)
		}
		if over != 0 || way > room {
			return Tensor{}, hal.Errorf(op, hal.ErrOutOfRange, "shape %v with strides %v exceeds the range of int64", shape, d.Strides)
		}
		if s > 0 {
			d.span.hi += int64(way)
		} else {
			d.span.lo -= int64(way)
		}
	}
	return d, nil
}

// part is the range of memory that a tensor covers.
type part struct {
	start uint64 // an address; for a cl_mem an offset in bytes
	size  uint64 // bytes
	n     int    // number of elements, gaps included
	first int    // position among these elements of the one whose indices are all 0
}

// cover checks that a tensor has elements of the given type, or booleans for uint8, and returns the memory that it covers, which must be
// aligned to align bytes.
func (t *Tensor) cover(op string, want abi.DataType, align uint64) (part, error) {
	elem := uint64(want.Bits) / 8
	switch {
	case t.dtype.Lanes != 1:
		return part{}, hal.Errorf(op, hal.ErrUnsupported, "vectors are not supported as elements: %v", t.Type)
	case t.dtype != want && !(t.dtype.Code == abi.Bool && t.dtype.Bits == 8 && want.Code == abi.Uint && want.Bits == 8):
		return part{}, hal.Errorf(op, hal.ErrInvalidArgument, "the elements are %v, not %v", t.Type, want)
	case t.span.hi == 0: // no elements: the address, which may be null, means nothing
		return part{}, nil
	case t.data == 0:
		return part{}, hal.Errorf(op, hal.ErrInvalidArgument, "the tensor's data is a null pointer")
	}
	outside := func() (part, error) {
		return part{}, hal.Errorf(op, hal.ErrOutOfRange, "data at %#x+%d, shape %v and strides %v lead outside the address space",
			t.data, t.byteOffset, t.Shape, t.Strides)
	}
	base := uint64(t.data)
	if t.device.Type == abi.OpenCL {
		base = 0
	}
	origin, carry := bits.Add64(base, t.byteOffset, 0)
	overBelow, below := bits.Mul64(uint64(-t.span.lo), elem)
	overAbove, above := bits.Mul64(uint64(t.span.hi), elem)
	if carry != 0 || overBelow != 0 || overAbove != 0 || below > origin || above > math.MaxUint64-origin || below > math.MaxInt-min(above,
		math.MaxInt) {
		return outside()
	}
	p := part{start: origin - below, size: below + above, n: int(t.span.hi - t.span.lo), first: int(-t.span.lo)}
	if p.size > math.MaxInt || base != 0 && p.start == 0 {
		return outside()
	}
	if p.start%align != 0 {
		return part{}, hal.Errorf(op, hal.ErrMisaligned, "elements of %v at %#x are not aligned to %d bytes", want, p.start, align)
	}
	return p, nil
}

// ErrVersion means that a struct has another major version of DLPack, whose layout this package does not know. Such an error also
// has the kind hal.ErrUnsupported.
var ErrVersion = errors.New("another major version of DLPack")

func versionError(op string, v cVersion) error {
	return &hal.Error{Op: op, Device: -1, Kind: hal.ErrUnsupported, Err: ErrVersion,
		Detail: fmt.Sprintf("the tensor has version %d.%d; only version %d is supported", v.major, v.minor, major)}
}
