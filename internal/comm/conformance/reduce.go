package conformance

import (
	"bytes"
	"fmt"
	"math"
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

// kind says how elements of a type are written, combined and shown.
type kind struct {
	typ     driver.Type
	write   func(b []byte, v int)
	combine func(op driver.Op, b, c []byte) // combines one element of b with one of c, into b
	show    func(b []byte) string
}

func (k kind) size() int { return int(k.typ.Size()) }

// value returns element i of a rank. Values have both signs, and are so small that every order of combining them gives the same bits.
func value(rank, i int, op driver.Op) int {
	v := (rank*5+i*3)%7 - 3
	if op == driver.Prod {
		return []int{1, -1, 2}[(rank+i)%3]
	}
	return v
}

func (k kind) fill(b []byte, rank int, op driver.Op) {
	for i := 0; i < len(b)/k.size(); i++ {
		k.write(b[i*k.size():], value(rank, i, op))
	}
}

// fillWith sets every element to v.
func (k kind) fillWith(b []byte, v int) {
	for i := 0; i < len(b)/k.size(); i++ {
		k.write(b[i*k.size():], v)
	}
}

// largest returns the number from which write makes the largest value of an integer type: all bits set, or in a signed type all but the sign.
func (k kind) largest() int {
	if k.typ >= driver.Uint8 {
		return -1
	}
	return math.MaxInt >> (64 - 8*k.size())
}

// fold combines n elements of each of the ranks first to last-1.
func (k kind) fold(n, first, last int, op driver.Op) []byte {
	acc, more := make([]byte, n*k.size()), make([]byte, n*k.size())
	k.fill(acc, first, op)
	for r := first + 1; r < last; r++ {
		k.fill(more, r, op)
		for i := range n {
			k.combine(op, acc[i*k.size():], more[i*k.size():])
		}
	}
	return acc
}

// differs describes the first difference between the elements, or returns "" if there is none.
func (k kind) differs(got, want []byte) string {
	for i := 0; i < len(want)/k.size(); i++ {
		g, w := got[i*k.size():(i+1)*k.size()], want[i*k.size():(i+1)*k.size()]
		if !bytes.Equal(g, w) && k.show(g) != k.show(w) {
			return fmt.Sprintf("element %d is %s, not %s", i, k.show(g), k.show(w))
		}
	}
	return ""
}

type real interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// load and store copy an element, because elements of the suite need not be aligned.
func load[T any](b []byte) (v T) {
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v)), b)
	return v
}

func store[T any](b []byte, v T) {
	copy(b, unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v)))
}

// arithmetic makes a kind of real numbers. bits does the bitwise operations, and is nil for a type that has none.
func arithmetic[T real](typ driver.Type, bits func(op driver.Op, x, y T) T) kind {
	return kind{typ: typ,
		write: func(b []byte, v int) { store(b, T(v)) },
		show:  func(b []byte) string { return fmt.Sprint(load[T](b)) },
		combine: func(op driver.Op, b, c []byte) {
			x, y := load[T](b), load[T](c)
			switch op {
			case driver.Sum:
				x += y
			case driver.Prod:
				x *= y
			case driver.Min:
				x = min(x, y)
			case driver.Max:
				x = max(x, y)
			default:
				x = bits(op, x, y)
			}
			store(b, x)
		}}
}

func integer[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](typ driver.Type) kind {
	return arithmetic(typ, func(op driver.Op, x, y T) T {
		switch op {
		case driver.And:
			return x & y
		case driver.Or:
			return x | y
		}
		return x ^ y
	})
}

func imaginary[T complex64 | complex128](typ driver.Type) kind {
	return kind{typ: typ,
		write: func(b []byte, v int) { store(b, T(complex(float64(v), float64(v/2)))) },
		show:  func(b []byte) string { return fmt.Sprint(load[T](b) + 0) },
		combine: func(op driver.Op, b, c []byte) {
			if x, y := load[T](b), load[T](c); op == driver.Prod {
				store(b, x*y)
			} else {
				store(b, x+y)
			}
		}}
}

var kinds = []kind{
	integer[int8](driver.Int8), integer[int16](driver.Int16), integer[int32](driver.Int32), integer[int64](driver.Int64),
	integer[uint8](driver.Uint8), integer[uint16](driver.Uint16), integer[uint32](driver.Uint32), integer[uint64](driver.Uint64),
	arithmetic[float32](driver.Float32, nil), arithmetic[float64](driver.Float64, nil),
	imaginary[complex64](driver.Complex64), imaginary[complex128](driver.Complex128),
}
