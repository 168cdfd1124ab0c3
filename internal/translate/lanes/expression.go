package lanes

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// values writes values.
type values struct {
	memory
	fused   bool // a product of floats is not converted, so that Go may fuse it with a sum
	imports map[string]string
	bound   map[*ir.Value]value
	results map[*ir.Value][]value // of calls with several results
	arrays  map[*ir.Value]*columns
	passed  map[*ir.Param]value // arguments of functions that the kernel calls
	vars    map[*ir.Local]*variable
	below   map[any]string // for locals and counters that are not negative in the lanes that run: an upper bound, exclusive
	path    string         // of the calls around

	hoistedArrays []*columns
	unrolling     bool // the rounds of a loop are written one after the other
	indexing      bool // an index is being written
}

// value returns a value where it is used. It may write lines before.
func (w *values) value(v *ir.Value) value {
	if v.Bound {
		if x, ok := w.bound[v]; ok {
			return w.inLane(v, v.Name, x)
		}
		refuse(v.Pos, "this expression does not become a vector")
	}
	return w.compute(v)
}

// compute returns a value where it is computed.
func (w *values) compute(v *ir.Value) value {
	switch v.Op {
	case ir.Extract:
		return w.extract(v)
	case ir.Argument:
		return w.argument(v)
	case ir.Atomic:
		refuse(v.Pos, "an atomic operation does not become vector code")
	case ir.Call, ir.Composite, ir.Address, ir.Within, ir.UpTo:
		refuse(v.Pos, "this expression does not become a vector")
	}
	k := numberOf(v)
	switch v.Op {
	case ir.Const:
		return number(k, v.Const)
	case ir.Len:
		text := "len(" + w.param(v.Param).Name + ")"
		w.frozen[text] = true
		return value{text: text, kind: k, still: true}
	case ir.Rows, ir.Cols:
		return value{text: fmt.Sprintf("%s.%s()", w.param(v.Param).Name, title(v.Op.String())), kind: k}
	case ir.InGrid:
		if v.Which[0] == 0 {
			return w.inLane(ir.InGrid, "place", value{text: w.x, how: leads, kind: k})
		}
		return value{text: w.row + "." + dims[v.Which[0]], kind: k, still: true}
	case ir.Neg, ir.Not, ir.Complement:
		return w.unary(v)
	case ir.Convert, ir.Round:
		return w.convert(v)
	case ir.Shl, ir.Shr:
		return w.shift(v)
	case ir.Min, ir.Max:
		return w.least(v)
	case ir.Both, ir.Either:
		return w.both(v)
	case ir.Go:
		return w.math(v)
	case ir.Load:
		return w.load(v)
	}
	switch {
	case v.Op.Compares():
		x, y := w.value(v.Args[0]), w.value(v.Args[1])
		return w.compare(v, x, y)
	case v.Op.Binary() && v.Op != ir.Complex:
		x, y := w.value(v.Args[0]), w.value(v.Args[1])
		return w.operate(v, v.Op, x, y, k)
	}
	refuse(v.Pos, "this expression does not become a vector")
	return value{}
}

// argument returns the value of a parameter. Parameters of functions that the kernel calls have values already.
func (w *values) argument(v *ir.Value) value {
	if x, ok := w.passed[v.Param]; ok {
		return x
	}
	k := numberOf(v)
	p := w.param(v.Param)
	x := value{text: p.Name, kind: k, still: w.Part == nil || w.Part.Round != p.Name}
	if p.Named {
		x.text = converted(k, p.Name)
	}
	return x
}

// extract returns a field of a parameter, which all threads share, an element of an array, or one of the results of a call.
func (w *values) extract(v *ir.Value) value {
	of := v.Args[0]
	if results := w.results[of]; results != nil {
		return results[v.Which[0]]
	}
	if a := w.arrays[of]; a != nil {
		return w.column(a, v)
	}
	k := numberOf(v)
	path := ""
	for of = v; of.Op == ir.Extract && len(of.Which) > 0; of = of.Args[0] {
		path = "." + of.Args[0].Type.Fields[of.Which[0]].Name + path
	}
	if of.Op != ir.Argument {
		refuse(v.Pos, "only fields of a kernel's parameters are used in vectors; use variables that are numbers")
	}
	return value{text: converted(k, w.param(of.Param).Name+path), kind: k, still: true}
}

