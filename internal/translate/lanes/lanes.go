// Package lanes writes a kernel in Go as a function that runs threads as vectors, with Go's package simd.
//
// A kernel without barriers gets a second function for the host, in a file that only Go 1.27 with GOEXPERIMENT=simd builds. It runs the threads at the front
// of a row as vectors, one thread in each lane, and returns the rest of the row, which the row's loop then runs one by one. A value that is the same for the
// whole row stays a scalar. An index must be the thread's place plus a number that is the same for the row, so that neighbouring lanes use neighbouring
// elements. The last vector of a row may run some threads a second time, if no thread loads what is stored. If threads take different branches, the function
// runs all branches, each with a mask of the lanes that take it.
//
// The result is the same, bit for bit, as that of the row's loop. In the loop a thread stores before the next thread loads. In a vector all threads load
// before any of them stores. So the function first tests whether one lane stores an element that another lane uses, and leaves such a row to the loop.
// It also leaves rows to the loop in which a thread could panic. All these tests are made before the first store.
//
// Stores to elements of arrays, at indexes that differ between threads, are made thread by thread. If one of them panics, the panic may be that of another
// thread than in the loop.
//
// A kernel with something that does not become vector code has no such function.
//
//   - value.go has the three kinds of values: the same for all threads of the row, a number that grows from lane to lane, or a vector. lines.go has the lines
//     of the text. row.go has what package edges knows of the threads of a row.
//   - expression.go writes values. memory.go writes elements of slices, and array.go elements of arrays that are elements of slices.
//   - statement.go writes statements, with the lanes for which they run, and the functions that are called. loop.go writes loops. island.go writes the
//     statements that run thread by thread.
//   - frame.go writes the function around these lines.
package lanes

