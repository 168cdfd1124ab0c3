package edges

import (
	"fmt"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Names says how Go's text names what the threads of a row have in common.
type Names struct {
	// Place is the operation that returns the place of a thread in the row: InGrid, or InBlock if the row is that of a block. The dimension is 0.
	Place ir.Op

	// Name returns the Go text of a value that is the same for all threads of the row. The text is an operand, such as a name or a call. Evaluating it changes
	// nothing and does not panic. An integer has a predeclared type. For a value without such a text, Name returns "". See [Named].
	Name func(*ir.Value) string

	// Clamped reports that all threads that are not left out have a place of at least far (op is ir.Max) or at most far (op is ir.Min). It may be nil.
	Clamped func(op ir.Op, far facts.Sum) bool

	// Closed reports that a value, and all that is computed from it, have no text. The reason is that its type in Go depends on a type parameter, and so is
	// not its type in the representation. Closed may be nil.
	Closed func(*ir.Value) bool
}

// Named returns the text for [Names.Name] in a function that has the parameters of the kernel, and a gridgen.Row with a name.
func Named(v *ir.Value, row string) string {
	switch v.Op {
	case ir.Argument:
		if v.Param.Declared && v.Type.Integer() {
			return numbers[v.Type.Kind] + "(" + v.Param.Name + ")"
		}
		return v.Param.Name
	case ir.Len:
		return "len(" + v.Param.Name + ")"
	case ir.Rows:
		return v.Param.Name + ".Rows()"
	case ir.Cols:
		return v.Param.Name + ".Cols()"
	case ir.InGrid:
		if d := v.Which[0]; d > 0 {
			return row + [...]string{"", ".Y", ".Z"}[d]
		}
	}
	return ""
}

// Row knows the numbers of the threads of a row. Its atoms are X, the thread's place, and numbers that are the same for all threads of the row. The name of an
// atom is its Go text.
type Row struct {
	facts.Atoms
	Names
	X *facts.Atom

	atoms  map[string]*facts.Atom
	locals map[*ir.Local]*ir.Value // what is in locals at the front of the kernel: see Limits
	left   int                     // how many more values may be looked at
}

// New returns a Row.
func New(names Names) *Row {
	x := &facts.Atom{Name: "x"}
	return &Row{Atoms: facts.Atoms{x}, Names: names, X: x, atoms: map[string]*facts.Atom{}, locals: map[*ir.Local]*ir.Value{}}
}

// atom returns the atom of a Go text.
func (r *Row) atom(text string) *facts.Atom {
	if r.atoms[text] == nil {
		a := &facts.Atom{ID: len(r.Atoms), Kind: facts.IsArgument, Name: text, Same: true}
		r.Atoms, r.atoms[text] = append(r.Atoms, a), a
	}
	return r.atoms[text]
}

// mostValues limits the values that a text is made from, and mostProducts the products of a sum that is multiplied out. Without limits, texts could grow
// exponentially: a chain of values in which each uses the one before twice doubles the text at each step.
const (
	mostValues   = 200
	mostProducts = 8
)

// most limits the factors and constants in sums, so that a text has no number that is too large for an int of 32 bits.
const most = 1 << 20

// Of returns an int as step times the thread's place plus an offset that is the same for all threads of the row. Row.Text returns the Go text of the offset,
// which has type int. Both step and offset may be 0.
func (r *Row) Of(v *ir.Value) (step int64, offset facts.Sum, ok bool) {
	r.left = mostValues
	p := r.sum(v)
	if p == nil || !small(p) {
		return 0, nil, false
	}
	by, offset := r.By(p, r.X)
	step, ok = by.Constant()
	return step, offset, ok && by != nil
}

func small(p facts.Sum) bool {
	for _, n := range p {
		if n >= most || n <= -most {
			return false
		}
	}
	return true
}

// sum returns an int as a sum of products of the row's atoms. It returns nil if the int is computed from something else. Like ints, the sum wraps around.
func (r *Row) sum(v *ir.Value) facts.Sum {
	if r.left--; r.left < 0 || v.Type == nil || v.Type.Kind != ir.Int {
		return nil
	}
	if text := r.Name(v); text != "" {
		return r.atom(text).Sum()
	}
	switch v.Op {
	case ir.Const:
		if n := v.Const.(int64); n < most && n > -most {
			return facts.Fixed(n)
		}
	case r.Place:
		if v.Which[0] == 0 {
			return r.X.Sum()
		}
	case ir.Load:
		if is := r.locals[facts.Loaded(v)]; is != nil {
			return r.sum(is)
		}
	case ir.Neg:
		return facts.Fixed(0).Plus(r.sum(v.Args[0]), -1)
	case ir.Add:
		return r.sum(v.Args[0]).Plus(r.sum(v.Args[1]), 1)
	case ir.Sub:
		return r.sum(v.Args[0]).Plus(r.sum(v.Args[1]), -1)
	case ir.Mul:
		x, y := r.sum(v.Args[0]), r.sum(v.Args[1])
		if x == nil || y == nil {
			return nil
		}
		if p := x.Times(y); small(p) && len(p) <= mostProducts {
			return p
		}
	}
	if text := r.text(v); text != "" {
		return r.atom(text).Sum()
	}
	if r.Clamped != nil && (v.Op == ir.Min || v.Op == ir.Max) {
		return r.clamped(v)
	}
	return nil
}

// clamped returns the sum for min(x, end) or max(x, end), where x is the thread's place plus a constant, and end is the same for all threads. The sum is that
// of x, if the result is x for all threads that are not left out.
func (r *Row) clamped(v *ir.Value) facts.Sum {
	for i, a := range v.Args {
		x, end := r.sum(a), r.sum(v.Args[1-i])
		if _, ok := x.Plus(r.X.Sum(), -1).Constant(); ok && x != nil && end != nil {
			if by, _ := r.By(end, r.X); len(by) == 0 && r.Clamped(v.Op, end.Plus(r.X.Sum(), 1).Plus(x, -1)) {
				return x
			}
		}
	}
	return nil
}

// numbers are the names of the types of integers in Go.
var numbers = map[ir.Kind]string{ir.I8: "int8", ir.I16: "int16", ir.I32: "int32", ir.I64: "int64", ir.Int: "int",
	ir.U8: "uint8", ir.U16: "uint16", ir.U32: "uint32", ir.U64: "uint64", ir.Uint: "uint"}

// text returns the Go text of a value that is the same for all threads of the row, or "". Values that are computed with floats have none, because Go may round
// them differently in another function.
func (r *Row) text(v *ir.Value) string {
	if r.left--; r.left < 0 || r.Closed != nil && r.Closed(v) {
		return ""
	}
	if text := r.Name(v); text != "" {
		return text
	}
	if v.Op == ir.Load {
		return r.loaded(v.Place)
	}
	if v.Op == ir.Extract && len(v.Args) == 1 && v.Args[0].Type.Kind == ir.Struct {
		of, name := v.Args[0], v.Args[0].Type.Fields[v.Which[0]].Name
		for of.Op == ir.Extract && of.Syntax == nil { // the author does not name the embedded structure that has the field
			of = of.Args[0]
		}
		if x := r.text(of); x != "" {
			return x + "." + name
		}
	}
	return r.operation(v)
}

// operation returns the Go text of an integer that is computed from other integers.
func (r *Row) operation(v *ir.Value) string {
	switch v.Op {
	case ir.Const:
		return fmt.Sprintf("%s(%d)", numbers[v.Type.Kind], v.Const)
	case ir.Convert, ir.Neg, ir.Complement, ir.Add, ir.Sub, ir.Mul, ir.And, ir.Or, ir.Xor, ir.AndNot, ir.Min, ir.Max, ir.Div, ir.Rem, ir.Shl, ir.Shr:
	default:
		return ""
	}
	var args []string
	for _, a := range v.Args {
		x := r.text(a)
		if x == "" || !a.Type.Integer() || !facts.Pure(v) {
			return ""
		}
		if v.Op != ir.Convert && (a.Op == ir.Extract || a.Op == ir.Load) { // the type of the field may have a name
			x = numbers[a.Type.Kind] + "(" + x + ")"
		}
		args = append(args, x)
	}
	switch {
	case v.Op == ir.Convert:
		return numbers[v.Type.Kind] + "(" + args[0] + ")"
	case len(args) == 1:
		return "(" + v.Op.String() + args[0] + ")"
	case v.Op == ir.Min || v.Op == ir.Max:
		return v.Op.String() + "(" + args[0] + ", " + args[1] + ")"
	}
	return "(" + args[0] + " " + v.Op.String() + " " + args[1] + ")"
}

// loaded returns the Go text of what is in a local, or in a field of it, at the front of the kernel.
func (r *Row) loaded(p *ir.Place) string {
	is := r.locals[p.Local]
	switch {
	case is == nil || len(p.Path) > 1:
		return ""
	case len(p.Path) == 0:
		return r.text(is)
	case is.Type.Kind != ir.Struct:
		return ""
	}
	text := r.text(is)
	if text == "" {
		return ""
	}
	return text + "." + is.Type.Fields[p.Path[0].Field].Name
}