func (w *values) unary(v *ir.Value) value {
	x, k := w.value(v.Args[0]), v.Type.Kind
	switch {
	case x.how == alike:
		return value{text: "(" + v.Op.String() + x.text + ")", kind: k, still: x.still, fixed: x.fixed}
	case v.Op == ir.Not:
		return value{text: fmt.Sprintf("lanes.Not%d(%s)", w.bits, x.text), how: differ, kind: k}
	case v.Op == ir.Complement:
		return w.wrapped(fmt.Sprintf("lanes.Not%s(%s)", w.vectorOf(k), w.vector(x)), k)
	case isFloat(k):
		return value{text: w.vector(x) + ".Neg()", how: differ, kind: k}
	case isSigned(k):
		return w.wrapped(w.vector(x)+".Neg()", k)
	}
	return w.wrapped(fmt.Sprintf("simd.%s{}.Sub(%s)", w.vectorOf(k), w.vector(x)), k)
}

// wrapped returns the value of a vector whose numbers may need more bits than their type has.
func (w *vectorTypes) wrapped(text string, k ir.Kind) value {
	if w.widened(k) {
		text = fmt.Sprintf("%s(%s)", w.ofType("Wrap", k), text)
	}
	return value{text: text, how: differ, kind: k}
}

var operators = map[ir.Op]string{ir.Add: "Add", ir.Sub: "Sub", ir.Mul: "Mul", ir.Div: "Div", ir.And: "And", ir.Or: "Or", ir.Xor: "Xor", ir.AndNot: "AndNot",
	ir.Eq: "Equal", ir.Ne: "NotEqual", ir.Lt: "Less", ir.Le: "LessEqual", ir.Gt: "Greater", ir.Ge: "GreaterEqual"}

// scalar returns the result of an operator on numbers that are the same for all threads. Of two constants one becomes a variable, because Go refuses a
// constant expression that overflows.
func (w *values) scalar(op ir.Op, x, y value, k ir.Kind) value {
	if x.fixed && y.fixed {
		x = w.name("v", x)
	}
	return value{text: fmt.Sprintf("(%s %s %s)", x.text, op, y.text), kind: k, still: x.still && y.still}
}

// notZero adds a test that leaves the row to the loop if a divisor is 0: there the division panics.
func (w *values) notZero(at *ir.Value, y value) {
	zero := y.text + " == 0"
	switch {
	case y.exact != nil:
	case w.Part != nil && w.Part.Round != "":
		refuse(at.Pos, "a division between barriers does not become vector code in a loop; divide before the loop")
	case y.still && !mentionsAny(y.text, w.hoisted): // tested once for the row
		w.leaveIf(zero)
	case w.stored:
		refuse(at.Pos, "this divisor is looked at only here, after something was stored; divide before")
	default:
		w.goBack(zero)
	}
}

func mentionsAny(text string, lines []line) bool {
	for _, h := range lines {
		if mentions(text, h.name) {
			return true
		}
	}
	return false
}

// operate returns the result of an operator with two operands of the same type.
func (w *values) operate(v *ir.Value, op ir.Op, x, y value, k ir.Kind) value {
	if (op == ir.Div || op == ir.Rem) && !isFloat(k) {
		if x.how != alike || y.how != alike || y.isZero() {
			refuse(v.Pos, "package simd has no division of integers: divide numbers that all threads of a row have, or floats")
		}
		w.notZero(v, y)
	}
	switch {
	case x.how == alike && y.how == alike:
		return w.scalar(op, x, y, k)
	case x.how != differ && y.how != differ:
		if v, ok := w.led(op, x, y, k); ok {
			return v
		}
	}
	if w.indexing {
		refuse(v.Pos, notNeighbours)
	}
	w.gains += w.times
	a, b := w.vector(x), w.vector(y)
	if w.bits == 64 && !isFloat(k) && op == ir.Mul {
		how := "" // the processor cannot multiply integers of 64 bits as vectors
		if bits(k) <= 32 {
			how = "Low"
		}
		return w.wrapped(fmt.Sprintf("lanes.Mul%s%s(%s, %s)", how, w.vectorName(k), a, b), k)
	}
	if op >= ir.And && op <= ir.AndNot {
		return value{text: fmt.Sprintf("lanes.%s%s(%s, %s)", operators[op], w.vectorName(k), a, b), how: differ, kind: k}
	}
	return w.wrapped(fmt.Sprintf("%s.%s(%s)", a, operators[op], b), k)
}

