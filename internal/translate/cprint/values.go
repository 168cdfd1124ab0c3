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

// deeper calls fn for the lines of a block.
func (l *lines) deeper(fn func()) {
	l.depth++
	fn()
	l.depth--
}

// captured returns the lines that fn writes, one level deeper, instead of adding them.
func (l *lines) captured(fn func()) []string {
	before := l.text
	l.text = nil
	l.deeper(fn)
	made := l.text
	l.text = before
	return made
}

// values prints the values and places of one function. What is no expression in C becomes lines before the statement.
type values struct {
	*printer
	*quirks.Table
	lines
	f      *ir.Function
	c      string // its name
	checks bool   // it, or a function that it calls, has checked indexes or asks for the thread's place: its last parameter is for these

	names map[any]string // of parameters, locals and bound values
	taken map[string]bool
	adds  int                     // names that the translation adds
	pairs map[*ir.Value][2]string // the names of the results of functions that are written out
}

// name returns the name of a parameter, local or bound value, which nothing else in the function has. like is its name in Go.
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

// added returns the name of a variable that the translation adds.
func (f *values) added() string { return fmt.Sprintf("v_%d", f.number()) }

func (f *values) number() int {
	f.adds++
	return f.adds
}

// composed declares a variable with a structure or array in it.
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

// settle stores the first value of a variable once more if a compiler might move that past uses of its parts.
func (f *values) settle(of any, t *ir.Type, name string) {
	if f.Settled[of] && (t.Kind == ir.Array || t.Kind == ir.Struct) {
		f.line("GO_ONCE(%s) = %[1]s;", name)
	}
}
