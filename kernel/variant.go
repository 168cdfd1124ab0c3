package kernel

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// A kernel has other translations for some launches: for large ones, for long loops and for parts of grids. Each is compiled when it
// is needed first.
//
// On CUDA, HIP and Vulkan, kernels that the command "halyard kernels" translated keep indexes and counters in 32 bits, for launches of at most
// Written.Most. For larger ones the text is compiled once more, with integers of 64 bits. There is no text for devices of Vulkan, so these
// launches are refused there.

// mostThreads is how many threads along one dimension of a block the code with 32 bits takes.
const mostThreads = 1 << 15

// within returns the kernel on a device for a launch with these arguments.
func (k *Kernel) within(ctx context.Context, dev *hal.Device, grid hal.Grid, args []Arg) (*onDevice, error) {
	d, err := k.device(ctx, dev)
	if err == nil {
		err = cmp.Or(d.covers(grid), d.holds(args))
	}
	switch {
	case err != nil:
		return nil, err
	case d.most != 0 && !d.fits(grid, args):
	case d.rounds != 0 && d.mayExceed(grid, args):
		return k.variant(&k.watches, &k.p.watches, func(src *Source) { src.watched = true }).device(ctx, dev)
	default:
		return d, nil
	}
	if d.alone {
		return nil, d.fail(hal.ErrUnsupported, "launch", "%s; its code for Vulkan, with integers of 32 bits, takes %d at most. Launch it on parts of the buffers, or on a "+
			"device of another backend", d.exceeds(grid, args), d.most)
	}
	return k.variant(&k.wide, &k.p.wide, func(src *Source) { src.wide = true }).within(ctx, dev, grid, args)
}

// fits reports whether the code with integers of 32 bits can run a launch.
func (d *onDevice) fits(grid hal.Grid, args []Arg) bool {
	for _, product := range d.in.Sizes {
		if !d.keeps(product, args) {
			return false
		}
	}
	n, over, shaped := layer.Shape(grid)
	most, block := max(n[0], n[1], n[2]), int(d.info.MaxThreads)
	if block == 0 && !shaped {
		block = mostThreads
	}
	if block > 0 && block <= mostThreads && (over && most <= int(d.most)-block || !over && most <= int(d.most)/block) {
		return true
	}
	return d.wrong(grid) < 0
}

// keeps reports whether a product of arguments, and each of them, is at most the limit.
func (d *onDevice) keeps(product []int, args []Arg) bool {
	all := int64(1)
	for _, at := range product {
		n := integer(args, at)
		if n > d.most || n < -d.most {
			return false
		}
		all *= n // at most two factors of 31 bits
	}
	return all <= d.most
}

// wrong returns a dimension in which the grid has too many threads, or a block has, and -1 if there is none.
func (d *onDevice) wrong(grid hal.Grid) int {
	blocks, block, err := layer.Resolve(d.kernel, grid)
	for i := range blocks {
		if err == nil && (int64(blocks[i])*int64(block[i]) > d.most || block[i] > mostThreads) {
			return i
		}
	}
	return -1
}

// exceeds says what is too large in a launch.
func (d *onDevice) exceeds(grid hal.Grid, args []Arg) string {
	for _, product := range d.in.Sizes {
		if d.keeps(product, args) {
			continue
		}
		var names, values []string
		for _, at := range product {
			names, values = append(names, d.in.Params[at]), append(values, fmt.Sprint(integer(args, at)))
		}
		return strings.Join(names, " * ") + " is " + strings.Join(values, " * ")
	}
	i := d.wrong(grid)
	blocks, block, _ := layer.Resolve(d.kernel, grid)
	return fmt.Sprintf("the grid has %d blocks of %d threads in dimension %d", blocks[i], block[i], i)
}

// variant returns the same program with a source that change has changed.
func (p *Program) variant(at *atomic.Pointer[Program], change func(*Source)) *Program {
	if made := at.Load(); made != nil {
		return made
	}
	src := p.src
	src.Images = nil // they have no such kernels
	change(&src)
	q := New(src)
	q.vulkan = p.vulkan
	at.CompareAndSwap(nil, q)
	return at.Load()
}

// variant returns the same kernel of a program with a source that change has changed.
func (k *Kernel) variant(at *atomic.Pointer[Kernel], of *atomic.Pointer[Program], change func(*Source)) *Kernel {
	if made := at.Load(); made != nil {
		return made
	}
	q := k.p.variant(of, change).Kernel(k.name)
	if q.types = k.types; q.types == nil && q.p.src.parts {
		q.types = q.p.src.types(k.name)
	}
	at.CompareAndSwap(nil, q)
	return at.Load()
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

// Some drivers end the loops of a thread after some number of rounds, and say nothing: see driver.Compute.LoopRounds. On their devices a
// launch whose loops are not known to take fewer runs another translation of the kernel, which reports at its end whether that has
// happened. The launch waits for it, and fails with the line of the loop; what it wrote is lost.

// mayExceed reports whether the loops of a thread may take more rounds than the device runs. A negative number may be a large one.
func (d *onDevice) mayExceed(grid hal.Grid, args []Arg) bool {
	sum, most := int64(0), int64(d.rounds)
	for _, product := range d.in.Rounds {
		n, v := int64(product[0]), int64(1)
		for i, at := range product[1:] {
			by, ok := int64(1), true
			if i+2 < len(product) && product[i+2] < 0 {
				by, ok = d.stride(-1-product[i+2], grid, args)
			}
			if at < 0 {
				continue
			}
			if v = integer(args, at); !ok || v < 0 || by <= 0 {
				return true
			}
			v = (v + by - 1) / by
			if v > 0 && n > most/v {
				return true
			}
			n *= v
		}
		if sum += n; sum > most {
			return true
		}
	}
	return false
}

// stride returns what a loop steps by: see Written.Rounds.
func (d *onDevice) stride(code int, grid hal.Grid, args []Arg) (by int64, ok bool) {
	if code >= 3 {
		return integer(args, code-3), true
	}
	blocks, block, err := layer.Resolve(d.kernel, grid)
	return int64(blocks[code]) * int64(block[code]), err == nil
}
