// Package quirks decides where the text of a kernel avoids faults of compilers.
//
// It reads the representation of package ir before anything is printed, and changes nothing in it: [Of] returns a table that says where a printer writes
// another form. What each form is for which compiler stands in kernel/prelude, where all forms are macros that do nothing for the other compilers.
//
// The rules look at places, regions and facts only. Each has its reason beside it:
//
//   - memory.go: PoCL reads again what was read before a barrier, and moves a store past other uses of the element; Rusticl takes no element of an
//     argument by a thread's index.
//   - loops.go: PoCL keeps threads together in loops that some of them leave; Intel's compiler takes rounds of a loop for independent; Mesa's drivers end
//     loops after some number of rounds; compilers for processors compute several threads at once only without conditions.
//   - counted.go: PoCL leaves small arrays in memory if it does not unroll loops over them; NVIDIA's compiler counts rounds only if sums do not wrap around.
//   - numbers.go: forms of numbers that Intel's compiler and Mesa's get wrong.
//
// A new quirk is a field of [Table], a rule with its reason in one of these files, a macro in kernel/prelude, and a test that shows the fault on the driver
// that has it, so that the rule can go when the driver is mended.
package quirks

import (
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Table says where a function's text avoids faults.
type Table struct {
	Waits   bool // the kernels that run the function have barriers or shared memory: negations of floats have a form of their own
	Again   map[*ir.Value]bool
	Stored  map[*ir.Stmt]bool   // stores that are made at once
	Settled map[any]bool        // locals, parameters and values whose first value is stored once more, at once
	Own     map[*ir.Param]bool  // arguments of a kernel that it copies first
	Apart   map[*ir.Stmt]string // the macros for loops that each thread runs by itself
	Ordered map[*ir.Stmt]bool   // loops whose rounds run one after the other
	Unroll  map[*ir.Stmt]int    // rounds of loops that are written out
	Steady  map[*ir.Stmt]bool   // loops whose step never wraps around
	Looped  map[*ir.Stmt]bool   // returns of a kernel before which it asks whether the device still runs loops
	Loops   bool                // the kernel asks that at its end
	Whole   *Guard              // nil if the kernel is written once
}

// pass computes the table of one function.
type pass struct {
	*Table
	f       *ir.Function
	effects map[*ir.Function]*facts.Effects
	inLoops map[*ir.Value]bool // bound values that are computed in a loop
	varies  *facts.Variance    // made when it is needed
	uses    map[*ir.Local]used // of the body, made when it is needed
}

// Runs says which kernels run a function: some without barriers, some with barriers or shared memory.
type Runs struct{ Freely, Waiting bool }

// RunsOf returns what runs each function of a program.
func RunsOf(p *ir.Program, effects map[*ir.Function]*facts.Effects) map[*ir.Function]Runs {
	runs := map[*ir.Function]Runs{}
	for i := len(p.Functions) - 1; i >= 0; i-- { // callers first
		f := p.Functions[i]
		if f.Kernel {
			waits := effects[f].Barriers || effects[f].Shared
			runs[f] = Runs{!waits, waits}
		}
		f.Body.Visit(nil, func(v *ir.Value) {
			if v.Op == ir.Call {
				runs[v.Call] = Runs{runs[v.Call].Freely || runs[f].Freely, runs[v.Call].Waiting || runs[f].Waiting}
			}
		})
	}
	return runs
}

// Of returns the table of a function, for kernels that wait at barriers or for others.
func Of(f *ir.Function, waits bool, effects map[*ir.Function]*facts.Effects) *Table {
	q := &pass{f: f, effects: effects, inLoops: map[*ir.Value]bool{}, Table: &Table{Waits: waits, Again: map[*ir.Value]bool{}, Stored: map[*ir.Stmt]bool{},
		Settled: map[any]bool{}, Own: map[*ir.Param]bool{}, Apart: map[*ir.Stmt]string{}, Ordered: map[*ir.Stmt]bool{},
		Unroll: map[*ir.Stmt]int{}, Steady: map[*ir.Stmt]bool{}, Looped: map[*ir.Stmt]bool{}}}
	q.memory()
	q.loops()
	if f.Kernel {
		q.Whole = guardOf(f, effects[f])
	}
	return q.Table
}

// hasLoops reports whether a function has loops, or calls one that has.
func hasLoops(f *ir.Function) (has bool) {
	f.Body.Visit(func(s *ir.Stmt) { has = has || s.Do == ir.Loop }, func(v *ir.Value) { has = has || v.Op == ir.Call && hasLoops(v.Call) })
	return has
}
