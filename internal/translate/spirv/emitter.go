package spirv

import (
	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Reports is what a module reports.
type Reports int

// What a module can report.
const (
	Nothing Reports = iota
	Rounds          // whether the device has ended a loop
	Bounds          // what Rounds reports, and indexes out of range
)

// Options are the options of a module.
type Options struct {
	Entry   string      // the name of the entry point
	Lacking *ir.Program // the functions that Vulkan lacks, by their names in Go
	Narrow  *facts.Narrow
	Reports Reports
	Loops   bool     // the kernel has loops that a device may end
	Sites   []string // the lines of indexes that are checked, as file:line
}

// emitter makes one module.
type emitter struct {
	Options
	program   *ir.Program
	m         *build.Module
	effects   map[*ir.Function]*facts.Effects
	types     map[string]isa.ID // structures, arrays and blocks, by their keys: see key
	entry     isa.ID            // the kernel
	functions map[*ir.Function]isa.ID
	wanted    []wanted          // functions that are not printed yet
	helpers   map[string]isa.ID // functions that the printer adds
	tables    map[*ir.Table]isa.ID
	inputs    map[uint32]isa.ID // built-in variables that the device sets
	threads   [3]isa.ID         // the threads of a block in each dimension; a launch chooses them
	rounding  isa.ID            // a constant that a launch chooses: whether the device rounds quotients and roots of float32 correctly
	uses      []isa.ID          // variables outside functions
	words     bool              // floats in memory that a block shares are kept as integers, because there are atomic operations on them
	coherent  bool              // threads meet at barriers
	arguments arguments
	kept      map[*ir.Function]*stays
	narrow    *facts.Narrow       // nil in a module that reports bounds
	halved    bool                // arguments of 64 bits are passed as halves
	addressed map[*ir.Type]isa.ID // the types of the pointers that are arguments, if they are not pointers to any type
}

// arguments are the kernel's arguments. They are members of the block of push constants, or of memory whose address the block has.
type arguments struct {
	base    isa.ID
	storage uint32
	list    *ir.Type
	pointer isa.ID // the type of pointers to the list, if it is in memory
}

// global returns a new variable outside functions. It begins with the constant first, if there is one.
func (e *emitter) global(storage uint32, typ isa.ID, first ...isa.ID) isa.ID {
	id := e.m.Global(isa.OpVariable, e.m.Pointer(storage, typ), append([]uint32{storage}, first...)...)
	e.uses = append(e.uses, id)
	return id
}

// input returns a variable of three numbers that the device provides.
func (e *emitter) input(builtin uint32) isa.ID {
	if e.inputs[builtin] == 0 {
		id := e.global(build.Input, e.m.Type(isa.OpTypeVector, e.m.Int(32), 3))
		e.m.Decorate(id, isa.BuiltIn, builtin)
		e.inputs[builtin] = id
	}
	return e.inputs[builtin]
}

// wanted is a function that the module calls, and that is printed later.
type wanted struct {
	f      *ir.Function
	body   *build.Code
	given  []isa.ID // its parameters
	driver bool     // the function is one of package vulkan
}

// stays has the values of a function that are kept in variables, because an index that is not constant reads their elements.
type stays struct {
	values map[*ir.Value]bool
	params map[*ir.Param]bool
}
