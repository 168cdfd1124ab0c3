package footprint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// If a kernel does something only for threads below an end, the end says how many threads the kernel needs. The end may be a parameter, the length of a
// parameter, or be computed from these. The function Over finds the end for each dimension that the kernel uses. The kernel must have one of two forms. Either
// its last statement is "if i < n && j < m { ... }". Or one or more statements "if i >= n || j >= m { return }" come before the rest. Before these statements,
// the kernel only computes variables.
type over struct {
	effects map[*ir.Function]*facts.Effects
	names   []string // the names of the launcher's arguments, by parameter
	set     map[*ir.Local]bool
	ends    [3]end // the end in each dimension
	least   bool   // min and max may be in an end
}

// end is an expression of the launcher. Its text is "" if there is none.
type end struct {
	text  string
	below bool // the number may be negative
}

// Over returns the launcher's expression for a kernel's grid, or "" if the kernel does not show its ends. The slice names has the names of the launcher's
// arguments, by the parameter's index. The parameter hidden says that the package has a function max of its own.
func Over(f *ir.Function, effects map[*ir.Function]*facts.Effects, names []string, hidden bool) string {
	o := &over{effects: effects, names: names, set: map[*ir.Local]bool{}}
	o.region(f.Body.List)
	var texts []string
	for _, e := range o.ends[:effects[f].Dims] {
		if e.below && !hidden { // the end may be negative, as len(y)-1 is if y is empty
			e.text = "max(0, " + e.text + ")"
		}
		texts = append(texts, e.text)
	}
	if len(texts) == 0 || slices.Contains(texts, "") {
		return ""
	}
	return "hal.Over(" + strings.Join(texts, ", ") + ")"
}

func (o *over) region(list []*ir.Stmt) {
	for n, s := range list {
		switch {
		case s.Do != ir.If:
			if !o.declares(s) {
				return
			}
		case s.Else != nil:
			return
		case n == len(list)-1:
			o.among(s.Value, ir.Both, ir.Lt)
		case len(s.Then.List) == 1 && s.Then.List[0].Do == ir.Return:
			o.among(s.Value, ir.Either, ir.Ge) // later statements may have conditions on other dimensions
		default:
			return
		}
	}
}

// declares reports whether a statement only computes a variable.
func (o *over) declares(s *ir.Stmt) bool {
	switch s.Do {
	case ir.Let:
		if s.Value.Op == ir.Call {
			e := o.effects[s.Value.Call]
			return !e.Barriers && !slices.ContainsFunc(e.Params, func(u facts.Use) bool { return u.Written })
		}
		return s.Value.Op != ir.Atomic
	case ir.Store:
		l := s.Place.Local
		if l == nil || len(s.Place.Path) > 0 || o.set[l] {
			return false
		}
		o.set[l] = true
		return true
	}
	return false
}

// among looks for ends in a condition. The parts of the condition are joined by the operation join, and each part compares a place of the thread with an end.
func (o *over) among(cond *ir.Value, join, compares ir.Op) {
	op := cond.Op
	switch {
	case op == join:
		o.among(cond.Args[0], join, compares)
		o.among(cond.Args[1], join, compares)
		return
	case !op.Compares():
		return
	}
	x, y := cond.Args[0], cond.Args[1]
	if op == facts.Mirrored(compares) {
		x, y, op = y, x, compares
	}
	if op == compares && x.Op == ir.InGrid && o.ends[x.Which[0]].text == "" {
		o.ends[x.Which[0]] = o.end(y)
	}
}

var signs = map[ir.Op]string{ir.Add: "+", ir.Sub: "-", ir.Mul: "*", ir.Div: "/", ir.Rem: "%"}

// Launched returns the launcher's expression for a number that a kernel computes from its parameters, or "" if it depends on something else. See Over for names
// and hidden; here hidden also says whether the package has a function min of its own.
func Launched(v *ir.Value, names []string, hidden bool) string {
	return (&over{names: names, least: !hidden}).end(v).text
}

// end returns an expression of type int for a number, in terms of the launcher's arguments.
func (o *over) end(v *ir.Value) end {
	name := ""
	if v.Param != nil {
		name = o.names[v.Param.Index]
	}
	switch {
	case v.Op == ir.Const:
		n, ok := v.Const.(int64)
		return end{fmt.Sprint(v.Const), ok && n < 0}
	case v.Op == ir.Argument && v.Type.Integer():
		return end{text: "int(" + name + ")"}
	case v.Op == ir.Extract && v.Args[0].Op == ir.Argument && len(v.Args) == 1 && v.Type.Integer():
		of := v.Args[0]
		return end{text: "int(" + o.names[of.Param.Index] + "." + of.Type.Fields[v.Which[0]].Name + ")"}
	case v.Op == ir.Len:
		return end{text: "kernel.Len(" + name + ")"}
	case v.Op == ir.Rows:
		return end{text: "gridgen.RowsOf(" + name + ")"}
	case v.Op == ir.Cols:
		return end{text: "gridgen.ColsOf(" + name + ")"}
	case v.Op == ir.Convert && v.Type.Integer() && v.Args[0].Type.Integer():
		return o.end(v.Args[0])
	case (v.Op == ir.Min || v.Op == ir.Max) && v.Type.Integer() && o.least:
		x, y := o.end(v.Args[0]), o.end(v.Args[1])
		if x.text == "" || y.text == "" {
			return end{}
		}
		return end{v.Op.String() + "(" + x.text + ", " + y.text + ")", x.below || y.below}
	case signs[v.Op] != "" && v.Type.Integer():
		x, y := o.end(v.Args[0]), o.end(v.Args[1])
		if x.text == "" || y.text == "" || (v.Op == ir.Div || v.Op == ir.Rem) && !positive(v.Args[1]) {
			return end{}
		}
		return end{"(" + x.text + signs[v.Op] + y.text + ")", x.below || y.below || v.Op == ir.Sub}
	}
	return end{}
}

// positive reports whether a value is a constant above 0.
func positive(v *ir.Value) bool {
	n, ok := v.Const.(int64)
	u, ok2 := v.Const.(uint64)
	return ok && n > 0 || ok2 && u > 0
}
