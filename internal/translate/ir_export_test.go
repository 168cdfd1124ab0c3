package translate

import (
	"fmt"
)

// What tests of the packages below need of the tests here.

// RandomText is a random kernel, as kernel number id of a package, with its grid.
type RandomText struct {
	Seed          uint64
	Text          string
	Arguments     string // the function for plain Go, and what the table of kernels says about its arguments
	Fails         bool
	Block, Blocks [3]int
	Beyond        int
}

// Randomly returns the kernel of a seed.
func Randomly(seed uint64, id int) RandomText {
	s := shaped(seed)
	k := text{seed, random(seed, 0)}
	r := RandomText{seed, k.numbered(id), k.arguments(fmt.Sprintf("k%d", id)), k.fails(), s.block, s.blocks, s.beyond}
	if k.ends() {
		r.Text, r.Arguments = r.Text+k.withoutEnd(id), k.arguments(fmt.Sprintf("p%d", id))
	}
	return r
}

const BatchRunner = batchRunner

var (
	RandomHead     = head
	Module         = module
	MeaningKernels = readKernels
	LongLists      = longLists
)

// Checked type-checks a package of one file.
func Checked(src string) (*Package, error) {
	imp, err := imports()
	if err != nil {
		return nil, err
	}
	return checked(imp, src)
}

// FirstSeed returns the seed of the first random kernel.
func FirstSeed() uint64 { return *randomSeed }

// SharedKernel is a package with a kernel that has shared memory.
type SharedKernel struct {
	Name, Text string
	Filled     bool // the memory is written before any thread can read it
}

// SharedKernels are such packages.
var SharedKernels = func() (all []SharedKernel) {
	for _, k := range sharedKernels {
		all = append(all, SharedKernel{k.name, sharedText(k.body), k.filled})
	}
	return all
}()
