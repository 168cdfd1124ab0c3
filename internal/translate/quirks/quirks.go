package quirks

import (
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Of returns the table of a function for kernels that wait at barriers, if waits is set, or for other kernels.
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

// Runs says which kernels run a function: some without barriers, some with barriers or shared memory.
type Runs struct{ Freely, Waiting bool }

// RunsOf returns which kernels run each function of a program.
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
