// Package interp runs kernels as Go does. It defines the meaning of package ir, and tests compare translations with it.
//
// The threads of a block run one after the other, in the order of their places. At a barrier the next thread runs, so a run has the same result each time. An
// int has 64 bits. Go leaves two things to the processor: the conversion of a float that the integer cannot hold, and the bits of a NaN. Here they are as on
// the processor that runs the interpreter.
package interp

import (
	"fmt"
	"go/token"
	"iter"
	"path/filepath"
	"reflect"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Grid is how many threads a block has, and how many blocks there are, along each dimension.
type Grid struct{ Size, Blocks [3]int }

// Rows is the argument for a matrix: a slice whose elements are in rows of Cols.
type Rows struct {
	Elements any
	Cols     int
}

// Fault is the error of a thread that panicked.
type Fault struct {
	Text string // what Go says
	Pos  token.Position
}

func (f *Fault) Error() string {
	return fmt.Sprintf("%s (%s:%d)", f.Text, filepath.Base(f.Pos.Filename), f.Pos.Line)
}

// Trace is called for each let of a kernel, with the thread's block, its place in the block, and the bits of a number or bool.
type Trace func(block, local [3]int, v *ir.Value, bits uint64)

// Words says which integers of 64 bits a run keeps in 32 bits: facts.Narrow does. If such an integer is not exact, its
// higher bits are unspecified.
type Words interface {
	Value(*ir.Value) bool
	Exact(*ir.Value) bool
	Counter(*ir.Count) bool
}

// Run runs a kernel. An argument is a Go value, a slice, or a [Rows]; what the kernel wrote is in the slices when Run returns.
func Run(p *ir.Program, kernel *ir.Function, g Grid, args ...any) error {
	return Traced(p, kernel, g, nil, nil, args...)
}

// Traced is Run. It calls trace, and keeps integers in 32 bits as words says. Both may be nil.
func Traced(p *ir.Program, kernel *ir.Function, g Grid, trace Trace, words Words, args ...any) (err error) {
	if len(args) != len(kernel.Params) {
		return fmt.Errorf("%d arguments for the %d parameters of %s", len(args), len(kernel.Params), kernel.Name)
	}
	bound := make([]binding, len(args))
	for i, a := range args {
		rows, isMatrix := a.(Rows)
		if isMatrix {
			a = rows.Elements
		}
		v := reflect.ValueOf(a)
		d := fromGo(v)
		if !kernel.Params[i].Type.Memory() {
			bound[i].value = d
			continue
		}
		bound[i] = binding{at: &d, rows: v.Len()}
		if isMatrix {
			bound[i].rows, bound[i].cols = v.Len()/rows.Cols, rows.Cols
		}
		defer func() { toGo(d, v) }()
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Fault:
			err = r
		default:
			panic(r)
		}
	}()
	m := &machine{program: p, kernel: kernel, grid: g, args: bound, tables: map[*ir.Table]data{}, trace: trace, words: words}
	together := waits(kernel)
	for z := range g.Blocks[2] {
		for y := range g.Blocks[1] {
			for x := range g.Blocks[0] {
				m.block, m.shared = [3]int{x, y, z}, map[*ir.Local]*data{}
				if together {
					m.together()
				} else {
					for t := range m.threads() {
						t.call(kernel, bound)
					}
				}
			}
		}
	}
	return nil
}

// waits reports whether a function, or one that it calls, has barriers.
func waits(f *ir.Function) (found bool) {
	f.Body.Visit(func(s *ir.Stmt) { found = found || s.Do == ir.Barrier }, func(v *ir.Value) { found = found || v.Op == ir.Call && waits(v.Call) })
	return found
}

// machine runs the blocks of a grid.
type machine struct {
	program *ir.Program
	kernel  *ir.Function
	grid    Grid
	args    []binding
	block   [3]int
	shared  map[*ir.Local]*data // the memory of the block
	tables  map[*ir.Table]data
	trace   Trace
	words   Words
}

// threads returns the threads of a block, in their order.
func (m *machine) threads() iter.Seq[*thread] {
	return func(yield func(*thread) bool) {
		for z := range m.grid.Size[2] {
			for y := range m.grid.Size[1] {
				for x := range m.grid.Size[0] {
					if !yield(&thread{machine: m, local: [3]int{x, y, z}}) {
						return
					}
				}
			}
		}
	}
}

// ended is the panic of a thread whose block has failed.
type ended struct{}

// together runs a block whose threads wait for each other.
func (m *machine) together() {
	var nexts []func() (*ir.Stmt, bool)
	for t := range m.threads() {
		next, stop := iter.Pull(func(yield func(*ir.Stmt) bool) {
			defer func() {
				if r := recover(); r != nil && r != (ended{}) {
					panic(r)
				}
			}()
			t.wait = func(s *ir.Stmt) {
				if !yield(s) {
					panic(ended{})
				}
			}
			t.call(m.kernel, m.args)
		})
		defer stop()
		nexts = append(nexts, next)
	}
	for running := true; running; {
		var at *ir.Stmt // where the first thread waits
		for i, next := range nexts {
			s, waits := next()
			if i == 0 {
				at, running = s, waits
			}
			if s != at {
				if s == nil {
					s = at
				}
				m.fail(s.Pos, "a thread does not come to the barrier at which others of its block wait")
			}
		}
	}
}

