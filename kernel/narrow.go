package kernel

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// On CUDA, HIP and Vulkan, kernels that the command "halyard kernels" translated keep indexes and counters in 32 bits, for launches of at most
// Written.Most. For larger ones the text is compiled once more, with integers of 64 bits. There is no text for devices of Vulkan, so these
// launches are refused there.

// wideMacro makes the translation of a Go kernel compute all integers of 64 bits in 64 bits.
const wideMacro = "#define HALYARD_WIDE 1\n"

// mostThreads is how many threads along one dimension of a block the code with 32 bits takes.
const mostThreads = 1 << 15

// within returns the kernel on a device for a launch with these arguments.
func (k *Kernel) within(ctx context.Context, dev *hal.Device, grid hal.Grid, args []Arg) (*onDevice, error) {
	d, err := k.device(ctx, dev)
	if err == nil {
		err = cmp.Or(d.covers(grid), d.holds(args))
	}
	if err != nil || d.most == 0 || d.fits(grid, args) {
		return k.watched(ctx, dev, d, err, grid, args)
	}
	if d.alone {
		e := d.refuse("launch", "%s; its code for Vulkan, with integers of 32 bits, takes %d at most. Launch it on parts of the buffers, or on a "+
			"device of another backend", d.exceeds(grid, args), d.most).(*hal.Error)
		e.Kind = hal.ErrUnsupported
		return nil, e
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
