package kernel

import (
	"iter"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// Operand is what can be passed to a kernel by its address: a [*buffer.Buffer], a *halyard.Buffer or a contiguous *array.Array.
type Operand interface {
	Want(mode coherence.Mode) buffer.Want
}

// refused is an operand whose elements cannot be acquired.
type refused struct{ err error }

func (r refused) Want(coherence.Mode) buffer.Want { return buffer.NoWant(r.err) }

// Arg is one argument of a kernel. It is a plain value and may be used for many launches.
type Arg struct {
	arg     hal.Arg
	operand Operand
	buffer  bool
	mode    coherence.Mode
}

// Value passes a number or a bool: see [hal.Value].
func Value[T interface {
	hal.Number | ~complex64 | ~complex128 | ~bool
}](v T) Arg {
	return Arg{arg: hal.Value(v)}
}

// Struct passes a structure of fixed layout, or an array of numbers: see [hal.Struct]. It is read at each launch.
func Struct[T any](v *T) Arg { return Arg{arg: hal.Struct(v)} }

// Shared gives each block n bytes of memory that its threads share: see [hal.Shared].
func Shared(n int) Arg { return Arg{arg: hal.Shared(n)} }

// In passes elements that the kernel only reads.
func In(x Operand) Arg { return Arg{operand: x, buffer: true, mode: coherence.Read} }

// InOut passes elements that the kernel may read and write.
func InOut(x Operand) Arg { return Arg{operand: x, buffer: true, mode: coherence.ReadWrite} }

// Out passes elements that the kernel writes, all of them, and does not read before. Nothing is copied to the device. Elements that the
// kernel does not write have unspecified contents afterwards.
func Out(x Operand) Arg { return Arg{operand: x, buffer: true, mode: coherence.Overwrite} }

// buffersOf yields the index of each buffer among the arguments, after its number among the buffers.
func buffersOf(args []Arg) iter.Seq2[int, int] {
	return func(yield func(n, i int) bool) {
		n := 0
		for i := range args {
			if args[i].buffer {
				if !yield(n, i) {
					return
				}
				n++
			}
		}
	}
}

// integer returns an argument as [gridgen.Footprint] takes it in Of: 0 if it is not an integer.
func (a *Arg) integer(typ string) int64 {
	switch typ {
	case "i8", "i16", "i32", "i64":
		return layer.Integer(a.arg, true)
	case "u8", "u16", "u32", "u64":
		return layer.Integer(a.arg, false)
	}
	return 0
}

// integer returns an argument, -1 if it is no number: then the launch is refused.
func integer(args []Arg, at int) int64 {
	if at >= len(args) || args[at].buffer {
		return -1
	}
	return layer.Integer(args[at].arg, true)
}