func (m *machine) fail(pos token.Pos, format string, args ...any) {
	f := &Fault{Text: fmt.Sprintf(format, args...)}
	if m.program.Position != nil {
		f.Pos = m.program.Position(pos)
	}
	panic(f)
}

// binding is the argument of a parameter.
type binding struct {
	value      data
	at         *data // what a pointer points to; the elements of a slice or matrix
	rows, cols int   // rows is also the length of a slice
}

// thread is one thread of the grid.
type thread struct {
	*machine
	local [3]int
	frame *frame
	wait  func(*ir.Stmt)
}

// frame is one call of a function.
type frame struct {
	caller  *frame
	args    []binding
	locals  []data
	values  []data // of values that are bound
	results []data
}

// call runs a function, and returns its results.
func (t *thread) call(f *ir.Function, args []binding) []data {
	t.frame = &frame{caller: t.frame, args: args, locals: make([]data, len(f.Locals)), values: make([]data, f.NumValues())}
	for i, l := range f.Locals {
		switch {
		case l.Space == ir.Private:
			t.frame.locals[i] = zero(l.Type)
		case l.Space == ir.Constant:
			t.frame.locals[i] = t.table(l.Table)
		case t.shared[l] == nil:
			typ := *l.Type
			if l.Sized != nil {
				typ.Len = int64(args[l.Sized.Index].value.bits)
			}
			d := zero(&typ)
			t.shared[l] = &d
		}
	}
	t.region(f.Body)
	results := t.frame.results
	t.frame = t.frame.caller
	return results
}

// table returns the value of a table. Nothing changes it, so all threads have the same one.
func (m *machine) table(of *ir.Table) data {
	d, ok := m.tables[of]
	if !ok {
		d, _ = filled(of.Type, of.Parts)
		m.tables[of] = d
	}
	return d
}

// region runs statements. If one leaves the region, region returns it.
func (t *thread) region(r *ir.Region) *ir.Stmt {
	if r == nil {
		return nil
	}
	for _, s := range r.List {
		if out := t.statement(s); out != nil {
			return out
		}
	}
	return nil
}

func (t *thread) statement(s *ir.Stmt) *ir.Stmt {
	switch s.Do {
	case ir.Let:
		v := t.compute(s.Value)
		t.frame.values[s.Value.ID] = v
		if t.trace != nil && t.frame.caller == nil {
			t.trace(t.block, t.local, s.Value, v.bits)
		}
	case ir.Store:
		indexes := t.indexes(s.Place)
		v := t.eval(s.Value).copied()
		*t.at(s.Place, indexes) = v
	case ir.If:
		if t.eval(s.Value).bits != 0 {
			return t.region(s.Then)
		}
		return t.region(s.Else)
	case ir.Loop:
		if s.Count != nil {
			return t.count(s)
		}
		return t.loop(s)
	case ir.Switch:
		return t.choose(s)
	case ir.Barrier:
		t.wait(s)
	case ir.Return:
		for _, v := range s.Values {
			t.frame.results = append(t.frame.results, t.eval(v).copied())
		}
		return s
	default: // break and continue
		return s
	}
	return nil
}

func (t *thread) loop(s *ir.Stmt) *ir.Stmt {
	for {
		t.region(s.Head)
		if s.Value != nil && t.eval(s.Value).bits == 0 {
			return nil
		}
		if out := t.region(s.Then); out != nil && out.Target != s {
			return out
		} else if out != nil && out.Do == ir.Break {
			return nil
		}
		t.region(s.Step)
	}
}

func (t *thread) count(s *ir.Stmt) *ir.Stmt {
	c := s.Count
	i, end := t.eval(c.From), t.eval(c.End)
	for compare(c.Op, c.Index.Type, i, end) {
		t.frame.values[c.Index.ID] = i
		if out := t.region(s.Then); out != nil && out.Target != s {
			return out
		} else if out != nil && out.Do == ir.Break {
			return nil
		}
		i.bits = wrap(c.Index.Type.Kind, i.bits+uint64(c.By))
		if t.words != nil && t.words.Counter(c) {
			i.bits = wrap(ir.I32, i.bits)
		}
	}
	return nil
}

func (t *thread) choose(s *ir.Stmt) *ir.Stmt {
	which := -1
	for i, c := range s.Clauses {
		if len(c.Tests) == 0 {
			which = i
		}
	}
tests:
	for i, c := range s.Clauses {
		for _, test := range c.Tests {
			t.region(test.Head)
			if t.eval(test.Cond).bits != 0 {
				which = i
				break tests
			}
		}
	}
	for ; which >= 0 && which < len(s.Clauses); which++ {
		c := s.Clauses[which]
		if out := t.region(c.Body); out != nil && out.Target == s {
			return nil
		} else if out != nil || !c.Falls {
			return out
		}
	}
	return nil
}
