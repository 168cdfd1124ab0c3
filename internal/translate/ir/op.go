package ir

import (
	"math"
	"math/bits"
	"math/cmplx"
	"reflect"

	"github.com/go-halyard/halyard/kernel/grid"
)

// Op is an operation that computes a value.
type Op uint8

// The operations. Arithmetic on integers wraps around at the type's width, and each operation on floats is rounded by itself.
const (
	Const    Op = iota
	Argument    // the value of a parameter. If it is a slice, matrix or pointer, it is only an argument of a call
	Counter     // the index of a loop that counts
	Len         // of a slice
	Rows        // of a matrix
	Cols
	InGrid    // the thread's place in the grid, along a dimension: Global of grid.Thread
	InBlock   // the thread's place in its block: Local
	BlockOf   // the place of the thread's block in the grid: Block
	Threads   // how many threads a block has: Size
	AllBlocks // how many blocks the grid has: Blocks

	Neg
	Not        // of a bool
	Complement // of an integer's bits
	Convert    // to another type of numbers
	Round      // the explicit conversion of a float or complex number to its own type: operations before and after it are not fused
	Real
	Imag

	Add
	Sub
	Mul
	Div
	Rem
	And
	Or
	Xor
	AndNot
	Shl // the count is any integer; a negative count panics
	Shr
	Min // of two numbers, like the built-in function
	Max
	Within  // the index x, of type int, of something with y elements; it panics unless 0 <= x < y
	UpTo    // the bound x, of type int, of a part of something with y elements; it panics unless 0 <= x <= y
	Complex // of two floats

	Eq // of two values of the same type, which may be a structure or an array
	Ne
	Lt // of two real numbers
	Le
	Gt
	Ge

	Both      // x && y: y is evaluated only if x is true
	Either    // x || y: y is evaluated only if x is false
	Go        // a function of package math, math/bits or math/cmplx that [Functions] has
	Composite // a structure or array with given fields or elements
	Extract   // an element or a field of a value; if it is an element, the second operand is its index

	Load    // the value that is stored at a place
	Address // a pointer to a place, only as an argument of a call
	Atomic  // an atomic operation on a place. Its value is what the place held before. It occurs only directly in a Let
	Call    // the result of a function; if there are several results, a tuple of these. It occurs only directly in a Let
)

var ops = [...]string{"const", "argument", "counter", "len", "rows", "cols", "Global", "Local", "Block", "Size", "Blocks",
	"-", "!", "^", "convert", "round", "real", "imag",
	"+", "-", "*", "/", "%", "&", "|", "^", "&^", "<<", ">>", "min", "max", "within", "upto", "complex",
	"==", "!=", "<", "<=", ">", ">=",
	"&&", "||", "go", "composite", "extract", "load", "address", "atomic", "call"}

func (o Op) String() string { return ops[o] }

// Compares reports whether an operation compares two values.
func (o Op) Compares() bool { return o >= Eq && o <= Ge }

// Binary reports whether an operation computes a value of the type of its two operands.
func (o Op) Binary() bool { return o >= Add && o <= UpTo && o != Shl && o != Shr }

// Atomics has the atomic operations, each with the number of its operands.
var Atomics = map[string]int{"Add": 1, "Min": 1, "Max": 1, "And": 1, "Or": 1, "Xor": 1, "Exchange": 1, "CompareExchange": 2}

