package kernel

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/parts"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// This file divides launches among ranks, which are processes: see package comm/part. Every rank makes the launch, by
// Kernel.launchAmong (launch.go). Each finds from the footprint what the parts of all ranks use, lets Exchange bring what its own part reads, and
// launches that part on its devices as Split.launch does. Of a step, share is found once (Step.launch), and Step.among runs the parts.

// inBlocks gives a grid blocks that are the same on all ranks where it can be cut, unless the program has. Along rows a part can then begin
// at any row.
func inBlocks(g hal.Grid, cut [3]bool, size int) hal.Grid {
	const least, most = 64, 256 // threads
	n, over, shaped := layer.Shape(g)
	if shaped {
		return g
	}
	block := [3]int{least, 1, 1}
	if over {
		wanted := n[0] // by one block of a whole row
		if cut == [3]bool{true} {
			wanted = n[0] / (8 * size) // by blocks that are few for each rank, but make parts of nearly the same size
		}
		for block[0] < min(wanted, most) {
			block[0] *= 2
		}
	}
	return g.Of(block[:max(1, layer.Dimensions(g))]...)
}

// divisible returns why nothing is known of the parts of the kernel.
func (k *Kernel) divisible(r *parts.Ranks, args []Arg) error {
	in := k.p.src.Kernels[k.name]
	why := in.Footprint.Why
	if why == "" && (in.Footprint.Of == nil || len(args) != len(in.Params)) {
		why = "nothing is known of the elements that it uses, because it is written in C, " +
			"or an older command \"halyard kernels\" has translated it"
	}
	if why != "" {
		return hal.Errorf("launch", hal.ErrUnsupported, "kernel %s cannot be divided among %d ranks: %s", k.name, r.Size, why)
	}
	return nil
}

// share finds the dimension in which the ranks' parts can be cut, the bounds of the parts there in blocks, and what each part uses. It
// returns this rank's part. If there is one block alone in the dimensions that can be cut, the first rank runs all.
func (d *launch) share(ctx context.Context, t *team, k *Kernel, r *parts.Ranks, grid hal.Grid, args []Arg) (at share, err error) {
	if err := d.read(ctx, t, k, grid, args); err != nil {
		return at, err
	}
	for i := range d.wants {
		if err := d.wants[i].Err(); err != nil {
			return at, d.on[0].unleased("launch", err, args, d.wants)
		}
	}
	why := "an argument that is written shares elements with another argument"
	if !d.aliased(args) {
		why = "with these arguments a rank would write what another one uses"
		in, single := k.p.src.Kernels[k.name], true
		f := &in.Footprint
		for dim := 2; dim >= 0; dim-- {
			if f.Cut[dim] && d.blocks[dim] > 1 {
				single = false
				if d.shareAlong(dim, r.Begins, r.Size, f, args) {
					return share{dim, d.bounds[r.Rank], d.bounds[r.Rank+1]}, nil
				}
			}
		}
		if single && d.shareAlong(0, func(rank, n int) int { return min(rank, 1) * n }, r.Size, f, args) {
			return share{0, d.bounds[r.Rank], d.bounds[r.Rank+1]}, nil
		}
	}
	return at, d.on[0].refuse("launch", "it cannot be divided among %d ranks: %s", r.Size, why)
}

// shareAlong cuts the grid along a dimension for all ranks. It reports whether no rank's part writes a span that another one's uses.
func (d *launch) shareAlong(dim int, begins func(rank, n int) int, size int, f *gridgen.Footprint, args []Arg) bool {
	d.bounds = d.bounds[:0]
	for i := range size + 1 {
		d.bounds = append(d.bounds, uint32(begins(i, int(d.blocks[dim]))))
	}
	d.parts = resized(d.parts, size)
	for i := range size {
		d.touches(&d.parts[i], dim, d.bounds[i], d.bounds[i+1], f, len(args))
	}
	if !d.apart(args) {
		return false
	}
	d.uses = resized(d.uses, len(d.wants))
	for n, i := range buffersOf(args) {
		u := &d.uses[n]
		u.Want, u.By = d.wants[n], resized(u.By, size)
		for j := range u.By {
			u.By[j] = parts.Touch(d.parts[j].touch[n])
			if args[i].mode == coherence.Read {
				u.By[j].Write = buffer.Range{}
			}
		}
	}
	return true
}

// cutShare cuts this rank's part of a launch that was read for the rank's devices. A part of no blocks has no parts.
func (d *launch) cutShare(t *team, k *Kernel, at share, args []Arg) {
	if d.parts = d.parts[:0]; at.lo == at.hi {
		return
	}
	in := k.p.src.Kernels[k.name]
	f := &in.Footprint
	if n := d.most(at.dim, at.lo, at.hi, t); n < 2 || !d.cut(at.dim, at.lo, at.hi, n, t, f, args) {
		d.cut(at.dim, at.lo, at.hi, 1, t, f, args)
	}
}

// signature returns what has to be the same on all ranks of a launch.
func (d *division) signature(name string, dim int) []uint64 {
	d.what = append(d.what[:0], uint64(d.block[dim]))
	for i := range len(name) {
		d.what = append(d.what, uint64(name[i]))
	}
	for _, n := range d.bounds {
		d.what = append(d.what, uint64(n))
	}
	for _, v := range d.values {
		d.what = append(d.what, uint64(v))
	}
	return d.what
}
