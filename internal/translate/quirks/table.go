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

// Guard is the condition with which a kernel excludes threads beyond the end. After copies of parameters, its first statements are i := Global(0), and if
// i >= End { return }, or all of the rest is if i < End { Rest }. End is a parameter, or the length of one.
type Guard struct {
	Copies []*ir.Stmt
	Index  *ir.Stmt
	End    *ir.Value
	Rest   []*ir.Stmt // for the other threads
}

// used says how often a local is used, and whether it is stored to.
type used struct {
	times  int
	stored bool
}
