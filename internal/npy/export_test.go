package npy

// NewHeader is the header of elements of type T in this machine's byte order.
func NewHeader[T any](fortran bool, shape []int) (Header, error) { return newHeader[T](fortran, shape) }

// TypeOf is the type of T.
func TypeOf[T any]() (Type, error) { return typeOf[T]() }