// stepOf returns the step of a value that leads, and 0 for a value that is the same in all lanes.
func stepOf(v value) string {
	switch {
	case v.how == alike:
		return "0"
	case v.step == "":
		return "1"
	}
	return v.step
}

// led returns the result of an operator on two numbers of which at least one leads. It reports false if the result differs between lanes in another way.
func (w *values) led(op ir.Op, x, y value, k ir.Kind) (value, bool) {
	text := fmt.Sprintf("(%s %s %s)", x.text, op, y.text)
	a, b := stepOf(x), stepOf(y)
	var combined string
	m, errX := strconv.ParseInt(a, 10, 32)
	n, errY := strconv.ParseInt(b, 10, 32)
	switch {
	case op == ir.Mul && x.how == leads && y.how == leads:
		return value{}, false
	case op == ir.Mul:
		if x.how == alike {
			x, y, m, errX, a = y, x, n, errY, b
		}
		factor, isConstant := y.exact.(int64)
		switch {
		case isConstant && errX == nil && max(factor, -factor) < 1<<31 && m*factor < 1<<31 && m*factor >= -1<<31:
			combined = fmt.Sprint(m * factor)
		case !w.frozen[y.text] && !isConstant:
			return value{}, false // the step is used later, when y may have changed
		case a == "1":
			combined = y.text
		default:
			return value{}, false
		}
	case op != ir.Add && op != ir.Sub:
		return value{}, false
	case b == "0":
		combined = a
	case a == "0" && op == ir.Add:
		combined = b
	case op == ir.Sub && a == b:
		combined = "0"
	case errX == nil && errY == nil && op == ir.Add:
		combined = fmt.Sprint(m + n)
	case errX == nil && errY == nil:
		combined = fmt.Sprint(m - n)
	default:
		return value{}, false
	}
	switch combined {
	case "0":
		return value{text: text, kind: k}, true
	case "1":
		combined = ""
	}
	return value{text: text, how: leads, step: combined, kind: k}, true
}

// compare returns the result of a comparison.
func (w *values) compare(v *ir.Value, x, y value) value {
	op := v.Op
	if truth, ok := w.truths[v]; ok {
		return number(ir.Bool, truth)
	}
	switch {
	case x.how == alike && y.how == alike:
		if truth, ok := w.within(v); ok {
			return number(ir.Bool, truth)
		}
		return w.scalar(op, x, y, ir.Bool)
	case x.how == alike && y.how == leads && (y.step == "" || y.step == "-1"):
		x, y, op = y, x, facts.Mirrored(op)
		fallthrough
	case x.how == leads && (x.step == "" || x.step == "-1") && y.how == alike:
		if truth, ok := w.within(v); ok {
			return number(ir.Bool, truth)
		}
		if x, ok := w.placed(v); ok {
			return x
		}
		if x.step != "" { // the step is -1: the complements, which cannot overflow, have the step 1
			x.text, y.text, op = "^"+parenthesized(x.text), "^"+parenthesized(y.text), facts.Mirrored(op)
		}
		return w.against(op, x, y)
	case x.how == leads && y.how == leads && x.step == y.step && (op == ir.Eq || op == ir.Ne):
		return value{text: fmt.Sprintf("(%s %s %s)", x.text, op, y.text), kind: ir.Bool}
	}
	if v.Args[0].Type.Kind == ir.Bool {
		refuse(v.Pos, "a comparison of bools does not become a vector")
	}
	numberOf(v.Args[0])
	w.gains += w.times
	return value{text: fmt.Sprintf("%s.%s(%s)", w.vector(x), operators[op], w.vector(y)), how: differ, kind: ir.Bool}
}

// against compares a number that grows by 1 from thread to thread, such as the place, with a number that is the same for all threads.
func (w *values) against(op ir.Op, x, y value) value {
	text := fmt.Sprintf("lanes.Lanes%d().%s(lanes.Against%[1]d(%[3]s, %[4]s))", w.bits, operators[op], x.text, y.text)
	if x.text == w.x && y.still {
		text = fmt.Sprintf("%s.%s(%s)", w.xs, operators[op], w.limit(y.text))
	}
	return value{text: text, how: differ, kind: ir.Bool}
}

