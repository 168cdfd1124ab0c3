package hal

import (
	"math"
	"math/bits"

	"github.com/go-halyard/halyard/hal/driver"
)

// Grid is the shape of a launch: blocks of threads, in one to three dimensions. [Over] and [Blocks] make one. It is a plain value.
type Grid struct {
	n         [3]int
	block     [3]int
	dims      uint8
	shape     uint8 // dimensions of block
	over      bool  // n counts threads, not blocks
	shaped    bool  // Of was called
	unchecked bool
	bad       bool // more than three dimensions, or none
}

// Over returns a grid of at least n threads in each dimension, in as many blocks as that takes. Unless [Grid.Of] says otherwise, a block
// has about the size that the kernel suggests: fewer threads if the grid is small, more if the device does not take that many blocks. The
// last block of a dimension may reach beyond n, so a kernel compares its index with n. If a dimension is 0, the launch does nothing.
func Over(n ...int) Grid { return makeGrid(n, true) }

// Blocks returns a grid of n blocks in each dimension. Unless [Grid.Of] says otherwise, a block has the size that the kernel suggests. If a
// dimension is 0, the launch does nothing.
func Blocks(n ...int) Grid { return makeGrid(n, false) }

func makeGrid(n []int, over bool) Grid {
	g := Grid{n: [3]int{1, 1, 1}, over: over}
	if len(n) == 0 || len(n) > 3 {
		g.bad = true
		return g
	}
	copy(g.n[:], n)
	g.dims = uint8(len(n))
	return g
}

// Of returns the same grid with blocks of that many threads in each dimension.
func (g Grid) Of(threads ...int) Grid {
	g.block = [3]int{1, 1, 1}
	g.shaped = true
	if len(threads) == 0 || len(threads) > 3 {
		g.bad = true
		return g
	}
	copy(g.block[:], threads)
	g.shape = uint8(len(threads))
	return g
}

// Unchecked returns the same grid for a kernel whose parameters are not known ([KernelInfo]): the launch passes its arguments to the driver
// as they are. Wrong ones may end the process.
func (g Grid) Unchecked() Grid {
	g.unchecked = true
	return g
}

// dimensions returns how many dimensions the program gave for the grid, or for its blocks if those are more.
func (g Grid) dimensions() int { return int(max(g.dims, g.shape)) }

// given returns what the program gave: threads if over is true, else blocks, and whether it also gave the threads of a block.
func (g Grid) given() (n [3]int, over, shaped bool) { return g.n, g.over, g.shaped }

// suggest returns a block that fits the shape of the grid. It has no more threads than the kernel suggests. The first dimension of the
// block is the longest. On a device whose threads run in step a row of the block is one warp. The blocks of a small grid are smaller, so
// that each processor has some.
func (g *Grid) suggest(k *KernelInfo, c *driver.Compute) (block [3]uint32) {
	block = [3]uint32{1, 1, 1}
	if k.RequiredBlock != [3]uint32{} {
		return k.RequiredBlock
	}
	left := max(k.Suggested, 1)
	for _, most := range [...]uint32{k.MaxThreads, c.MaxThreads} {
		if most != 0 {
			left = min(left, most)
		}
	}
	if g.over {
		all := float64(g.n[0]) * float64(g.n[1]) * float64(g.n[2])
		step := c.Warp
		if step <= 1 {
			step = leastBlock
		}
		for left/2 >= step && left/2%step == 0 && all < float64(left)*float64(blocksPerUnit*c.Units) {
			left /= 2
		}
	}
	last := int(g.dims) - 1
	for d := range block[:g.dims] {
		want := left
		if g.over {
			want = uint32(min(uint64(want), uint64(nextPower(g.n[d]))))
		}
		if c.Warp > 1 && d < last { // a tile: neighbours in each dimension share a block
			want = min(want, max(c.Warp, 8))
		}
		if c.MaxBlock[d] != 0 {
			want = min(want, c.MaxBlock[d])
		}
		want = max(want, 1)
		block[d] = want
		if d < last && want > 1 {
			left /= want
		}
	}
	if g.over {
		g.fit(&block, least(k.MaxThreads, c.MaxThreads), c)
	}
	return block
}

// fit makes the block longer in each dimension in which the grid would have more blocks than the device takes. If the block would then have
// more than most threads, it becomes shorter in the first dimension.
func (g *Grid) fit(block *[3]uint32, most uint64, c *driver.Compute) {
	for d, n := range g.n[:g.dims] {
		for c.MaxGrid[d] != 0 && uint64(max(n, 0)) > uint64(c.MaxGrid[d])*uint64(block[d]) {
			if c.MaxBlock[d] != 0 && 2*block[d] > c.MaxBlock[d] {
				return
			}
			if 2*uint64(block[0])*uint64(block[1])*uint64(block[2]) > most {
				if d == 0 || block[0] == 1 {
					return
				}
				block[0] /= 2
			}
			block[d] *= 2
		}
	}
}

