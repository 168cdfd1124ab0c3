package kernel

import (
	"context"
	"encoding/binary"
	"hash/fnv"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/parts"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// This file divides launches among ranks, which are processes: see package comm/part. Every rank makes the launch. Each finds from the
// footprint what the parts of all ranks use, lets Ranks.Exchange bring what its own part reads, and launches that part on its devices as
// split.go does.

// launchAmong runs this rank's part of a launch.
func (k *Kernel) launchAmong(ctx context.Context, r parts.Ranks, grid hal.Grid, args []Arg) (err error) {
	const op = "launch"
	on, _ := r.On().(*parts.OnQueue)
	if on == nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "no queue for this rank's part")
	}
	split, _ := on.Target.(*Split)
	stream, _ := on.Target.(*hal.Stream)
	switch nothing := k == nil || k.p == nil || layer.Empty(grid); {
	case nothing && split != nil:
		return split.launch(ctx, k, on.Failed, grid, args)
	case nothing:
		return k.launch(ctx, stream, nil, on.Failed, grid, args)
	}
	in := k.p.src.Kernels[k.name]
	rank, size := r.Ranks()
	why := in.Footprint.Why
	if why == "" && (in.Footprint.Of == nil || len(args) != len(in.Params)) {
		why = "nothing is known of the elements that it uses, because it is written in C, " +
			"or an older command \"halyard kernels\" has translated it"
	}
	if why != "" {
		return hal.Errorf(op, hal.ErrUnsupported, "kernel %s cannot be divided among %d ranks: %s", k.name, size, why)
	}
	if err := r.Enter(ctx); err != nil {
		return err
	}
	l := pooled.Get().(*launch)
	defer l.give()
	defer func() { r.Leave(err) }() // also if an observer of buffers panics
	l.failed = on.Failed
	t := &l.one
	t.streams, t.shares = append(t.streams[:0], stream), append(t.shares[:0], 1)
	if split != nil {
		if t, err = split.present(); err != nil {
			return err
		}
	}
	dim, err := l.share(ctx, t, k, r, inBlocks(grid, &in.Footprint, size), args)
	if err != nil {
		return err
	}
	if err := r.Exchange(ctx, l.signature(k.name, dim), l.uses); err != nil {
		return err
	}
	lo, hi := l.bounds[rank], l.bounds[rank+1]
	if lo == hi {
		return nil
	}
	l.timed = split != nil && split.due(t, 1)
	if n := l.most(dim, lo, hi, t); n < 2 || !l.cut(dim, lo, hi, n, t, &in.Footprint, args) {
		l.cut(dim, lo, hi, 1, t, &in.Footprint, args)
	}
	if split != nil {
		return split.run(ctx, t, l, args)
	}
	return l.run(ctx, args)
}

// inBlocks gives a grid blocks that are the same on all ranks where it can be cut, unless the program has. Along rows a part can then begin
// at any row.
func inBlocks(g hal.Grid, f *gridgen.Footprint, size int) hal.Grid {
	const least, most = 64, 256 // threads
	n, over, shaped := layer.Shape(g)
	if shaped {
		return g
	}
	block := [3]int{least, 1, 1}
	if over {
		wanted := n[0] // by one block of a whole row
		if f.Cut[0] && !f.Cut[1] && !f.Cut[2] {
			wanted = n[0] / (8 * size) // by blocks that are few for each rank, but make parts of nearly the same size
		}
		for block[0] < min(wanted, most) {
			block[0] *= 2
		}
	}
	return g.Of(block[:max(1, layer.Dimensions(g))]...)
}

// share finds the dimension in which the ranks' parts can be cut, the bounds of the parts there in blocks, and what each part uses. If
// there is one block alone in the dimensions that can be cut, the first rank runs all.
func (d *launch) share(ctx context.Context, t *team, k *Kernel, r parts.Ranks, grid hal.Grid, args []Arg) (dim int, err error) {
	if err := d.read(ctx, t, k, grid, args); err != nil {
		return 0, err
	}
	for i := range d.wants {
		if err := d.wants[i].Err(); err != nil {
			return 0, d.on[0].unleased("launch", err, args, d.wants)
		}
	}
	_, size := r.Ranks()
	if d.aliased(args) {
		return 0, d.on[0].refuse("launch",
			"it cannot be divided among %d ranks: an argument that is written shares elements with another argument",
			size)
	}
	in, single := k.p.src.Kernels[k.name], true
	f := &in.Footprint
	for dim := 2; dim >= 0; dim-- {
		if f.Cut[dim] && d.blocks[dim] > 1 {
			single = false
			if d.shareAlong(dim, r.Begins, r, f, args) {
				return dim, nil
			}
		}
	}
	all := func(rank, n int) int { return min(rank, 1) * n }
	if single && d.shareAlong(0, all, r, f, args) {
		return 0, nil
	}
	return 0, d.on[0].refuse("launch",
		"it cannot be divided among %d ranks: with these arguments a rank would write what another one uses",
		size)
}

// shareAlong cuts the grid along a dimension for all ranks. It reports whether no rank's part writes a span that another one's uses.
func (d *launch) shareAlong(dim int, begins func(rank, n int) int, r parts.Ranks, f *gridgen.Footprint, args []Arg) bool {
	_, size := r.Ranks()
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
			touch := &d.parts[j].touch[n]
			u.By[j] = parts.Touch{Read: [2]int{touch.Read.Lo, touch.Read.Hi}}
			if args[i].mode != coherence.Read {
				u.By[j].Write, u.By[j].Whole = [2]int{touch.Write.Lo, touch.Write.Hi}, touch.Whole
			}
		}
	}
	return true
}

// signature returns a number that stands for a launch: what has to be the same on all ranks.
func (d *division) signature(name string, dim int) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	b := d.text[:0]
	for _, n := range d.bounds {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	b = binary.LittleEndian.AppendUint32(b, d.block[dim])
	for _, v := range d.values {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	d.text = b
	_, _ = h.Write(b)
	return h.Sum64()
}