// placed returns the comparison of two numbers that are known before the row, one of them after the thread's place is added to it or subtracted from it.
func (w *values) placed(v *ir.Value) (value, bool) {
	a, ok1 := w.known(v.Args[0])
	b, ok2 := w.known(v.Args[1])
	op := v.Op
	if b.step != 0 {
		a, b, op = b, a, facts.Mirrored(op)
	}
	if !ok1 || !ok2 || b.step != 0 || a.step != 1 && a.step != -1 || w.Part != nil && w.Part.Round != "" {
		return value{}, false
	}
	for _, condition := range tooFar(a, b) {
		w.leaveIf(condition)
	}
	n := b.offset.Plus(a.offset, -1)
	if a.step < 0 {
		n, op = facts.Fixed(0).Plus(n, -1), facts.Mirrored(op)
	}
	return value{text: fmt.Sprintf("%s.%s(%s)", w.xs, operators[op], w.limit(w.shared.Text(n))), how: differ, kind: ir.Bool}, true
}

// limit returns the vector of a number, to compare the threads' places with. The vector is made once for the row.
func (w *rowFacts) limit(n string) string {
	if w.bits == 32 {
		w.leaveIf(w.to + " > 1<<31-64") // so that the place of each lane fits in 32 bits
	}
	return w.hoist("bound", fmt.Sprintf("lanes.Bound%d(%s)", w.bits, n))
}

// both returns x && y, or x || y. The right side has no calls, so that all lanes can evaluate it.
func (w *values) both(v *ir.Value) value {
	x := w.value(v.Args[0])
	before := len(w.lines)
	y := w.value(v.Args[1])
	decides, neutral := fmt.Sprint(v.Op == ir.Either), fmt.Sprint(v.Op == ir.Both)
	switch {
	case x.how == alike && x.text == decides:
		return x
	case x.how == alike && x.text == neutral:
		return y
	case y.how == alike && y.text == neutral:
		return x
	case x.how == alike && len(w.lines) > before:
		refuse(v.Args[1].Pos, "this is evaluated only after what stands before %s; use an if statement", v.Op)
	case x.how == alike && y.how == alike:
		return w.scalar(v.Op, x, y, ir.Bool)
	}
	if w.unrolling { // Go 1.27.0 does not compile some sequences of such operations for 512 bits
		a, b, c := w.vector(x), w.vector(y), fmt.Sprintf("simd.Mask%ds{}", w.bits)
		if v.Op == ir.Either {
			b, c = fmt.Sprintf("lanes.All%d()", w.bits), b
		}
		return value{text: fmt.Sprintf("lanes.Choose%d(%s, %s, %s)", w.bits, a, b, c), how: differ, kind: ir.Bool}
	}
	return value{text: fmt.Sprintf("%s.%s(%s)", w.vector(x), either(v.Op == ir.Both, "And", "Or"), w.vector(y)), how: differ, kind: ir.Bool}
}

// shift returns x shifted by a number that all threads share.
func (w *values) shift(v *ir.Value) value {
	x, n, k := w.value(v.Args[0]), w.value(v.Args[1]), v.Type.Kind
	by, natural := n.natural()
	switch {
	case n.how != alike:
		refuse(v.Args[1].Pos, "package simd shifts all lanes by the same number")
	case isSigned(n.kind) && !natural:
		refuse(v.Args[1].Pos, "a shift by a negative number would panic; convert the number to an unsigned type")
	case x.how == alike:
		if n.exact != nil && n.fixed {
			n.text = fmt.Sprint(n.exact)
		}
		return w.scalar(v.Op, x, n, k)
	}
	vector, name := w.vector(x), w.vectorName(k)
	direction := either(v.Op == ir.Shl, "Left", "Right")
	text := fmt.Sprintf("lanes.Shift%s%s(%s, uint64(%s))", direction, name, vector, n.text)
	if n.exact != nil && natural {
		if by == 0 { // Go 1.27.0 gets the instruction wrong
			return value{text: vector, how: differ, kind: k}
		}
		if by < int64(w.bits) && name+direction != "Int64sRight" {
			text = fmt.Sprintf("lanes.Alone%s(%s.ShiftAll%s(%d))", name, vector, direction, by)
		}
	}
	if v.Op == ir.Shl {
		return w.wrapped(text, k)
	}
	return value{text: text, how: differ, kind: k}
}

