package kernel

import (
	"context"
	"errors"
	"math"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/parts"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// leastPart is the smallest number of threads of a part: launches with fewer threads for each device run on fewer devices.
var leastPart = 1024

// divide cuts a launch into parts. divided is false if one device should run the launch, or refuse it.
func (d *launch) divide(ctx context.Context, t *team, k *Kernel, grid hal.Grid, args []Arg) (divided bool, err error) {
	if len(t.streams) < 2 || k == nil || k.p == nil || layer.Empty(grid) {
		return false, nil
	}
	in := k.p.src.Kernels[k.name]
	f := &in.Footprint
	if f.Of == nil || f.Cut == [3]bool{} || len(args) != len(in.Params) {
		return false, nil
	}
	if err := d.read(ctx, t, k, grid, args); errors.Is(err, hal.ErrUnsupported) {
		return false, nil // the first device may be able to run the kernel
	} else if err != nil {
		return false, err
	}
	if len(d.wants) == 0 || d.aliased(args) {
		return false, nil
	}
	for dim := 2; dim >= 0; dim-- {
		if n := d.most(dim, 0, d.blocks[dim], t); f.Cut[dim] && n > 1 && d.cut(dim, 0, d.blocks[dim], n, t, f, args) {
			return true, nil
		}
	}
	return false, nil
}

// read finds the compiled kernels of the devices, the wants and numbers of the arguments, and the blocks of the grid.
func (d *division) read(ctx context.Context, t *team, k *Kernel, grid hal.Grid, args []Arg) (err error) {
	of := k.parts()
	d.divided, d.on = true, resized(d.on, len(t.streams))
	for i, stream := range t.streams {
		if d.on[i], err = of.within(ctx, stream.Device(), grid, args); err != nil {
			return err
		}
		blocks, block, err := layer.Resolve(d.on[i].kernel, grid)
		if err != nil {
			return err
		}
		if i == 0 || threads(block) < threads(d.block) {
			d.blocks, d.block = blocks, block
		}
	}
	if d.wants, err = d.on[0].wants(d.wants, args); err != nil {
		return err
	}
	d.values = d.values[:0]
	for i := range args {
		d.values = append(d.values, args[i].integer(of.types[i]))
	}
	return nil
}

// resized returns the list with n elements, which keep their memory.
func resized[T any](list []T, n int) []T {
	if n <= cap(list) {
		return list[:n]
	}
	return append(list[:cap(list)], make([]T, n-cap(list))...)
}

func threads(n [3]uint32) float64 { return float64(n[0]) * float64(n[1]) * float64(n[2]) }

// aliased reports whether an argument that is written shares elements with another: a footprint knows nothing of that.
func (d *division) aliased(args []Arg) bool {
	for n, i := range buffersOf(args) {
		for m, j := range buffersOf(args[:i]) {
			if (args[i].mode != coherence.Read || args[j].mode != coherence.Read) && d.wants[n].Overlap(d.wants[m]) > 0 {
				return true
			}
		}
	}
	return false
}

// most returns the largest number of devices among which it is worthwhile to divide the blocks from lo to hi along one
// dimension.
func (d *division) most(dim int, lo, hi uint32, t *team) int {
	all := threads(d.blocks) / float64(d.blocks[dim]) * float64(hi-lo) * threads(d.block)
	return int(min(float64(len(t.streams)), float64(hi-lo), all/float64(leastPart)))
}

// cut cuts the blocks from lo to hi along one dimension for the first n devices; some may get no part. It reports false if one part
// writes what another one uses.
func (d *launch) cut(dim int, lo, hi uint32, n int, t *team, f *gridgen.Footprint, args []Arg) bool {
	sum, before := 0.0, 0.0
	for _, share := range t.shares[:n] {
		sum += share
	}
	d.parts = resized(d.parts, n)
	used, from := 0, lo
	for i := range n {
		before += t.shares[i]
		to := lo + uint32(math.Round(before/sum*float64(hi-lo)))
		if d.timed { // else a device whose part is less than half a block would never be measured again
			to = min(max(to, from+1), hi-uint32(n-1-i))
		}
		if i == n-1 {
			to = hi
		}
		if to <= from {
			continue
		}
		p := &d.parts[used]
		p.device, p.stream, p.on = i, t.streams[i], d.on[i]
		d.touches(p, dim, from, to, f, len(args))
		used, from = used+1, to
	}
	d.parts = d.parts[:used]
	return d.apart(args)
}

// touches makes p the part from one block up to another along a dimension, and finds what it uses of n arguments.
func (d *division) touches(p *part, dim int, from, to uint32, f *gridgen.Footprint, n int) {
	p.origin = origin{blocks: d.blocks}
	p.origin.first[dim] = from
	count := d.blocks
	count[dim] = to - from
	p.size = float64(to-from) / float64(d.blocks[dim])
	p.grid = gridOf(count, d.block)
	var box gridgen.Box
	for e := range 3 {
		box.Block[e], box.Blocks[e] = int(d.block[e]), int(d.blocks[e])
		box.Lo[e] = int(p.origin.first[e]) * box.Block[e]
		box.Hi[e] = box.Lo[e] + int(count[e])*box.Block[e]
	}
	p.touch = resized(p.touch, n)
	clear(p.touch)
	if from < to {
		f.Of(box, d.values, p.touch)
	}
}

func gridOf(blocks, block [3]uint32) hal.Grid {
	return hal.Blocks(int(blocks[0]), int(blocks[1]), int(blocks[2])).Of(int(block[0]), int(block[1]), int(block[2]))
}

// apart reports whether no part writes to a span that another one uses. Even if the two use different elements of the span, a
// device gets the whole span, and makes it stale elsewhere.
func (d *launch) apart(args []Arg) bool {
	for n := range buffersOf(args) {
		for j := range d.parts {
			for _, other := range d.parts[:j] {
				if conflict(&d.parts[j].touch[n], &other.touch[n]) {
					return false
				}
			}
		}
	}
	return true
}

// conflict reports whether one of two parts writes to a span that the other one uses.
func conflict(a, b *gridgen.Touch) bool {
	meet := func(a, b buffer.Range) bool { return max(a.Lo, b.Lo) < min(a.Hi, b.Hi) }
	return meet(a.Write, b.Write) || meet(a.Write, b.Read) || meet(a.Read, b.Write)
}

// wantSlice makes the wants of a part: for each buffer what it writes, and what it reads before and behind that. There is always one,
// because the kernel needs the memory.
func (p *part) wantSlice(cover buffer.Leases, args []Arg) {
	for n, i := range buffersOf(args) {
		p.first = append(p.first, len(p.wants))
		eachSpan(&p.touch[n], args[i].mode, func(lo, hi int, mode coherence.Mode) {
			p.wants = append(p.wants, parts.Of(cover, n, lo, hi, mode))
		})
	}
}

// eachSpan calls want for the spans of an argument that is passed with a mode, at least once.
func eachSpan(t *gridgen.Touch, passed coherence.Mode, want func(lo, hi int, mode coherence.Mode)) {
	r, w, mode := t.Read, t.Write, coherence.ReadWrite
	if passed == coherence.Read {
		want(r.Lo, r.Hi, coherence.Read)
		return
	}
	if t.Whole {
		mode = coherence.Overwrite
	}
	want(w.Lo, w.Hi, mode)
	if w.Hi <= w.Lo {
		w = buffer.Range{Lo: r.Hi, Hi: r.Hi}
	}
	if r.Lo < min(r.Hi, w.Lo) {
		want(r.Lo, min(r.Hi, w.Lo), coherence.Read)
	}
	if max(r.Lo, w.Hi) < r.Hi {
		want(max(r.Lo, w.Hi), r.Hi, coherence.Read)
	}
}
