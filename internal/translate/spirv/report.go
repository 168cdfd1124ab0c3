package spirv

import (
	"fmt"
	"go/token"
	"path/filepath"
	"slices"

	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// The kinds of reports. Package kernel reads a report: its first word is the kind, and its second word is the site. The numbers of the report follow, two words
// for each. Only the first report is kept.
const (
	outOfRange = 1 + iota
	cellOutOfRange
	loopsEnded
	boundOutOfRange
	divisionByZero
	negativeShift
)

// checked returns an index, extended to 64 bits unless integers are narrow, that selects one of n elements. A module that reports bounds
// reports an index out of range, and continues with index 0, because there is at least one element.
func (f *values) checked(v *ir.Value, index, n isa.ID, pos token.Pos) isa.ID {
	index = f.resized(index, v.Type, ir.Basic(ir.Int))
	if !pos.IsValid() { // an index without a position comes from the pass in share.go, and is in range
		return index
	}
	return f.limited(ir.Within, index, n, pos)
}

// limited returns a number of 64 bits that must be below n, or at most n if the operation is UpTo. A module that reports bounds checks that.
func (f *values) limited(op ir.Op, x, n isa.ID, pos token.Pos) isa.ID {
	if f.Reports != Bounds {
		return x
	}
	name, code, kind := "index", build.OpULessThan, uint64(outOfRange)
	if op == ir.UpTo {
		name, code, kind = "bound", build.OpULessThanEqual, boundOutOfRange
	}
	u64 := f.m.Int(64)
	return f.helper(name, u64, []isa.ID{u64, u64, f.m.Int(32)}, func(g *numbers, args []isa.ID) {
		fits := g.c.Op(code, g.m.Bool(), args[0], args[1])
		g.c.Do(build.OpReturnValue, g.either(fits, u64, func() isa.ID { return args[0] }, func() isa.ID {
			g.report(kind, args[2], args[0], args[1])
			return g.m.Const(64, 0)
		}))
	}, x, n, f.site(pos))
}

// asked prints code that reports the second operand of a division or a shift if Go panics at it, in a module that reports bounds. The
// operand is compared in its own type, because lavapipe 22.3 assumes that a number which is extended to 64 bits is not negative.
func (f *values) asked(v *ir.Value, operand isa.ID) {
	if f.Reports != Bounds || !facts.Panics(v) {
		return
	}
	name, op, kind := "divisor", ir.Eq, uint64(divisionByZero)
	if v.Op == ir.Shl || v.Op == ir.Shr {
		name, op, kind = "count", ir.Lt, negativeShift
	}
	t := v.Args[1].Type
	bad := f.compare(op, t, operand, f.number(t, 0))
	f.helper(name, f.emitter.value(nil), []isa.ID{f.m.Bool(), f.m.Int(64), f.m.Int(32)}, func(g *numbers, args []isa.ID) {
		g.conditional(args[0], func() { g.report(kind, args[2], args[1]) }, nil)
		g.c.Do(build.OpReturn)
	}, bad, f.resized(operand, t, ir.Basic(ir.Int)), f.site(v.Pos))
}

// checkedIn is like checked, for an index of an array of n elements. Its result may have 32 bits.
func (f *values) checkedIn(v *ir.Value, index isa.ID, n int64, pos token.Pos) isa.ID {
	if f.Reports != Bounds || !pos.IsValid() {
		return index
	}
	return f.checked(v, index, f.number(ir.Basic(ir.Int), uint64(n)), pos)
}

// element returns the index of an element of a slice, which is reported if it is out of range.
func (f *values) element(v *ir.Value, index isa.ID, of param, pos token.Pos) isa.ID {
	if f.narrow != nil {
		return index
	}
	return f.checked(v, index, f.argument(of.rows), pos)
}

// cell returns the index of an element of a matrix.
func (f *values) cell(i, j isa.ID, of param, pos token.Pos) isa.ID {
	if f.narrow != nil {
		return f.c.Op(isa.OpIAdd, f.m.Int(32), f.c.Op(build.OpIMul, f.m.Int(32), i, f.lowArgument(of.col)), j)
	}
	u64, n, m := f.m.Int(64), f.argument(of.rows), f.argument(of.col)
	at := func(f *numbers, i, j, m isa.ID) isa.ID {
		return f.c.Op(isa.OpIAdd, u64, f.c.Op(build.OpIMul, u64, i, m), j)
	}
	if f.Reports != Bounds {
		return at(f.numbers, i, j, m)
	}
	return f.helper("cell", u64, []isa.ID{u64, u64, u64, u64, f.m.Int(32)}, func(g *numbers, args []isa.ID) {
		row := g.c.Op(build.OpULessThan, g.m.Bool(), args[0], args[2])
		column := g.c.Op(build.OpULessThan, g.m.Bool(), args[1], args[3])
		fits := g.c.Op(build.OpLogicalAnd, g.m.Bool(), row, column)
		g.c.Do(build.OpReturnValue, g.either(fits, u64, func() isa.ID { return at(g, args[0], args[1], args[3]) }, func() isa.ID {
			g.report(cellOutOfRange, args[4], args[0], args[2], args[1], args[3])
			return g.m.Const(64, 0)
		}))
	}, i, j, n, m, f.site(pos))
}

// site returns the number that the generated file gives to a line: its index in Sites.
func (f *numbers) site(pos token.Pos) isa.ID {
	at := f.program.Position(pos)
	i := slices.Index(f.Sites, fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line))
	return f.m.Const(32, uint64(max(i, 0)))
}