// blocksPerUnit is how many blocks each processor of a device should get before a block has as many threads as the kernel suggests.
const blocksPerUnit = 2

// leastBlock is the fewest threads of a block that is made smaller for that, if threads do not run in step.
const leastBlock = 16

// nextPower returns the smallest power of two that is at least n, for n up to 2^30, else 2^30.
func nextPower(n int) int {
	switch {
	case n <= 1:
		return 1
	case n > 1<<30:
		return 1 << 30
	}
	return 1 << bits.Len(uint(n-1))
}

// resolve returns the blocks of the grid and the threads of a block, checked against the limits of the kernel and its device. empty
// says that there is nothing to launch.
func (k *kernelState) resolve(op string, g *Grid) (grid, block [3]uint32, empty bool, err error) {
	if g.bad || g.dims == 0 {
		err = k.failure(op, ErrInvalidArgument, "a grid has one to three dimensions; make it with Over or Blocks")
		return grid, block, false, err
	}
	if block, err = k.threads(op, g); err == nil {
		grid, empty, err = k.blocks(op, g, &block)
	}
	return grid, block, empty, err
}

// threads returns the threads of a block.
func (k *kernelState) threads(op string, g *Grid) (block [3]uint32, err error) {
	info, c := &k.info, &k.of.dev.Info.Compute
	if !g.shaped {
		block = g.suggest(info, c)
	} else {
		for d, n := range g.block {
			if n < 1 || n > math.MaxInt32 {
				return block, k.failure(op, ErrInvalidArgument, "a block of %d threads in dimension %d; it must be 1 to %d", n, d,
					math.MaxInt32)
			}
			block[d] = uint32(n)
		}
	}
	threads, most := uint64(1), least(info.MaxThreads, c.MaxThreads)
	for d, n := range block {
		threads *= uint64(n) // at most 2^31 each: the product is checked before it can overflow
		switch {
		case c.MaxBlock[d] != 0 && n > c.MaxBlock[d]:
			return block, k.failure(op, ErrInvalidArgument, "a block of %d threads in dimension %d; the device's limit is %d", n, d,
				c.MaxBlock[d])
		case threads > most:
			return block, k.failure(op, ErrInvalidArgument, "a block of %dx%dx%d threads; the limit for this kernel is %d",
				block[0], block[1], block[2], most)
		}
	}
	if r := info.RequiredBlock; r != [3]uint32{} && r != block {
		return block, k.failure(op, ErrInvalidArgument, "a block of %dx%dx%d threads; the code demands %dx%dx%d",
			block[0], block[1], block[2], r[0], r[1], r[2])
	}
	return block, nil
}

// blocks returns the blocks of a grid.
func (k *kernelState) blocks(op string, g *Grid, block *[3]uint32) (grid [3]uint32, empty bool, err error) {
	c := &k.of.dev.Info.Compute
	for d, n := range g.n {
		if n < 0 {
			return grid, false, k.failure(op, ErrInvalidArgument, "the grid's dimension %d is %d; it must not be negative", d, n)
		}
		count, size := uint64(n), uint64(block[d])
		switch {
		case !g.over || size == 1:
		case size&(size-1) == 0: // as usual; a shift costs less than a division
			count = (count + size - 1) >> bits.TrailingZeros64(size)
		default:
			count = (count + size - 1) / size
		}
		limit := uint64(math.MaxUint32)
		if c.MaxGrid[d] != 0 {
			limit = uint64(c.MaxGrid[d])
		}
		if count > limit || c.MaxGlobal != 0 && count*size > c.MaxGlobal {
			if c.MaxGlobal != 0 {
				limit = min(limit, c.MaxGlobal/size)
			}
			return grid, false, k.failure(op, ErrOutOfRange, "%d blocks of %d threads in dimension %d; the limit is %d blocks",
				count, size, d, limit)
		}
		empty = empty || count == 0
		grid[d] = uint32(count)
	}
	all := 1.0
	for d := range grid {
		all *= float64(grid[d]) * float64(block[d])
	}
	if all > mostThreads {
		return grid, false, k.failure(op, ErrOutOfRange, "%dx%dx%d blocks of %dx%dx%d threads; a launch has at most 2^62 threads",
			grid[0], grid[1], grid[2], block[0], block[1], block[2])
	}
	return grid, empty, nil
}

// mostThreads is the most threads of a launch: drivers count blocks and threads in 64 bits, and do not look for an overflow.
const mostThreads = 1 << 62
