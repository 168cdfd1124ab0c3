package lanes

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// how says in what way a value depends on the thread.
type how int

const (
	alike  how = iota // all threads of the row have it
	leads             // an int: a number that all threads have, plus the number of the lane times a step; its text is the number for lane 0
	differ            // each lane has its own; its text is a vector, or a mask for a bool
)

// value is the form of an ir.Value in the text of the function.
type value struct {
	text  string
	how   how
	step  string // of leads: the number by which lanes differ, a text that means the same everywhere, or "" for 1
	kind  ir.Kind
	exact any  // the number, if it is known: as in [ir.Value]
	fixed bool // the text is a constant expression in Go, which must not overflow
	still bool // it is the same for all threads of all vectors, and its text can stand before the first vector
	small key  // if a lane holds only the low 32 bits of an int: the variable to widen where that is not enough
}

// variable is a local of the kernel, or of a function that it calls.
type variable struct {
	name  string
	key   key
	how   how
	step  string // of leads
	depth int    // the length of writer.depth at its declaration
	kind  ir.Kind
	small bool // it is an int of which a lane holds the low 32 bits
}

func bits(k ir.Kind) int      { return ir.Basic(k).Bits() }
func isFloat(k ir.Kind) bool  { return ir.Basic(k).Float() }
func isSigned(k ir.Kind) bool { return ir.Basic(k).Signed() }

// goType returns the text of a type in Go.
func goType(t *ir.Type) string {
	switch t.Kind {
	case ir.I8, ir.I16, ir.I32, ir.I64:
		return "int" + t.String()[1:]
	case ir.U8, ir.U16, ir.U32, ir.U64:
		return "uint" + t.String()[1:]
	case ir.F32, ir.F64:
		return "float" + t.String()[1:]
	case ir.C64, ir.C128:
		return "complex" + t.String()[1:]
	case ir.Array:
		return fmt.Sprintf("[%d]%s", t.Len, goType(t.Elem))
	}
	return t.String()
}

// converted returns a conversion to a predeclared type.
func converted(k ir.Kind, text string) string {
	if k == ir.Bool && (text == "true" || text == "false") {
		return text
	}
	return goType(ir.Basic(k)) + "(" + text + ")"
}

// number returns the value of a constant.
func number(k ir.Kind, x any) value {
	v := value{kind: k, exact: x, still: true, fixed: true, text: literal(x, k)}
	if k != ir.Bool && (k != ir.Int || v.text[0] == '-') {
		v.text = converted(k, v.text)
	}
	return v
}

// literal returns a constant as Go text without a type.
func literal(x any, k ir.Kind) string {
	if f, ok := x.(float64); ok {
		return strconv.FormatFloat(f, 'g', -1, bits(k))
	}
	return fmt.Sprint(x)
}

// natural returns the number of a constant that is at least 0 and fits in an int64.
func (v value) natural() (int64, bool) {
	switch x := v.exact.(type) {
	case int64:
		return x, x >= 0
	case uint64:
		return int64(x), int64(x) >= 0
	}
	return 0, false
}

// isZero reports whether a value is known to be 0.
func (v value) isZero() bool { return v.exact == int64(0) || v.exact == uint64(0) || v.exact == 0.0 }

// numberOf returns the type of a number or bool, and refuses others.
func numberOf(v *ir.Value) ir.Kind {
	if v.Type == nil || v.Type.Kind >= ir.C64 {
		refuse(v.Pos, "this has type %s; only numbers and bools become vectors", goType(v.Type))
	}
	return v.Type.Kind
}

// learned is what the attempts so far have found out: see writer.
type learned struct {
	bits    int // the width of a lane
	differs map[key]bool
	whole64 map[key]bool // locals that need all bits of an int
	again   bool         // this attempt has learnt something
}

// vectorTypes writes values as vectors.
type vectorTypes struct {
	lineWriter
	*learned
	island *island // not nil where statements are written for one lane
}

// learn notes that something differs between lanes. The current attempt goes on, so that it learns as much as possible for the next one.
func (w *vectorTypes) learn(k key) {
	if !w.differs[k] {
		w.differs[k], w.again = true, true
	}
}

// vectorOf returns the name of the vector type, without package, for values of a type.
func (w *vectorTypes) vectorOf(k ir.Kind) string {
	w.lane(k)
	if k == ir.Bool {
		return fmt.Sprintf("Mask%ds", w.bits)
	}
	return w.vectorName(k)
}

// lane asks for lanes that hold values of a type.
func (w *vectorTypes) lane(k ir.Kind) {
	if bits(k) > w.bits {
		w.bits, w.again = 64, true
		panic(tryAgain{})
	}
}

// widened reports whether a type has fewer bits than a lane. A lane holds such a number in its own bits: an integer with its sign, and a
// float32 as the float64 that it equals.
func (w *vectorTypes) widened(k ir.Kind) bool { return k != ir.Bool && bits(k) < w.bits }

