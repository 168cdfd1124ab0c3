package driver

import "unsafe"

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

type number interface {
	integer | float32 | float64 | complex64 | complex128
}

// Combine sets acc to op of acc and more, element by element. op takes the type, and acc and more are aligned for it.
func Combine(acc, more []byte, t Type, op Op) {
	switch t {
	case Int8:
		integers(as[int8](acc), as[int8](more), op)
	case Int16:
		integers(as[int16](acc), as[int16](more), op)
	case Int32:
		integers(as[int32](acc), as[int32](more), op)
	case Int64:
		integers(as[int64](acc), as[int64](more), op)
	case Uint8:
		integers(as[uint8](acc), as[uint8](more), op)
	case Uint16:
		integers(as[uint16](acc), as[uint16](more), op)
	case Uint32:
		integers(as[uint32](acc), as[uint32](more), op)
	case Uint64:
		integers(as[uint64](acc), as[uint64](more), op)
	case Float32:
		ordered(as[float32](acc), as[float32](more), op)
	case Float64:
		ordered(as[float64](acc), as[float64](more), op)
	case Complex64:
		numbers(as[complex64](acc), as[complex64](more), op)
	case Complex128:
		numbers(as[complex128](acc), as[complex128](more), op)
	}
}

// as returns b as a slice of elements.
func as[T number](b []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}

func numbers[T number](acc, more []T, op Op) {
	for i := range acc {
		switch op {
		case Sum:
			acc[i] += more[i]
		case Prod:
			acc[i] *= more[i]
		}
	}
}

func ordered[T integer | float32 | float64](acc, more []T, op Op) {
	for i := range acc {
		switch op {
		case Min:
			acc[i] = min(acc[i], more[i])
		case Max:
			acc[i] = max(acc[i], more[i])
		}
	}
	numbers(acc, more, op)
}

func integers[T integer](acc, more []T, op Op) {
	for i := range acc {
		switch op {
		case And:
			acc[i] &= more[i]
		case Or:
			acc[i] |= more[i]
		case Xor:
			acc[i] ^= more[i]
		}
	}
	ordered(acc, more, op)
}
