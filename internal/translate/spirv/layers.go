package spirv

import (
	"fmt"

	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

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
)

func (e *emitter) numbers(c *build.Code) *numbers {
	return &numbers{&memory{&flow{code: &code{emitter: e, c: c, early: map[string]isa.ID{}}}}}
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
	all := f.c.Op(isa.OpFunctionCall, f.result(g), append([]isa.ID{id}, args...)...)
	if result == nil || result.Kind != ir.Tuple {
		return []isa.ID{all}
	}
	var each []isa.ID
	for i, r := range result.Fields {
		each = append(each, f.c.Op(build.OpCompositeExtract, f.emitter.value(r.Type), all, uint32(i)))
	}
	return each
}

// want returns the ID of a function, which must have no parameters that refer to memory. The module has the function once, and it is printed later.
func (e *emitter) want(g *ir.Function, driver bool) isa.ID {
	if e.functions[g] == 0 {
		var types []isa.ID
		for _, p := range g.Params {
			types = append(types, e.keptAs(p.Type, e.narrow.Param(p)))
		}
		code, given := e.m.Function(e.result(g), types...)
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
