package cprint

import (
	"fmt"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/quirks"
)

// lines are the lines of a block.
type lines struct {
	text  []string
	depth int
}

// line writes a line.
func (l *lines) line(format string, args ...any) {
	l.text = append(l.text, strings.Repeat("\t", l.depth)+fmt.Sprintf(format, args...)+"\n")
}

// deeper calls fn, which writes the lines of a block, and indents these lines by one level more.
func (l *lines) deeper(fn func()) {
	l.depth++
	fn()
	l.depth--
}

// captured calls fn, and returns the lines that fn writes, indented by one level more. It does not add them to the text.
func (l *lines) captured(fn func()) []string {
	before := l.text
	l.text = nil
	l.deeper(fn)
	made := l.text
	l.text = before
	return made
}

// values prints the values and places of one function. What cannot be an expression in C becomes lines before the statement.
type values struct {
	*printer
	*quirks.Table
	lines
	*printed
	f *ir.Function

	names  map[any]string // of parameters, locals and bound values
	taken  map[string]bool
	adds   int                     // how many names the translation has added
	copied map[copied]string       // the names of copies of elements, in the loops that have them: see copies
	pairs  map[*ir.Value][2]string // the two variables that have the results of a call of a math/bits function

	combines *round // the round of an operation that is being printed, or nil
}

// name returns the C name of a parameter, local or bound value. The C name is unique in the function. The parameter like is the name in Go.
func (f *values) name(of any, like string) string {
	if c, ok := f.names[of]; ok {
		return c
	}
	c := mangle("h_", like)
	if like == "" {
		c = f.added()
	}
	base := c
	for i := 1; f.taken[c] || f.taken[c+"_n"] || f.taken[c+"_m"]; i++ {
		c = fmt.Sprintf("%s_%d", base, i)
	}
	f.taken[c], f.taken[c+"_n"], f.taken[c+"_m"] = true, true, true
	f.names[of] = c
	return c
}

// added returns a new name for a variable that the translation adds.
func (f *values) added() string { return fmt.Sprintf("v_%d", f.number()) }

func (f *values) number() int {
	f.adds++
	return f.adds
}

// composed declares a variable that has the structure or array of a composite value.
func (f *values) composed(name string, v *ir.Value) {
	f.line("%s %s = {0};", f.typ(v.Type), name)
	f.compose(name, v)
	f.settle(v, v.Type, name)
}

// compose writes the parts of a structure or array into a variable that is zero.
func (f *values) compose(to string, v *ir.Value) {
	for i, a := range v.Args {
		at := fmt.Sprintf("%s.a[%d]", to, v.Which[i])
		if v.Type.Kind == ir.Struct {
			at = to + "." + field(v.Type, v.Which[i])
		}
		if a.Op == ir.Composite && !a.Bound {
			f.compose(at, a)
		} else {
			f.line("%s = %s;", at, f.value(a).c)
		}
	}
}

// settle stores the first value of a variable once more, if a compiler might move the first store past uses of the variable's parts.
func (f *values) settle(of any, t *ir.Type, name string) {
	if f.Settled[of] && (t.Kind == ir.Array || t.Kind == ir.Struct) {
		f.line("GO_ONCE(%s) = %[1]s;", name)
	}
}

// value returns the text of a value where it is used. If the value is nested too deeply, it is computed before the statement.
func (f *values) value(v *ir.Value) text {
	if v.Bound {
		return atom(f.names[v])
	}
	t := f.computed(v)
	if t.deep <= deepest {
		return t
	}
	return f.keep(f.keptAs(v.Type, f.narrow.Value(v)), t)
}

// keep stores a value in a variable.
func (f *values) keep(c string, t text) text {
	name := f.added()
	f.line("%s %s = %s;", c, name, t.c)
	return atom(name)
}

// part returns a field of a structure.
func (f *printer) part(x text, name string) text {
	x = x.in(postfix)
	return text{c: x.c + "." + name, level: postfix, deep: x.deep}
}

// truth returns a bool. The parameter any says that the bool may be any byte, because other code may have written it. Then every byte except 0 is true.
func truth(t text, typ *ir.Type, any bool) text {
	if typ.Kind != ir.Bool || !any {
		return t
	}
	return binary("!=", equality, t, atom("0"))
}

// negated returns a float with the other sign. Intel's compiler loses negations that are needed after a barrier. So kernels with barriers use a macro, which is
// defined differently for that compiler.
func (f *values) negated(n number, x text) text {
	if f.Waits {
		return called("GO_NEG_"+strings.ToUpper(n.c), x)
	}
	x = x.in(postfix)
	return text{c: "-" + x.c, level: unary, deep: x.deep + 1}
}

// typed returns an operand. A constant is converted to its own type, since C would take it for an int.
func (f *values) typed(v *ir.Value, t text) text {
	if v.Op != ir.Const || v.Bound {
		return t
	}
	return cast(f.numberOf(v).c, t)
}
