package facts

import "github.com/go-halyard/halyard/internal/translate/ir"

// need says why a value cannot be computed once for all threads of a block, at any place in the text. A value without needs can.
type need uint8

const (
	place need = 1 << iota // it depends on the thread's place: each thread can compute it anywhere
	stop                   // it may panic, reads memory, or is rounded: it can be computed once, but only where the threads would compute it
	own                    // it depends on other values of its thread
)

// once reports whether a value is the same for all threads of a block where all of them compute it.
func (d *divider) once(v *ir.Value) bool { return d.needs(v)&^stop == 0 }

// needs returns the needs of a value where it is used.
func (d *divider) needs(v *ir.Value) need {
	if w := d.named[v]; w != nil {
		switch d.class(w) {
		case Same:
			return 0
		case Again:
			return place
		}
		return own
	}
	return d.computed(v)
}

// class returns the class of a variable.
func (d *divider) class(v *ir.Var) Class {
	if c, ok := d.classes[v.Pos]; ok {
		return c
	}
	c := d.classify(v)
	if most, ok := d.most[v.Pos]; ok {
		c = min(c, most)
	}
	d.classes[v.Pos], d.most[v.Pos] = c, c
	return c
}

func (d *divider) classify(v *ir.Var) Class {
	if v.Local != nil {
		if v.Local.Space == ir.Shared {
			return Same
		}
		return Own
	}
	if v.Param != nil {
		return Same
	}
	text, apart := d.source.Value(v.Pos)
	if !apart {
		return Own
	}
	n := d.names(text)
	values, decides := v.Part, false
	if v.Value != nil {
		values = append(values, v.Value)
	}
	if v.Of != nil {
		values = append(values, v.Of.Indexes()...)
		if v.Of.Space() == ir.Private || d.returns.IsValid() && d.returns < v.Pos { // it could panic for a thread that has returned
			n |= own
		}
	}
	for _, x := range values {
		decides = decides || d.heads[x]
		if d.named[x] == v {
			n |= d.computed(x)
		} else {
			n |= d.needs(x)
		}
	}
	switch {
	case n == 0 || n == stop && (decides || v.Value != nil && v.Value.Op == ir.Load && v.Value.Place.Local != nil && v.Value.Place.Local.Block):
		return Same
	case n == place:
		return Again
	}
	return Own
}

// names returns the needs of the variables that a Go expression names.
func (d *divider) names(text any) (n need) {
	if text == nil {
		return 0
	}
	for _, at := range d.source.Names(text) {
		if v := d.vars[at]; v != nil {
			n |= [...]need{Own: own, Again: place, Same: 0}[d.class(v)]
		}
	}
	return n
}

// computed returns the needs of a value where it is computed.
func (d *divider) computed(v *ir.Value) (n need) {
	for _, a := range v.Operands() {
		n |= d.needs(a)
	}
	switch v.Op {
	case ir.Const, ir.Argument, ir.Len, ir.Rows, ir.Cols, ir.BlockOf, ir.Threads, ir.AllBlocks, ir.UpTo, ir.Min, ir.Max, ir.Both, ir.Either:
	case ir.InGrid, ir.InBlock:
		n |= place
	case ir.Counter:
		if !d.counts[v] {
			n |= own
		}
	case ir.Go, ir.Composite, ir.Within, ir.Round, ir.Real, ir.Imag, ir.Complex:
		n |= stop
	case ir.Extract:
		if len(v.Args) > 1 {
			n |= stop
		}
	case ir.Div, ir.Rem:
		if by := v.Args[1]; by.Op != ir.Threads && by.Op != ir.AllBlocks && !positive(by) {
			n |= stop
		}
	case ir.Shl, ir.Shr:
		if v.Args[1].Op != ir.Const {
			n |= stop
		}
	case ir.Load:
		n |= d.reads(v.Place)
	case ir.Call:
		n |= d.called(v)
	default:
		if v.Op < ir.Neg || v.Op > ir.Ge {
			return own
		}
	}
	if v.Op >= ir.Neg && v.Op <= ir.UpTo && (rounded(v.Type) || rounded(v.Args[0].Type)) {
		n |= stop // another function may round it differently
	}
	return n
}

func rounded(t *ir.Type) bool { return t.Float() || t.Complex() }

// positive reports whether a value is a constant above 0.
func positive(v *ir.Value) bool {
	n, ok := Constant(v)
	return ok && n > 0
}

// reads returns the needs of reading a place, apart from its indexes.
func (d *divider) reads(p *ir.Place) need {
	switch {
	case p.Space() == ir.Constant, p.Local != nil && p.Local.Block, p.Param != nil && !p.Param.Out && !d.effects[d.f].Params[p.Param.Index].Written:
		return stop
	case d.results[p.Local], p.Local != nil && d.locals[p.Local] != nil && p.Local.Space == ir.Private && d.class(d.locals[p.Local]) == Same:
		if len(p.Indexes()) > 0 {
			return stop
		}
		return 0
	}
	return own
}

// called returns the needs of a call, apart from those of its arguments.
func (d *divider) called(v *ir.Value) need {
	e := d.effects[v.Call]
	for i, a := range v.Args {
		switch {
		case e.Params[i].Written:
			return own
		case a.Op == ir.Address && d.reads(a.Place) == own, a.Op == ir.Argument && a.Type.Memory() && d.reads(a.Param.At()) == own:
			return own
		}
	}
	if e.Barriers || v.Type == nil || v.Type.Kind == ir.Tuple {
		return own
	}
	return stop
}
