package spirv

import (
	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// The last two layers print what belongs to a Go function.
type (
	// values prints values of Go.
	values struct {
		*numbers
		frame *frame // the frame of the innermost Go function that is printed
	}

	// function prints statements of Go.
	function struct {
		*values
		looped bool // a loop or a call has been printed
	}
)

// frame is a Go function that is printed, either as a function of the module or inlined.
type frame struct {
	f       *ir.Function
	values  []isa.ID   // the results of bound values, by the values' IDs
	tuples  [][]isa.ID // the same for calls with several results
	kept    []*place   // bound values that are also in a variable, because their elements are read by an index
	locals  []*place
	params  []param
	inlined bool       // it is printed at the call, and is not a function of the module
	around  *construct // of an inlined function: the construct that a return leaves; nil if only the last statement is a return
	at      []*place   // of an inlined function: variables in which a return stores the results
	results []isa.ID   // the results of an inlined function
}

// param is the argument of a parameter.
type param struct {
	value     isa.ID
	first     int    // the number of the kernel's argument, from 1; 0 if it is a parameter of another function
	place     *place // the memory that the argument refers to, or the variable that has its value
	rows, col int    // the numbers of the arguments that are the length of a slice, or the rows and columns of a matrix
}

func newFrame(f *ir.Function) *frame {
	n := f.NumValues()
	return &frame{f: f, values: make([]isa.ID, n), tuples: make([][]isa.ID, n), kept: make([]*place, n), locals: make([]*place, len(f.Locals))}
}

// keptParam returns a variable with the value of a parameter, if the parameter's elements are read by an index that is not constant. Otherwise it returns nil.
func (f *values) keptParam(p *ir.Param, value isa.ID) *place {
	if !f.stays(f.frame.f).params[p] {
		return nil
	}
	at := f.variable(p.Type)
	f.store(at, value)
	return at
}
