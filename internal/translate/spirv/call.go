package spirv

import (
	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// call prints a call, and returns its results.
func (f *function) call(v *ir.Value) []isa.ID {
	f.looped = true
	for _, p := range v.Call.Params {
		if p.Type.Memory() {
			return f.writtenOut(v)
		}
	}
	return f.results(v.Call, f.want(v.Call, f.driver), f.passed(v))
}

// passed prints the arguments of a call.
func (f *function) passed(v *ir.Value) (all []isa.ID) {
	for i, a := range v.Args {
		all = append(all, f.as(a, f.narrow.Param(v.Call.Params[i])))
	}
	return all
}

// writtenOut inlines a function: it prints the function's statements at the call.
func (f *function) writtenOut(v *ir.Value) []isa.ID {
	g := v.Call
	in := newFrame(g)
	in.inlined = true
	for i, a := range v.Args {
		switch {
		case a.Op == ir.Address:
			in.params = append(in.params, param{place: f.at(a.Place, f.indexes(a.Place))})
		case a.Type.Memory():
			in.params = append(in.params, f.frame.params[a.Param.Index])
		default:
			in.params = append(in.params, param{value: f.as(a, f.narrow.Param(g.Params[i]))})
		}
	}
	from := f.frame
	f.frame = in
	defer func() { f.frame = from }()
	for i, p := range g.Params {
		if !p.Type.Memory() {
			in.params[i].place = f.keptParam(p, in.params[i].value)
		}
	}
	returns := 0
	g.Body.Visit(func(s *ir.Stmt) {
		if s.Do == ir.Return {
			returns++
		}
	}, nil)
	last := len(g.Body.List) - 1
	if returns == 0 || returns == 1 && g.Body.List[last].Do == ir.Return {
		f.region(g.Body)
		return in.results
	}
	for _, t := range g.Results {
		if f.narrow.Result(g) {
			t = ir.Basic(ir.I32)
		}
		in.at = append(in.at, f.variable(t))
	}
	in.around = &construct{}
	f.within(in.around, func() { f.region(g.Body) })
	for _, at := range in.at {
		in.results = append(in.results, f.load(at))
	}
	return in.results
}