// least returns the smaller or the larger of two numbers.
func (w *values) least(v *ir.Value) value {
	x, y, k := w.value(v.Args[0]), w.value(v.Args[1]), v.Type.Kind
	if x.how == alike && y.how == alike {
		return value{text: fmt.Sprintf("%s(%s, %s)", v.Op, x.text, y.text), kind: k, still: x.still && y.still, fixed: x.fixed && y.fixed}
	}
	w.gains += w.times
	a, b := w.vector(x), w.vector(y)
	text := fmt.Sprintf("%s.%s(%s)", a, title(v.Op.String()), b)
	if isFloat(k) || w.bits == 64 {
		text = fmt.Sprintf("lanes.%s%s(%s, %s)", title(v.Op.String()), w.vectorName(k), a, b)
	}
	return value{text: text, how: differ, kind: k}
}

// methods are the functions of package math that vectors have.
var methods = map[string]string{"math.Sqrt": "Sqrt", "math.Abs": "Abs", "math.Float32bits": "ToBits", "math.Float64bits": "ToBits",
	"math.Float32frombits": "BitsToFloat32", "math.Float64frombits": "BitsToFloat64"}

// math returns the result of a function of package math.
func (w *values) math(v *ir.Value) value {
	name, isMath := strings.CutPrefix(v.Of, "math.")
	if !isMath {
		refuse(v.Pos, "this call does not become a vector")
	}
	var args []value
	var texts []string
	scalar, still := true, true
	for _, a := range v.Args {
		x := w.value(a)
		args, texts = append(args, x), append(texts, x.text)
		scalar, still = scalar && x.how == alike, still && x.still
	}
	k := v.Type.Kind
	switch fused := strings.HasPrefix(name, "FMA"); {
	case fused && scalar:
		return value{text: fmt.Sprintf("grid.FMA[%s](%s)", goType(v.Type), strings.Join(texts, ", ")), kind: k, still: still}
	case fused && w.bits > bits(k):
		refuse(v.Pos, "grid.FMA of float32 does not become a vector beside numbers of 64 bits that differ between threads")
	case fused:
		w.lane(k)
		w.gains += 2 * w.times
		text := fmt.Sprintf("lanes.FMA%ss(%s, %s, %s)", title(goType(v.Type)), w.vector(args[0]), w.vector(args[1]), w.vector(args[2]))
		return value{text: text, how: differ, kind: k}
	}
	if scalar {
		w.imports["math"] = "math"
		return value{text: fmt.Sprintf("math.%s(%s)", name, strings.Join(texts, ", ")), kind: k, still: still}
	}
	if methods[v.Of] == "" {
		if len(args) != 1 || k != ir.F64 || args[0].kind != ir.F64 {
			refuse(v.Pos, "package simd has no math.%s", name)
		}
		return w.each(name, args[0], k)
	}
	text := w.vector(args[0])
	w.lane(k)
	w.gains += gainOfRoot * w.times
	if w.bits == 64 && strings.HasPrefix(name, "Float32") {
		refuse(v.Pos, "math.%s does not become a vector beside numbers of 64 bits that differ between threads", name)
	}
	return value{text: fmt.Sprintf("%s.%s()", text, methods[v.Of]), how: differ, kind: k}
}

// each returns the result of a function of package math that is called for one lane after the other, unless package lanes has it.
func (w *values) each(name string, x value, k ir.Kind) value {
	w.lane(k)
	if name == "Exp" {
		return w.wrapped(fmt.Sprintf("lanes.ExpFloat%ds(%s)", w.bits, w.vector(x)), k)
	}
	w.apartCosts(costOfCall)
	w.imports["math"] = "math"
	return w.wrapped(fmt.Sprintf("lanes.EachFloat%ds(math.%s, %s)", w.bits, name, w.vector(x)), k)
}