// report prints code that writes a report with numbers of 64 bits, unless there is a report already.
func (f *numbers) report(kind uint64, site isa.ID, numbers ...isa.ID) {
	u32 := f.m.Int(32)
	f.conditional(f.first(kind), func() {
		f.store(f.word(1), site)
		for i, n := range numbers {
			f.store(f.word(2+2*i), f.c.Op(build.OpUConvert, u32, n))
			f.store(f.word(3+2*i), f.c.Op(build.OpUConvert, u32, f.c.Op(build.OpShiftRightLogical, f.m.Int(64), n, f.m.Const(32, 32))))
		}
	}, nil)
}

// first prints code that writes the kind of a report, unless there is a report already. It returns a bool of the module that says whether the kind was written.
func (f *numbers) first(kind uint64) isa.ID {
	was := f.atomically(0, build.OpAtomicCompareExchange, ir.Basic(ir.U32), f.pointer(f.word(0)), f.m.Const(32, 0), f.m.Const(32, kind))
	return f.c.Op(build.OpIEqual, f.m.Bool(), was, f.m.Const(32, 0))
}

// word returns a word of the report, which is the kernel's last argument.
func (f *numbers) word(i int) *place {
	return f.buffer(ir.Basic(ir.U32), f.coherent, len(f.arguments.list.Fields)-1).element(f.memory, f.m.Const(32, uint64(i)))
}

// askRounds prints code that finds out whether the device still runs loops, and reports if it does not. The code runs a loop of two rounds. If the device has
// ended a loop of the thread after some number of rounds, it ends this loop at once. The driver's compiler cannot know that the loop has two rounds.
func (f *function) askRounds() {
	f.helper("looped", f.emitter.value(nil), nil, func(g *numbers, _ []isa.ID) {
		const unused = 10 // a word of the report that is 0
		u32 := ir.Basic(ir.U32)
		n := g.c.Op(isa.OpIAdd, g.m.Int(32), g.load(g.word(unused)), g.m.Const(32, 2))
		sum := g.variable(u32)
		g.store(sum, g.m.Const(32, 0))
		g.rounds(n, func(isa.ID) {
			three := g.c.Op(build.OpIMul, g.m.Int(32), g.load(sum), g.m.Const(32, 3))
			g.store(sum, g.c.Op(isa.OpIAdd, g.m.Int(32), three, g.m.Const(32, 1)))
		})
		g.conditional(g.compare(ir.Ne, u32, g.load(sum), g.m.Const(32, 4)), func() { g.report(loopsEnded, g.m.Const(32, 0)) }, nil)
		g.c.Do(build.OpReturn)
	})
}
