package cprint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/quirks"
)

// function prints the statements of one function.
type function struct {
	values
	homes facts.Homes
	jumps []*jump // the loops and switches around the statement
}

// function prints the variant of a function for kernels that wait at barriers, or the variant for other kernels. It adds the variant to the text, unless the
// other variant is there with the same text.
func (p *printer) function(of *ir.Function, waits bool) {
	v := values{printer: p, printed: &printed{}, Table: quirks.Of(of, waits, p.effects), f: of, names: map[any]string{}, taken: map[string]bool{}, pairs: map[*ir.Value][2]string{}, copied: map[copied]string{}, lines: lines{depth: 1}}
	f := &function{values: v, homes: facts.HomesOf(of)}
	p.now = 0
	f.c = f.free()
	other := p.functions[variant{of, !waits}]
	if other != nil {
		f.results = other.results
	} else {
		f.results = f.resultType()
	}
	params := f.params()
	if sized := f.sized(); sized != "" {
		params[len(params)-1] += sized
	}
	f.statements()
	if of.Prints != "" {
		f.prints()
	}
	if of.Kernel {
		f.checks = true // so that all kernels take the same arguments
	}
	list := strings.Join(params, ", ")
	switch {
	case f.checks && len(params) == 0:
		list = "GO_FAULTS_ALONE"
	case f.checks:
		list += " GO_FAULTS"
	case len(params) == 0:
		list = "void"
	}
	head := "FUNCTION " + f.results
	if of.Kernel {
		head = "KERNEL void"
	}
	f.body = fmt.Sprintf("(%s) {\n%s}\n", list, strings.Join(f.text, ""))
	made := f.printed
	if other != nil && other.body == made.body {
		made = other
	} else {
		p.needs[made.c] = p.now
		text := head + " " + made.c + made.body
		if joined := f.joined(); len(joined) > 0 {
			text = f.entries(joined, list) + strings.TrimPrefix(made.body, "("+list+") ")
		}
		p.code = append(p.code, part{text, p.now, p.lists[of]})
	}
	p.functions[variant{of, waits}] = made
}

// Entry returns the name of a kernel in C.
func Entry(kernel *ir.Function) string { return mangle("k_", kernel.Name) }

// Types numbers the lists of type arguments of a program's kernels, from 1. It returns the number of a kernel's list, and 0 for other functions.
func Types(p *ir.Program, kernel *ir.Function) int {
	var lists []string
	for _, f := range p.Functions {
		if f.Types != "" && !slices.Contains(lists, f.Types) {
			lists = append(lists, f.Types)
		}
	}
	return 1 + slices.Index(lists, kernel.Types)
}

// listsOf returns for which lists of types each function of a program is needed. It leaves out functions that are needed for all.
func listsOf(p *ir.Program) map[*ir.Function][]int {
	lists := map[*ir.Function][]int{}
	var all []int
	for _, f := range slices.Backward(p.Functions) { // callers first
		if f.Kernel {
			lists[f] = []int{Types(p, f)}
		}
		all = union(all, lists[f])
		f.Body.Visit(nil, func(v *ir.Value) {
			if v.Op == ir.Call {
				lists[v.Call] = union(lists[v.Call], lists[f])
			}
		})
	}
	maps.DeleteFunc(lists, func(_ *ir.Function, l []int) bool { return len(l) == len(all) })
	return lists
}

