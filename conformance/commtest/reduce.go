package commtest

import (
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/bugs"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// reduce is combine, with the mistakes of a broken job.
func reduce(acc, more []byte, t driver.Type, op driver.Op, bug bugs.Bug) {
	if bug == bugs.ReducesUnsigned && t <= driver.Int64 {
		t += driver.Uint8 - driver.Int8
	}
	if bug == bugs.ReducesHalf {
		half := uint64(len(acc)) / t.Size() / 2 * t.Size()
		acc, more = acc[half:], more[half:]
	}
	if bug == bugs.Saturates && t == driver.Uint8 && op == driver.Sum {
		for i := range acc {
			acc[i] = uint8(min(int(acc[i])+int(more[i]), 255))
		}
		return
	}
	combine(acc, more, t, op)
}

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

type number interface {
	integer | float32 | float64 | complex64 | complex128
}

// combine sets acc to op of acc and more, element by element. op takes the type, and acc and more are aligned for it.
func combine(acc, more []byte, t driver.Type, op driver.Op) {
	switch t {
	case driver.Int8:
		integers(as[int8](acc), as[int8](more), op)
	case driver.Int16:
		integers(as[int16](acc), as[int16](more), op)
	case driver.Int32:
		integers(as[int32](acc), as[int32](more), op)
	case driver.Int64:
		integers(as[int64](acc), as[int64](more), op)
	case driver.Uint8:
		integers(as[uint8](acc), as[uint8](more), op)
	case driver.Uint16:
		integers(as[uint16](acc), as[uint16](more), op)
	case driver.Uint32:
		integers(as[uint32](acc), as[uint32](more), op)
	case driver.Uint64:
		integers(as[uint64](acc), as[uint64](more), op)
	case driver.Float32:
		ordered(as[float32](acc), as[float32](more), op)
	case driver.Float64:
		ordered(as[float64](acc), as[float64](more), op)
	case driver.Complex64:
		numbers(as[complex64](acc), as[complex64](more), op)
	case driver.Complex128:
		numbers(as[complex128](acc), as[complex128](more), op)
	}
}

// as returns b as a slice of elements.
func as[T number](b []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}

func numbers[T number](acc, more []T, op driver.Op) {
	for i := range acc {
		switch op {
		case driver.Sum:
			acc[i] += more[i]
		case driver.Prod:
			acc[i] *= more[i]
		}
	}
}

func ordered[T integer | float32 | float64](acc, more []T, op driver.Op) {
	for i := range acc {
		switch op {
		case driver.Min:
			acc[i] = min(acc[i], more[i])
		case driver.Max:
			acc[i] = max(acc[i], more[i])
		}
	}
	numbers(acc, more, op)
}

func integers[T integer](acc, more []T, op driver.Op) {
	for i := range acc {
		switch op {
		case driver.And:
			acc[i] &= more[i]
		case driver.Or:
			acc[i] |= more[i]
		case driver.Xor:
			acc[i] ^= more[i]
		}
	}
	ordered(acc, more, op)
}