// convert returns the value of a conversion.
func (w *values) convert(v *ir.Value) value {
	k := v.Type.Kind
	if name, args := facts.SingleMath(v); len(args) == 1 && args[0].Op != ir.Const {
		x := w.value(args[0])
		switch {
		case x.how == differ && name != "Sqrt" && name != "Abs":
			return w.each(name, x, k)
		case x.how == differ:
			w.gains += gainOfRoot * w.times // the root of a float64, rounded to float32, is the root of the float32
			return w.wrapped(fmt.Sprintf("%s.%s()", w.vector(x), name), k)
		}
	}
	x := w.value(v.Args[0])
	if x.small != (key{}) {
		x.small, x.kind = key{}, ir.I32
	}
	switch {
	case x.how == alike && x.fixed && v.Op == ir.Convert:
		x = w.name("v", x) // Go does not convert a constant that does not fit
		fallthrough
	case x.how == alike:
		return value{text: converted(k, x.text), kind: k, still: x.still}
	case v.Op == ir.Round:
		return x
	case x.how == leads && k == ir.Int:
		return x
	case x.how == leads && x.step != "" && bits(k) < 64:
		refuse(v.Pos, "a conversion of the thread's place times a number does not become a vector; convert the place before")
	case x.how == leads && x.step == "" && k == ir.F64:
		w.lane(k)
		return value{text: fmt.Sprintf("lanes.Float64s(%s)", x.text), how: differ, kind: k}
	case x.how == leads && w.bits == 32 && (k == ir.F32 || k == ir.I32):
		return value{text: fmt.Sprintf("lanes.%ss(%s)", title(goType(v.Type)), x.text), how: differ, kind: k}
	case x.how == leads && w.bits == 32 && bits(k) <= 32:
		x = value{text: fmt.Sprintf("lanes.Int32s(%s)", x.text), how: differ, kind: ir.I32}
	default:
		w.lane(x.kind)
		w.lane(k)
	}
	if w.bits == 64 {
		return value{text: w.convert64(x, k), how: differ, kind: k}
	}
	return w.convert32(v, x)
}

// convert32 returns a conversion in lanes of 32 bits.
func (w *values) convert32(v *ir.Value, x value) value {
	text, from, k := x.text, x.kind, v.Type.Kind
	switch {
	case isFloat(from) && isFloat(k):
	case isFloat(from) && bits(k) == 32:
		text = fmt.Sprintf("lanes.%ssOfFloat32s(%s)", title(goType(v.Type)), text)
	case isFloat(from):
		refuse(v.Pos, "a conversion from a float to %s does not become a vector; convert to int32 first", goType(v.Type))
	case isFloat(k) && from == ir.U32:
		text = fmt.Sprintf("lanes.Float32sOfUint32s(%s)", text)
	case isFloat(k) && !isSigned(from):
		text += ".BitsToInt32().ConvertToFloat32()"
	case isFloat(k):
		text += ".ConvertToFloat32()"
	default:
		if isSigned(from) && !isSigned(k) {
			text += ".ToBits()"
		} else if !isSigned(from) && isSigned(k) {
			text += ".BitsToInt32()"
		}
		if bits(k) < bits(from) || bits(k) < 32 && isSigned(from) != isSigned(k) && !(isSigned(k) && bits(k) > bits(from)) {
			return w.wrapped(text, k)
		}
	}
	return value{text: text, how: differ, kind: k}
}

// convert64 returns a conversion in lanes of 64 bits.
func (w *values) convert64(x value, k ir.Kind) string {
	text, from := w.vector(x), x.kind
	have, want := w.vectorName(from), w.vectorName(k)
	switch {
	case isFloat(from) && isFloat(k):
		if bits(k) < bits(from) {
			text = fmt.Sprintf("%s(%s)", w.ofType("Wrap", k), text)
		}
		return text
	case isFloat(k) && bits(from) == 64 && bits(k) == 32: // rounded once
		return fmt.Sprintf("lanes.Round%s(%s)", have, text)
	case isFloat(k):
		return w.wrapped(fmt.Sprintf("lanes.%sOf%s(%s)", want, have, text), k).text
	case isFloat(from) && bits(k) == 64:
		return fmt.Sprintf("lanes.%sOf%s(%s)", want, have, text)
	case isFloat(from):
		return fmt.Sprintf("%s(%s)", w.ofType("Cut", k), text)
	case isSigned(from) && !isSigned(k):
		text += ".ToBits()"
	case !isSigned(from) && isSigned(k):
		text += ".BitsToInt64()"
	}
	if bits(k) < bits(from) || bits(k) < 64 && isSigned(from) && !isSigned(k) || bits(k) == bits(from) && isSigned(from) != isSigned(k) {
		return w.wrapped(text, k).text
	}
	return text
}