import (
	"fmt"
	"go/token"
	"maps"
	"slices"

	"github.com/go-halyard/halyard/internal/translate/edges"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Kernel is a kernel without barriers, or a part of a kernel that has barriers.
type Kernel struct {
	Function *ir.Function
	Pos      token.Pos
	Params   []Param // the parameters of the function that is written, in the order of those of the kernel
	Loop     string  // the function that runs the threads of a row one by one
	Part     *Part   // not nil for a part
	Always   bool    // it has vectors even if these do not pay
	File     File
}

// Param is a parameter in Go.
type Param struct {
	Name, Type string
	Element    string // the type of an element
	Named      bool   // the parameter, or its innermost element, has a type that is declared, such as type Meters float32
}

// Part is a phase of a kernel with barriers, or a round that threads take together.
type Part struct {
	Private []string // parameters whose memory no other parameter shares
	Round   string   // the parameter with the loop counter of the first thread in this round; "" for a phase
}

// File is the generated file.
type File struct {
	Names    func() (hook, name string) // the variable through which the function is called, and the function
	Taken    func(name string) bool     // reports whether something else has the name
	At       func(token.Pos) token.Position
	Own      func(token.Pos) bool // reports whether the position is in the package's files
	BackHere string               // a line after which lines have the numbers of the generated file
}

// Vectors is the function for a kernel.
type Vectors struct {
	Hook    string // the variable through which it is called
	Type    string // the type of that variable
	Name    string
	Imports map[string]string
	Text    string
	Fused   bool // on processors where Go fuses x*y + z, the row's loop has other results
}

// Imports are names of imports of the file with vector code.
var Imports = []string{"simd", "lanes", "math"}

// Refusal is the reason why a kernel has no function.
type Refusal struct {
	Pos  token.Pos
	Text string
}

// refuse ends an attempt, because something does not become vector code.
func refuse(pos token.Pos, format string, args ...any) {
	panic(Refusal{pos, fmt.Sprintf(format, args...)})
}

// tryAgain is the value of a panic that ends an attempt early.
type tryAgain struct{}

// key identifies a local, or a loop or function that some lanes leave before others.
type key struct {
	path string // the calls around it, as a function is written once for each call
	of   any
	what string
}

func (k key) part(what string) key { return key{k.path, k.of, what} }

// writer writes the function of one kernel. It must know which variables differ between lanes, and how wide lanes are. Both depend on the masks under which
// variables are assigned, and so on the text itself. So the function is written several times: an attempt that finds one more such variable is repeated with
// that knowledge (learned).
type writer struct {
	values
	homes  facts.Homes
	callee *ir.Function // the function that is written in place of a call
	depth  []string     // ifs and loops around, in which fewer lanes run; the other lanes must not see what is assigned there when they run again
	scope  *leaving
	last   bool // the statement is the last of a function
	label  string
}

// Write returns the function for a kernel, or the reason why it has none.
func Write(k Kernel) (*Vectors, *Refusal) {
	l := &learned{bits: 32, differs: map[key]bool{}, whole64: map[key]bool{}}
	for range 64 { // each attempt knows more than the one before; most kernels need a few
		v, why := attempt(k, l)
		if why != nil {
			return nil, why
		}
		if v != nil {
			return v, nil
		}
	}
	return nil, &Refusal{k.Pos, "this kernel has too many variables that differ between threads"}
}

func effectsOf(f *ir.Function, of map[*ir.Function]*facts.Effects) *facts.Effects {
	f.Body.Visit(nil, func(v *ir.Value) {
		if v.Op == ir.Call && of[v.Call] == nil {
			effectsOf(v.Call, of)
		}
	})
	of[f] = facts.EffectsOf(f, of)
	return of[f]
}

// fuses reports whether a function has a product of floats that Go may fuse with a sum. A product that is converted, multiplied, divided or compared is not
// an operand of a sum.
func fuses(f *ir.Function) (found bool) {
	rounded := map[*ir.Value]bool{}
	f.Body.Visit(nil, func(v *ir.Value) {
		if v.Op == ir.Round || v.Op == ir.Convert || v.Op == ir.Mul || v.Op == ir.Div || v.Op.Compares() {
			for _, a := range v.Args {
				rounded[a] = true
			}
		}
	})
	f.Body.Visit(nil, func(v *ir.Value) {
		found = found || v.Op == ir.Mul && v.Type.Float() && (!rounded[v] || v.Bound)
	})
	return found
}

// attempt writes the function. It returns nil if it has learnt something that the next attempt needs.
func attempt(k Kernel, l *learned) (v *Vectors, why *Refusal) {
	w := begin(k, l)
	defer func() {
		switch found := recover().(type) {
		case nil:
		case Refusal:
			if v, why = nil, &found; w.foreign.IsValid() {
				why.Pos = w.foreign
			}
			if l.again {
				why = nil
			}
		case tryAgain:
			v, why = nil, nil
		default:
			panic(found)
		}
	}()
	w.scope = &leaving{key: key{of: "kernel"}}
	w.leavable(w.scope)
	w.block(w.Function.Body)
	if l.again {
		return nil, nil
	}
	w.own()
	if w.costs > w.gains && !w.Always {
		refuse(w.costsAt, "the kernel computes so little with elements that are apart that loading and storing them would take longer than vectors save")
	}
	if !slices.ContainsFunc(w.views, func(v view) bool { return v.stored }) && len(w.storedApart()) == 0 {
		refuse(w.Pos, "this kernel stores nothing at its threads' places")
	}
	return (&frame{writer: w}).function(), nil
}

// begin starts an attempt.
func begin(k Kernel, l *learned) *writer {
	l.again = false
	text := lineWriter{File: k.File, names: map[string]bool{}, frozen: map[string]bool{}, named: map[string]string{}, pos: k.Pos}
	row := rowFacts{vectorTypes: vectorTypes{lineWriter: text, learned: l}, Kernel: &k, long: isLong(k.Function.Body), given: map[*ir.Param]*ir.Param{}}
	w := &writer{homes: facts.HomesOf(k.Function), values: values{
		memory: memory{rowFacts: row, effects: effectsOf(k.Function, map[*ir.Function]*facts.Effects{}), spans: map[string]string{}, times: 1},
		fused:  fuses(k.Function), imports: map[string]string{}, bound: map[*ir.Value]value{}, results: map[*ir.Value][]value{}, arrays: map[*ir.Value]*columns{},
		passed: map[*ir.Param]value{}, vars: map[*ir.Local]*variable{}, below: map[any]string{},
	}}
	for _, p := range k.Params {
		w.names[p.Name] = true
		w.frozen[p.Name] = !p.Named
	}
	w.row, w.from, w.to, w.at = w.fresh("r"), w.fresh("from"), w.fresh("to"), w.fresh("at")
	w.x, w.xs, w.label = w.fresh("x"), w.fresh("xs"), w.fresh("vectors")
	w.frozen[w.x] = true
	w.shared = edges.New(edges.Names{Place: ir.InGrid, Name: w.rowName, Clamped: w.clamped})
	limits, truths := w.shared.Limits(k.Function.Body)
	w.limits, w.truths = limits, maps.Clone(truths)
	return w
}
