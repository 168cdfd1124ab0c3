package quirks

import (
	"github.com/go-halyard/halyard/internal/translate/edges"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Table says where the C text of a function needs a form that avoids a compiler's fault.
type Table struct {
	Waits   bool                // the kernels that run the function have barriers or shared memory; then negations of floats have a special form
	Again   map[*ir.Value]bool  // reads that are volatile
	Stored  map[*ir.Stmt]bool   // stores that are volatile
	Settled map[any]bool        // locals, parameters and values whose first value is stored a second time, by a volatile store
	Own     map[*ir.Param]bool  // arguments that a kernel copies first
	Apart   map[*ir.Stmt]string // the macros for loops that each thread runs by itself
	Ordered map[*ir.Stmt]bool   // loops whose rounds run one after the other
	Unroll  map[*ir.Stmt]int    // the number of rounds of loops that the compiler is told to unroll
	Steady  map[*ir.Stmt]bool   // loops whose step never wraps around
	Looped  map[*ir.Stmt]bool   // returns of a kernel that first check whether the device still runs loops
	Loops   bool                // the kernel makes this check at its end
	Whole   *Guard              // if not nil, the kernel is printed twice
}

// pass computes the table of one function.
type pass struct {
	*Table
	f       *ir.Function
	effects map[*ir.Function]*facts.Effects
	inLoops map[*ir.Value]bool // bound values that may differ between the rounds of a loop
	varies  *facts.Variance    // made when it is needed
	row     *edges.Row         // made when it is needed, with limits
	limits  []edges.Limit
	uses    map[*ir.Local]used // uses of each local in the body, made when it is needed
	inner   map[*ir.Stmt]bool  // statements inside loops, made with uses
}

// Guard is the condition with which a kernel excludes threads beyond an end. After copies of parameters, the kernel has one of two forms: "i := t.Global(0); if
// i >= End { return }; Rest" or "i := t.Global(0); if i < End { Rest }". End is a parameter, or the length of a parameter.
type Guard struct {
	Copies []*ir.Stmt
	Index  *ir.Stmt
	End    *ir.Value
	Rest   []*ir.Stmt // the statements for threads below End
}

// used says how often a local is read, which statements store to it, and whether its address is passed or an atomic operation changes it.
type used struct {
	reads  int
	stores []*ir.Stmt
	passed bool
}
