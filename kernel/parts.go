package kernel

import (
	"slices"
	"strings"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// partsMacro makes the translation of a Go kernel run a part of a grid: see prelude/bounds.h.
const partsMacro = "#define HALYARD_PARTS 1\n"

// origin is the last argument of such a kernel. Its threads ask for their places as in a launch of the whole grid.
type origin struct {
	first  [3]uint32 // the part's first block
	blocks [3]uint32 // of the whole grid
}

// parts returns the kernel that runs parts of grids. It is compiled apart, so that the others do not become slower.
func (k *Kernel) parts() *Kernel {
	return k.variant(&k.divided, &k.p.divided, func(src *Source) {
		whole := src.Go
		src.parts, src.Go = true, make(Functions, len(whole))
		for name, f := range whole {
			src.Go[name] = ofParts(f)
		}
	})
}

// types returns the C types of a launch's arguments, as the translation has them: "i32", "const GLOBAL f32 *". Without a translation all
// are "i64".
func (s *Source) types(name string) []string {
	in := s.Kernels[name]
	list := make([]string, len(in.Params))
	_, text, _ := strings.Cut(s.Portable, "KERNEL void "+in.Code+"(")
	text, _, _ = strings.Cut(text, " GO_FAULTS")
	text, _, _ = strings.Cut(text, " SHARED_PARAM")
	params := strings.Split(text, ",")
	for i := range list {
		list[i] = "i64"
		if text != "" && i < len(params) {
			param := strings.TrimSpace(params[i])
			list[i] = strings.TrimSpace(param[:strings.LastIndexAny(param, " *")+1])
		}
	}
	return list
}

// integer returns an argument as [Footprint.Of] takes it: 0 if it is not an integer.
func (a *Arg) integer(typ string) int64 {
	switch typ {
	case "i8", "i16", "i32", "i64":
		return layer.Integer(a.arg, true)
	case "u8", "u16", "u32", "u64":
		return layer.Integer(a.arg, false)
	}
	return 0
}

// ofParts returns a function that runs blocks of a part of a grid as f runs those of the whole.
func ofParts(f hal.Function) hal.Function {
	if f.Params != nil {
		f.Params = append(slices.Clone(f.Params), hal.Param{Kind: hal.ParamValue, Size: 24})
	}
	run := f.Run
	f.Run = func(b *Block) {
		last := len(b.Args) - 1
		from := Number[origin](b, last)
		grid, args, bytes := b.Grid, b.Args, b.Bytes
		for d := range b.Index {
			b.Index[d] += from.first[d]
		}
		b.Grid, b.Args, b.Bytes = from.blocks, args[:last], bytes[:last]
		run(b)
		b.Grid, b.Args, b.Bytes = grid, args, bytes // the host uses the Block again, with another Index
	}
	return f
}
