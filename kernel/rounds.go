package kernel

import (
	"context"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// Some drivers end the loops of a thread after some number of rounds, and say nothing: see driver.Compute.LoopRounds. On their devices a
// launch whose loops are not known to take fewer runs another translation of the kernel, which reports at its end whether that has
// happened. The launch waits for it, and fails with the line of the loop; what it wrote is lost.

// roundsMacro makes the translation of a Go kernel report whether the device has ended its loops.
const roundsMacro = "#define HALYARD_ROUNDS 1\n"

// watched returns what is to be launched of a kernel that is d on a device: d itself, or the translation that reports.
func (k *Kernel) watched(ctx context.Context, dev *hal.Device, d *onDevice, err error, grid hal.Grid, args []Arg) (*onDevice, error) {
	if err != nil || d.rounds == 0 || !d.mayExceed(grid, args) {
		return d, err
	}
	return k.variant(&k.watches, &k.p.watches, func(src *Source) { src.watched = true }).device(ctx, dev)
}

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

// integer returns an argument, -1 if it is no number: then the launch is refused.
func integer(args []Arg, at int) int64 {
	if at >= len(args) || args[at].buffer {
		return -1
	}
	return layer.Integer(args[at].arg, true)
}