// ofType returns the name of a function of package lanes for a type that has fewer bits than a lane.
func (w *vectorTypes) ofType(verb string, k ir.Kind) string {
	if w.bits == 64 {
		verb += "64"
	}
	return "lanes." + verb + title(goType(ir.Basic(k)))
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (w *vectorTypes) vectorName(k ir.Kind) string {
	switch {
	case isFloat(k):
		return fmt.Sprintf("Float%ds", w.bits)
	case isSigned(k):
		return fmt.Sprintf("Int%ds", w.bits)
	}
	return fmt.Sprintf("Uint%ds", w.bits)
}

// wide returns the type that numbers of a type have in a lane: a type with as many bits as the lane.
func (w *vectorTypes) wide(k ir.Kind) ir.Kind {
	wide := w.bits == 64
	switch {
	case isFloat(k):
		return either(wide, ir.F64, ir.F32)
	case isSigned(k):
		return either(wide, ir.I64, ir.I32)
	}
	return either(wide, ir.U64, ir.U32)
}

func either[T any](first bool, x, y T) T {
	if first {
		return x
	}
	return y
}

// vector returns the vector of a value, or the mask of a bool.
func (w *vectorTypes) vector(v value) string {
	if v.small != (key{}) {
		w.whole64[v.small], w.again = true, true
		panic(tryAgain{})
	}
	return w.vectorOfSmall(v)
}

// vectorOfSmall is like vector, but where the value is used, its low 32 bits are enough.
func (w *vectorTypes) vectorOfSmall(v value) string {
	if v.kind == ir.Bool {
		if v.how == differ {
			return v.text
		}
		return fmt.Sprintf("lanes.Mask%d(%s)", w.bits, v.text)
	}
	if v.how == differ && !w.widened(v.kind) && v.small == (key{}) {
		w.lane(v.kind)
	}
	switch {
	case v.how == differ:
		return v.text
	case v.how == leads && v.step != "": // a value that leads is an int, so lanes have 64 bits
		w.lane(v.kind)
		return fmt.Sprintf("lanes.Steps(%s, %s)", v.text, v.step)
	case v.how == leads:
		w.lane(v.kind)
		return fmt.Sprintf("lanes.Int64s(%s)", v.text)
	}
	w.lane(v.kind)
	name := w.vectorName(v.kind)
	if wide := w.wide(v.kind); wide != v.kind {
		v.text, v.kind = converted(wide, v.text), wide
	}
	if v.exact != nil { // a constant gets its type from the parameter of Broadcast
		v.text = literal(v.exact, v.kind)
	}
	text := fmt.Sprintf("simd.Broadcast%s(%s)", name, v.text)
	switch was := w.named[text]; {
	case was != "":
		return was
	case v.exact != nil:
		return w.hoist("c", text)
	case v.still:
		return w.hoist("all", text)
	}
	return text
}

// lanesOf returns the text of the number of lanes of a vector.
func (w *vectorTypes) lanesOf() string { return fmt.Sprintf("lanes.Lanes%d().Len()", w.bits) }

// without returns the mask of the lanes of m that are not those of n.
func (w *vectorTypes) without(m, n string) string {
	return fmt.Sprintf("lanes.Without%d(%s, %s)", w.bits, m, n)
}

// any returns the text that tests whether a mask has any lane.
func (w *vectorTypes) any(m string) string { return fmt.Sprintf("lanes.Any%d(%s)", w.bits, m) }

// low returns an int as a number of 32 bits: a lane holds its low 32 bits. of is the variable to widen if a use needs
// all bits.
func low(v value, of key) value {
	if v.kind == ir.Int {
		if v.kind = ir.I32; v.how == alike {
			v.text = converted(ir.I32, v.text)
		}
	}
	v.small = of
	return v
}

// name returns a value that has a name, so that its text can stand at several places. Values that are the same for the row are computed once.
func (w *vectorTypes) name(base string, v value) value {
	// A constant keeps a variable of its own: in Go, what is computed with constants alone must not overflow.
	if !v.fixed && w.frozen[v.text] {
		return v
	}
	if base == "" || base == "_" {
		base = "v"
	}
	text := v.text
	v.text, v.fixed = w.fresh(base), false
	w.frozen[v.text] = true
	if v.how == alike && v.still {
		w.hoisted = append(w.hoisted, line{text: v.text + " := " + text, name: v.text})
		return v
	}
	v.still = false
	w.put(v.text, ":=", text)
	if v.how == alike && v.kind != ir.Bool && bits(v.kind) <= w.bits && v.exact == nil && w.island == nil {
		// One vector of it serves all that follows.
		text := w.vector(v)
		w.named[text] = w.fresh(v.text + "_all")
		w.put(w.named[text], ":=", text)
	}
	return v
}
