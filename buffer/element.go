package buffer

// Element is the constraint on the elements of a buffer: Go's numbers of fixed size, real and complex.
type Element interface {
	~int8 | ~int16 | ~int32 | ~int64 |
		~uint8 | ~uint16 | ~uint32 | ~uint64 |
		~float32 | ~float64 | ~complex64 | ~complex128
}
