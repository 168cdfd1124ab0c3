package spirv

import (
	"fmt"

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

// A function of the module is printed in layers. Each layer knows the layers before it.
type (
	// code has the instructions of the function.
	code struct {
		*emitter
		c      *build.Code
		early  map[string]isa.ID // by a key: values that are computed at the start of the function; see once
		driver bool              // quotients and roots of float32 use the driver's instructions, which may round wrongly
	}

	// flow has conditions and loops.
	flow struct {
		*code
		constructs []*construct
	}

	// memory has places, and reads and writes them.
	memory struct{ *flow }

	// numbers has operations on values that are printed already.
	numbers struct{ *memory }

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

func (e *emitter) numbers(c *build.Code) *numbers {
	return &numbers{&memory{&flow{code: &code{emitter: e, c: c, early: map[string]isa.ID{}}}}}
}

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
	read      func() isa.ID // returns the value of a kernel's argument
	place     *place        // the memory that the argument refers to, or the variable that has its value
	rows, col isa.ID        // the length of a slice; the rows and columns of a matrix
}

func newFrame(f *ir.Function) *frame {
	n := f.NumValues()
	return &frame{f: f, values: make([]isa.ID, n), tuples: make([][]isa.ID, n), kept: make([]*place, n), locals: make([]*place, len(f.Locals))}
}

// once returns the value for a key. The function computes that value at its start, once for each key.
func (f *code) once(key string, compute func() isa.ID) isa.ID {
	id, ok := f.early[key]
	if !ok {
		id = compute()
		f.early[key] = id
	}
	return id
}

// results prints a call of a function of the module, and returns its results.
func (f *numbers) results(g *ir.Function, id isa.ID, args []isa.ID) []isa.ID {
	result := g.Result()
	all := f.c.Op(isa.OpFunctionCall, f.emitter.value(result), append([]isa.ID{id}, args...)...)
	if result == nil || result.Kind != ir.Tuple {
		return []isa.ID{all}
	}
	var each []isa.ID
	for i, r := range result.Fields {
		each = append(each, f.c.Op(build.OpCompositeExtract, f.emitter.value(r.Type), all, uint32(i)))
	}
	return each
}

// wanted is a function that the module calls, and that is printed later.
type wanted struct {
	f      *ir.Function
	code   *build.Code
	given  []isa.ID // its parameters
	driver bool     // the function is one of package vulkan
}

// want returns the ID of a function, which must have no parameters that refer to memory. The module has the function once, and it is printed later.
func (e *emitter) want(g *ir.Function, driver bool) isa.ID {
	if e.functions[g] == 0 {
		var types []isa.ID
		for _, p := range g.Params {
			types = append(types, e.value(p.Type))
		}
		code, given := e.m.Function(e.value(g.Result()), types...)
		e.functions[g] = code.ID
		e.wanted = append(e.wanted, wanted{g, code, given, driver})
	}
	return e.functions[g]
}

// helper prints a call of a function that the printer adds. A module has that function once.
func (f *numbers) helper(name string, result isa.ID, params []isa.ID, body func(g *numbers, args []isa.ID), args ...isa.ID) isa.ID {
	if f.helpers[name] == 0 {
		code, given := f.m.Function(result, params...)
		f.helpers[name] = code.ID
		body(f.emitter.numbers(code), given)
		code.End()
	}
	return f.c.Op(isa.OpFunctionCall, result, append([]isa.ID{f.helpers[name]}, args...)...)
}

// construct is a loop, a switch or an inlined function: code that a jump inside can leave.
type construct struct {
	of                  *ir.Stmt // nil if no break leaves it
	loop                bool
	before, header      isa.ID // of a loop: the block before the loop, and its first block
	merge, next         isa.ID // the block after the construct; of a loop, the block after each round
	reached             bool   // some code jumps to merge
	forwards            []forward
	leaving, continuing isa.ID // flags, or 0: a jump left an inner construct in order to leave this one (leaving), or to begin its next round (continuing)
}

// forward says that the code after a construct must jump on: to the end of an outer construct, or to the next round of an outer loop.
type forward struct {
	to   *construct
	next bool
}

// lacking prints a call of a function of package vulkan, and returns its results.
func (f *numbers) lacking(name string, args ...isa.ID) []isa.ID {
	for _, g := range f.Lacking.Functions {
		if g.Name == name {
			return f.results(g, f.want(g, true), args)
		}
	}
	panic(fmt.Sprintf("package vulkan has no function %s", name))
}

// float prints an operation on floats. No device may change the operation's result, such as by leaving out a rounding, or by assuming that there is no NaN.
func (f *code) float(op isa.Op, typ isa.ID, args ...uint32) isa.ID {
	id := f.c.Op(op, typ, args...)
	if !f.c.Dead {
		f.m.Decorate(id, build.NoContraction)
	}
	return id
}
