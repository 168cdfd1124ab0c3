package kernel

import (
	"slices"

	"github.com/go-halyard/halyard/hal"
)

// partsMacro makes the translation of a Go kernel run a part of a grid: see prelude/bounds.h.
const partsMacro = "#define HALYARD_PARTS 1\n"

// origin is the last argument of such a kernel. Its threads ask for their places as in a launch of the whole grid.
type origin struct {
	first  [3]uint32 // the part's first block
	blocks [3]uint32 // of the whole grid
}

// parts returns the same program with kernels that run parts of grids. It is compiled apart, so that the others do not become slower.
func (p *Program) parts() *Program {
	if q := p.divided.Load(); q != nil {
		return q
	}
	src := p.src
	src.parts = true
	src.Images = nil // they have no such kernels
	src.Go = make(Functions, len(p.src.Go))
	for name, f := range p.src.Go {
		src.Go[name] = ofParts(f)
	}
	p.divided.CompareAndSwap(nil, New(src))
	return p.divided.Load()
}

// parts returns the kernel that runs parts of grids.
func (k *Kernel) parts() *Kernel {
	if q := k.divided.Load(); q != nil {
		return q
	}
	k.divided.CompareAndSwap(nil, k.p.parts().Kernel(k.name))
	return k.divided.Load()
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
