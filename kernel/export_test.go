package kernel

import (
	"context"
	"io"
	"slices"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// SetChecking turns the checks of EnvCheck on or off.
func SetChecking(on bool) { checking.Store(on) }

// SetCheckingBounds makes launches check indexes, or not.
func SetCheckingBounds(on bool) { checkingBounds.Store(on) }

// SetCheckingRounds makes launches look whether devices end loops, or not.
func SetCheckingRounds(on bool) { checkingRounds.Store(on) }

// NewPattern returns what an Out is filled with before a checked launch.
func NewPattern() [16]byte { return newPattern() }

// Loading reports whether the program is being loaded somewhere.
func Loading(p *Program) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.loads {
		if !l.ready {
			return true
		}
	}
	return false
}

// SetFootprint gives a kernel a footprint that is written by hand, unless it has one.
func SetFootprint(k *Kernel, f gridgen.Footprint) {
	in := k.p.src.Kernels[k.name]
	if in.Footprint.Of == nil {
		in.Footprint = f
		k.p.src.Kernels[k.name] = in
	}
}

// SetLeastPart sets how many threads a part has at least.
func SetLeastPart(n int) { leastPart = n }

// LaunchPart launches a part of a grid: so many blocks from the first on.
func LaunchPart(ctx context.Context, k *Kernel, s *hal.Stream, blocks, block, first, count [3]uint32, args ...Arg) error {
	from := &origin{first, blocks}
	return k.parts().Launch(ctx, s, gridOf(count, block), append(slices.Clone(args), Struct(from))...)
}

// Integers returns the values of a kernel's arguments as a footprint gets them.
func Integers(k *Kernel, args ...Arg) (list []int64) {
	for i, typ := range k.parts().types {
		list = append(list, args[i].integer(typ))
	}
	return list
}

// Tell is tell.
var Tell = tell

// Fits reports whether the code with integers of 32 bits can run a launch.
func Fits(k *Kernel, dev *hal.Device, grid hal.Grid, args ...Arg) bool {
	d, err := k.device(context.Background(), dev)
	return err == nil && d.fits(grid, args)
}

// Segments returns what stands for how a step of several devices is divided now.
func Segments(s *Step) any { return s.state.Load().plan }

// LaunchesOfSegments returns how many launches each segment of a step has.
func LaunchesOfSegments(s *Step) (list []int) {
	l := s.state.Load()
	for i := range l.plan.segments {
		end := len(l.list)
		if i+1 < len(l.plan.segments) {
			end = l.plan.segments[i+1].first
		}
		list = append(list, end-l.plan.segments[i].first)
	}
	return list
}

// SetListener makes splits tell w what they would tell a user, until the function that it returns is called.
func SetListener(w io.Writer) (end func()) {
	before := listener
	listener = func() io.Writer { return w }
	return func() { listener = before }
}
