package facts

import (
	"fmt"
	"go/token"
	"slices"
	"strconv"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Reach is what the threads of a kernel read and write of its slices. Its walk follows the kernel's statements as one thread does. Each integer is a sum of
// products of atoms: see [Sum] and [Atom]. An integer that the walk does not follow is an atom that can be anything.
type Reach struct {
	Atoms
	Kernel   *ir.Function
	Effects  *Effects
	Accesses []Access
	Lost     string // why nothing is known

	places map[string]*Atom // the one atom of each place and each argument
}

// Access is a use of elements.
type Access struct {
	Of                  *ir.Param
	Index               Sum
	Row                 Sum // of a matrix
	Read, Write, Atomic bool
	Part                bool // only a part of the element is written
	Merged              bool // it stands for two accesses, one in each branch of an if; each thread makes one of the two
	Known               []Known
	Path                []Step
	Pos                 token.Position
}

// Step is a condition of a path, or a loop.
type Step struct {
	ID    int
	Yes   bool
	Exact bool // [Access].Known expresses the condition completely, and each part of it limits a single atom
}

// Slices returns the parameters that are slices or matrices.
func (r *Reach) Slices() (all []*ir.Param) {
	for _, m := range r.Kernel.Params {
		if m.Type.Kind == ir.Slice || m.Type.Kind == ir.Matrix {
			all = append(all, m)
		}
	}
	return all
}

// Uses returns the accesses of a parameter: those that write if write is set, and otherwise those that read.
func (r *Reach) Uses(m *ir.Param, write bool) (found []Access) {
	if use := r.Effects.Params[m.Index]; write && !use.Written || !write && !use.Read {
		return nil
	}
	if r.Lost != "" {
		return []Access{{Of: m, Read: true, Write: true}}
	}
	for _, a := range r.Accesses {
		if a.Of == m && !a.Merged && (write && a.Write || !write && a.Read) {
			found = append(found, a)
		}
	}
	return found
}

// Place returns the atom of a thread's place along a dimension, or nil if the kernel does not use it.
func (r *Reach) Place(kind AtomKind, dim int) *Atom { return r.places[key(kind, dim)] }

func key(kind AtomKind, dim int) string { return fmt.Sprint("t", kind, dim) }

// Once returns a thread's place along a dimension as a sum. All calls return the same atom.
func (r *Reach) Once(kind AtomKind, dim int) Sum {
	return r.once(key(kind, dim), Atom{Kind: kind, Dim: dim, Low: true})
}

// once returns the sum that is the atom of a place or an argument, and creates the atom at the first call.
func (r *Reach) once(key string, a Atom) Sum {
	if r.places[key] == nil {
		r.places[key] = r.atom(a)
	}
	return r.places[key].Sum()
}

func (r *Reach) argument(wire int, name string, low bool) Sum {
	return r.once("v"+strconv.Itoa(wire), Atom{Kind: IsArgument, Wire: wire, Name: name, Low: low})
}

// Size returns the length, the rows or the columns of m. A launch passes them after m itself: which is 1 for the length or the rows, and 2 for the columns.
func (r *Reach) Size(m *ir.Param, which int) Sum { return r.argument(r.Wire(m)+which, "", true) }

// Wire returns the position of a parameter among the launch's arguments.
func (r *Reach) Wire(m *ir.Param) (wire int) {
	for _, before := range r.Kernel.Params[:m.Index] {
		wire += Wires(before.Type)
	}
	return wire
}

func (r *Reach) atom(a Atom) *Atom {
	a.ID = len(r.Atoms)
	a.Same = a.Kind == IsSize || a.Kind == IsBlocks || a.Kind == IsArgument || a.Kind == IsResult && a.Op != "Or" &&
		!slices.ContainsFunc(a.Args, func(p Sum) bool { return !r.Uniform(p) })
	r.Atoms = append(r.Atoms, &a)
	return &a
}

// numbered returns the range of a type of integers, if int64 can hold all of it.
func numbered(t *ir.Type) (all Range, ok bool) {
	switch {
	case t == nil || !t.Integer() || t.Kind == ir.U64 || t.Kind == ir.Uint:
		return Range{}, false
	case t.Signed():
		return Range{-1 << (t.Bits() - 1), 1<<(t.Bits()-1) - 1}, true
	}
	return Range{0, 1<<t.Bits() - 1}, true
}

// walk follows the statements of a kernel.
type walk struct {
	*Reach
	effects  map[*ir.Function]*Effects
	position func(token.Pos) token.Position

	frame *frame
	known []Known // conditions that hold for the thread at this point
	path  []Step  // the conditions under which a thread comes to this point
	steps int
	calls int
}

// frame is a function that is followed: the kernel, or one that it calls.
type frame struct {
	f       *ir.Function
	params  []val
	values  map[int]val // bound values, by their IDs
	locals  []val       // by index
	pointed map[*ir.Local]bool
	returns []returned
}

type returned struct {
	all   []val
	known []Known
}

func newFrame(f *ir.Function) *frame {
	return &frame{f: f, params: make([]val, len(f.Params)), values: map[int]val{}, locals: make([]val, len(f.Locals)), pointed: pointedAt(f)}
}

// pointedAt returns the locals whose addresses a function passes to other functions.
func pointedAt(f *ir.Function) map[*ir.Local]bool {
	all := map[*ir.Local]bool{}
	f.Body.Visit(nil, func(v *ir.Value) {
		if v.Op == ir.Address && v.Place.Local != nil {
			all[v.Place.Local] = true
		}
	})
	return all
}

// val is what is known of a value or a local. If no field is set, nothing is known.
type val struct {
	n    Sum // an integer
	cond *condition
	of   *ir.Param // a slice or a matrix of the kernel
	set  bool      // of a local: it has been stored to
}

// condition is what is known of a bool. The operation is Both, Either, Not or a comparison, or it is Const for a bool that is not followed.
type condition struct {
	op   ir.Op
	a, b *condition
	x, y Sum
}

func (w *walk) unknown(t *ir.Type) val {
	all, ok := numbered(t)
	if !ok {
		return val{}
	}
	return val{n: w.atom(Atom{Kind: IsUnknown, Type: all, Low: all.Least == 0}).Sum()}
}