// union returns the numbers of two lists, in their order.
func union(a, b []int) []int {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// free returns the name of the function in C. If the name is taken, a number is added. Names of kernels are unique.
func (f *function) free() string {
	if f.f.Kernel {
		return Entry(f.f)
	}
	base := mangle("f_", f.f.Name)
	name := base
	for i := 1; ; i++ {
		if _, taken := f.needs[name]; !taken {
			return name
		}
		name = fmt.Sprintf("%s_%d", base, i)
	}
}

func (f *function) resultType() string {
	switch len(f.f.Results) {
	case 0:
		return "void"
	case 1:
		return f.keptAs(f.f.Results[0], f.narrow.Result(f.f))
	}
	return f.declare(&f.declared, "R_"+f.c, func() string {
		text := "typedef struct {"
		for i, t := range f.f.Results {
			text += fmt.Sprintf(" %s r%d;", f.typ(t), i)
		}
		return text + " } R_" + f.c + ";"
	})
}

// params returns the declarations of the parameters. A slice has its length beside it, and a matrix its rows and columns.
func (f *function) params() (all []string) {
	for _, m := range f.f.Params {
		name := m.Name
		if name == "" || name == "_" {
			name = fmt.Sprintf("_%d", m.Index)
		}
		c := f.name(m, name)
		if !m.Type.Memory() {
			if f.Own[m] {
				c = "GO_PASSED(" + c + ")"
			}
			all = append(all, f.keptAs(m.Type, !f.f.Kernel && f.narrow.Param(m))+" "+c)
			continue
		}
		space := ""
		switch m.Type.Space {
		case ir.Global:
			space = "GLOBAL "
		case ir.Shared:
			f.needLocal()
			space = "GO_LOCAL "
		}
		if !f.effects[f.f].Params[m.Index].Written {
			space = "const " + space
		}
		elem := f.typ(m.Type.Elem)
		switch m.Type.Kind {
		case ir.Slice:
			f.element(m.Type.Elem)
			all = append(all, fmt.Sprintf("%s%s *%s, i64 %[3]s_n", space, elem, c))
		case ir.Matrix:
			f.element(m.Type.Elem)
			all = append(all, fmt.Sprintf("%s%s *%s, i64 %[3]s_n, i64 %[3]s_m", space, elem, c))
		default:
			all = append(all, fmt.Sprintf("%s%s *%s", space, elem, c))
		}
	}
	return all
}

// sized returns the parameter of OpenCL for shared memory whose length is given at each launch, with the comma before it. It is "" if there is none.
func (f *function) sized() string {
	for _, l := range f.f.Locals {
		if l.Sized != nil {
			c := f.name(l, l.Name)
			f.names[l] = "(*" + c + ")"
			f.element(l.Type.Elem) // the launch counts bytes as Go does
			return fmt.Sprintf(" SHARED_PARAM(%s, %s)", f.typ(l.Type), c)
		}
	}
	return ""
}

// prints prints the statements of a function that prints its parameters, which are there with HALYARD_PRINT only.
func (f *function) prints() {
	at := slices.Index(f.printer.prints, f.f.Prints)
	if at < 0 {
		at = len(f.printer.prints)
		f.printer.prints = append(f.printer.prints, f.f.Prints)
	}
	f.checks = true
	f.line("#ifdef HALYARD_PRINT")
	f.line("GLOBAL u32 *v_line = go_print(%du GO_PASS);", at)
	for i, m := range f.f.Params {
		value := "(i64)" + f.names[m]
		switch m.Type.Kind {
		case ir.F32:
			value = "F32_BITS(" + f.names[m] + ")"
		case ir.F64:
			f.needBits()
			value = "GO_F64_BITS(" + f.names[m] + ")"
		}
		f.line("go_printed(v_line + %d, (u64)%s);", 7+2*i, value)
	}
	f.line("#endif")
}

// statements prints the statements.
func (f *function) statements() {
	for _, l := range f.f.Locals {
		switch {
		case l.Space == ir.Shared && l.Sized != nil: // sized declares it
			f.line("SHARED_VAR(%s, %s)", f.typ(l.Type), strings.Trim(f.names[l], "(*)"))
		case l.Space == ir.Shared:
			f.line("LOCAL %s %s;", f.typ(l.Type), f.name(l, l.Name))
		}
	}
	f.clearShared()
	for _, m := range f.f.Params {
		if f.Own[m] {
			f.line("GO_OWN(%s, %s)", f.typ(m.Type), f.names[m])
		}
		f.settle(m, m.Type, f.names[m])
	}
	if g := f.Whole; g != nil {
		f.list(g.Copies)
		f.line("if (GO_WHOLE(%s)) {", f.value(g.End).c)
		f.deeper(func() {
			f.statement(g.Index)
			f.list(g.Rest)
		})
		f.line("} else {")
		f.deeper(func() { f.list(f.f.Body.List[len(g.Copies):]) })
		f.line("}")
	} else {
		f.list(f.f.Body.List)
	}
	if f.Loops {
		f.line("GO_LOOPED")
	}
}
