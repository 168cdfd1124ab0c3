package quirks

import (
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Table says where the C text of a function needs a form that avoids a compiler's fault.
type Table struct {
	Waits   bool                // the kernels that run the function have barriers or shared memory: negations of floats have a form of their own
	Again   map[*ir.Value]bool  // reads that are volatile
	Stored  map[*ir.Stmt]bool   // stores that are volatile
	Settled map[any]bool        // of locals, parameters and values: the first value is stored a second time, by a volatile store
	Own     map[*ir.Param]bool  // arguments that a kernel copies first
	Apart   map[*ir.Stmt]string // the macros for loops that each thread runs by itself
	Ordered map[*ir.Stmt]bool   // loops whose rounds run one after the other
	Unroll  map[*ir.Stmt]int    // of loops that the compiler is told to unroll: the number of rounds
	Steady  map[*ir.Stmt]bool   // loops whose step never wraps around
	Looped  map[*ir.Stmt]bool   // returns of a kernel that check first whether the device still runs loops
	Loops   bool                // the kernel checks that at its end
	Whole   *Guard              // if not nil, the kernel is printed twice
}

// pass computes the table of one function.
type pass struct {
	*Table
	f       *ir.Function
	effects map[*ir.Function]*facts.Effects
	inLoops map[*ir.Value]bool // bound values that may differ between the rounds of a loop
	varies  *facts.Variance    // made when it is needed
	uses    map[*ir.Local]used // uses of each local in the body, made when it is needed
}

// Guard is the condition with which a kernel excludes threads beyond an end. The kernel has one of two forms, after copies of parameters: i := t.Global(0);
// if i >= End { return }; Rest, or i := t.Global(0); if i < End { Rest }. End is a parameter, or the length of one.
type Guard struct {
	Copies []*ir.Stmt
	Index  *ir.Stmt
	End    *ir.Value
	Rest   []*ir.Stmt // the statements for threads below End
}

// used says how often a local is used, and whether it is stored to.
type used struct {
	times  int
	stored bool
}
