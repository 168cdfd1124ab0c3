// Package abi has the names and numbers that DLPack gives devices and types of elements.
package abi

import (
	"fmt"
	"reflect"

	"github.com/go-halyard/halyard/buffer"
)

// DeviceType is DLPack's number for a kind of memory.
type DeviceType int32

// The device types that memory of this module can have.
const (
	CPU         DeviceType = 1
	CUDA        DeviceType = 2
	CUDAHost    DeviceType = 3 // page-locked by CUDA
	OpenCL      DeviceType = 4 // the data pointer is a cl_mem
	ROCm        DeviceType = 10
	ROCmHost    DeviceType = 11 // page-locked by ROCm
	CUDAManaged DeviceType = 13
	OneAPI      DeviceType = 14 // unified shared memory
)

// String returns the name, or the number if this module has no memory of the type.
func (t DeviceType) String() string {
	switch t {
	case CPU:
		return "CPU"
	case CUDA:
		return "CUDA"
	case CUDAHost:
		return "CUDAHost"
	case OpenCL:
		return "OpenCL"
	case ROCm:
		return "ROCm"
	case ROCmHost:
		return "ROCmHost"
	case CUDAManaged:
		return "CUDAManaged"
	case OneAPI:
		return "OneAPI"
	}
	return fmt.Sprintf("DeviceType(%d)", int32(t))
}

// Host reports whether the host can access the memory in place.
func (t DeviceType) Host() bool { return t == CPU || t == CUDAHost || t == ROCmHost }

// Device is the device to which a tensor's memory belongs.
type Device struct {
	Type DeviceType
	ID   int32 // the vendor's ordinal; 0 for host and managed memory
}

// String is the type and the number: "CUDA:0".
func (d Device) String() string { return fmt.Sprintf("%v:%d", d.Type, d.ID) }

// TypeCode says how the bits of an element are interpreted.
type TypeCode uint8

// The type codes of the elements of buffers, and Opaque, BFloat and Bool, which no [buffer.Number] has.
const (
	Int     TypeCode = 0
	Uint    TypeCode = 1
	Float   TypeCode = 2
	Opaque  TypeCode = 3
	BFloat  TypeCode = 4
	Complex TypeCode = 5
	Bool    TypeCode = 6
)

var codeNames = [...]string{"int", "uint", "float", "opaque", "bfloat", "complex", "bool"}

// String returns the name without the number of bits: "float" for float32.
func (c TypeCode) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return fmt.Sprintf("type(%d)-", uint8(c))
}

// DataType is the type of a tensor's elements.
type DataType struct {
	Code  TypeCode
	Bits  uint8  // bits of one lane
	Lanes uint16 // 1 unless elements are vectors
}

// String returns Go's name of the type, such as "float32"; for vectors the number of lanes follows, as in "float32x4".
func (d DataType) String() string {
	s := fmt.Sprintf("%v%d", d.Code, d.Bits)
	if d.Lanes != 1 {
		s += fmt.Sprintf("x%d", d.Lanes)
	}
	return s
}

// TypeOf returns the data type of a buffer's elements.
func TypeOf[T buffer.Number]() DataType {
	t := reflect.TypeFor[T]()
	d := DataType{Bits: uint8(8 * t.Size()), Lanes: 1}
	switch t.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		d.Code = Int
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		d.Code = Uint
	case reflect.Float32, reflect.Float64:
		d.Code = Float
	default: // only complex64 and complex128 are left
		d.Code = Complex
	}
	return d
}