// Functions has the functions of Go's packages math, math/bits and math/cmplx that have a translation. math.FMA32 is grid.FMA of float32.
var Functions = map[string]any{
	"math.Sqrt": math.Sqrt, "math.Floor": math.Floor, "math.Ceil": math.Ceil, "math.Trunc": math.Trunc, "math.Abs": math.Abs, "math.Copysign": math.Copysign,
	"math.Round": math.Round, "math.RoundToEven": math.RoundToEven, "math.Mod": math.Mod, "math.Remainder": math.Remainder, "math.Exp": math.Exp,
	"math.Exp2": math.Exp2, "math.Expm1": math.Expm1, "math.Log": math.Log, "math.Log2": math.Log2, "math.Log10": math.Log10, "math.Log1p": math.Log1p,
	"math.Sin": math.Sin, "math.Cos": math.Cos, "math.Tan": math.Tan, "math.Asin": math.Asin, "math.Acos": math.Acos, "math.Atan": math.Atan,
	"math.Sinh": math.Sinh, "math.Cosh": math.Cosh, "math.Tanh": math.Tanh, "math.Asinh": math.Asinh, "math.Acosh": math.Acosh, "math.Atanh": math.Atanh,
	"math.Atan2": math.Atan2, "math.Pow": math.Pow, "math.Hypot": math.Hypot, "math.Cbrt": math.Cbrt, "math.Erf": math.Erf, "math.Erfc": math.Erfc,
	"math.Max": math.Max, "math.Min": math.Min, "math.FMA": math.FMA, "math.FMA32": grid.FMA[float32], "math.IsNaN": math.IsNaN, "math.IsInf": math.IsInf, "math.Signbit": math.Signbit,
	"math.Inf": math.Inf, "math.NaN": math.NaN, "math.Float32bits": math.Float32bits, "math.Float32frombits": math.Float32frombits,
	"math.Float64bits": math.Float64bits, "math.Float64frombits": math.Float64frombits,
	"bits.Len": bits.Len, "bits.Len8": bits.Len8, "bits.Len16": bits.Len16, "bits.Len32": bits.Len32, "bits.Len64": bits.Len64,
	"bits.LeadingZeros": bits.LeadingZeros, "bits.LeadingZeros8": bits.LeadingZeros8, "bits.LeadingZeros16": bits.LeadingZeros16,
	"bits.LeadingZeros32": bits.LeadingZeros32, "bits.LeadingZeros64": bits.LeadingZeros64,
	"bits.TrailingZeros": bits.TrailingZeros, "bits.TrailingZeros8": bits.TrailingZeros8, "bits.TrailingZeros16": bits.TrailingZeros16,
	"bits.TrailingZeros32": bits.TrailingZeros32, "bits.TrailingZeros64": bits.TrailingZeros64,
	"bits.OnesCount": bits.OnesCount, "bits.OnesCount8": bits.OnesCount8, "bits.OnesCount16": bits.OnesCount16, "bits.OnesCount32": bits.OnesCount32,
	"bits.OnesCount64": bits.OnesCount64, "bits.RotateLeft": bits.RotateLeft, "bits.RotateLeft8": bits.RotateLeft8, "bits.RotateLeft16": bits.RotateLeft16,
	"bits.RotateLeft32": bits.RotateLeft32, "bits.RotateLeft64": bits.RotateLeft64, "bits.Reverse": bits.Reverse, "bits.Reverse8": bits.Reverse8,
	"bits.Reverse16": bits.Reverse16, "bits.Reverse32": bits.Reverse32, "bits.Reverse64": bits.Reverse64, "bits.ReverseBytes": bits.ReverseBytes,
	"bits.ReverseBytes16": bits.ReverseBytes16, "bits.ReverseBytes32": bits.ReverseBytes32, "bits.ReverseBytes64": bits.ReverseBytes64,
	"bits.Add": bits.Add, "bits.Add32": bits.Add32, "bits.Add64": bits.Add64, "bits.Sub": bits.Sub, "bits.Sub32": bits.Sub32, "bits.Sub64": bits.Sub64,
	"bits.Mul": bits.Mul, "bits.Mul32": bits.Mul32, "bits.Mul64": bits.Mul64,
	"cmplx.Abs": cmplx.Abs, "cmplx.Conj": cmplx.Conj, "cmplx.Phase": cmplx.Phase,
}

var reflected = map[reflect.Kind]Kind{reflect.Bool: Bool, reflect.Int: Int, reflect.Uint: Uint, reflect.Uint8: U8, reflect.Uint16: U16, reflect.Uint32: U32,
	reflect.Uint64: U64, reflect.Float32: F32, reflect.Float64: F64, reflect.Complex128: C128}

// Signature returns the types of the operands and of the result of a function that [Functions] has. If there are several results, the type of the result is a
// tuple.
func Signature(name string) (params []*Type, result *Type, ok bool) {
	f, ok := Functions[name]
	if !ok {
		return nil, nil, false
	}
	t := reflect.TypeOf(f)
	for i := range t.NumIn() {
		params = append(params, Basic(reflected[t.In(i).Kind()]))
	}
	var results []*Type
	for i := range t.NumOut() {
		results = append(results, Basic(reflected[t.Out(i).Kind()]))
	}
	if len(results) == 1 {
		return params, results[0], true
	}
	return params, TupleOf(results...), true
}
