package kernel

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/parts"
)

// leastPart is the least threads of a part: fewer are launched on fewer devices.
var leastPart = 1024

// division is one launch on several devices. It is used again for later launches.
type division struct {
	scratch             // wants: one for each buffer among the arguments, with all its elements
	on      []*onDevice // of each device of the team
	parts   []part
	cover   buffer.Leases // on all elements of all buffers
	values  []int64
	blocks  [3]uint32    // of the whole grid
	block   [3]uint32    // threads
	timed   bool         // the launch is to be timed: each device gets a block at least
	trial   *trial       // nil if the launch is not timed
	owner   *func(error) // layer.Owner of the grid

	// For launches among ranks (ranks.go):
	one    team        // of a rank with one device
	bounds []uint32    // of the ranks' parts, in blocks, and the end
	uses   []parts.Use // of each buffer among the arguments
	text   []byte
}

// part is what one device does of a launch.
type part struct {
	device  int // index in the team
	stream  *hal.Stream
	on      *onDevice
	grid    hal.Grid
	origin  origin
	size    float64 // of the whole grid
	touch   []Touch // of each buffer among the arguments; there may be more
	scratch         // wants: at least one for each buffer
	first   []int   // of each buffer: the index of its first want
	leases  buffer.Leases
	faults  *faults
	err     error // why the kernel was not enqueued, or why it failed
	done    bool  // the kernel was enqueued
}

var divisions = sync.Pool{New: func() any { return new(division) }}

func (d *division) give() {
	d.parts = d.parts[:cap(d.parts)]
	for i := range d.parts {
		d.parts[i].clear()
	}
	d.scratch.clear()
	d.forget()
	clear(d.on)
	d.trial, d.cover, d.owner = nil, buffer.Leases{}, nil
	divisions.Put(d)
}

func (p *part) clear() {
	p.scratch.clear()
	p.stream, p.on, p.leases, p.faults, p.err, p.done = nil, nil, buffer.Leases{}, nil, nil, false
	p.first = p.first[:0]
}

// divide cuts a launch into parts. divided is false if one device should run it, or say what is wrong with it.
func (d *division) divide(ctx context.Context, t *team, k *Kernel, grid hal.Grid, args []Arg) (divided bool, err error) {
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

// read looks at the arguments, and finds the blocks of the grid.
func (d *division) read(ctx context.Context, t *team, k *Kernel, grid hal.Grid, args []Arg) (err error) {
	of := k.parts()
	d.owner = layer.Owner(grid)
	d.on = resized(d.on, len(t.streams))
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
	on := d.on[0]
	if err := on.covers(grid); err != nil {
		return err
	}
	if err := on.wants(k.call, &d.scratch, args); err != nil {
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

// most returns how many devices the blocks from lo to hi along one dimension are worth.
func (d *division) most(dim int, lo, hi uint32, t *team) int {
	all := threads(d.blocks) / float64(d.blocks[dim]) * float64(hi-lo) * threads(d.block)
	return int(min(float64(len(t.streams)), float64(hi-lo), all/float64(leastPart)))
}

// cut cuts the blocks from lo to hi along one dimension for the first n devices, of which some may have no part. It reports false if the
// parts' writes cannot be told apart.
func (d *division) cut(dim int, lo, hi uint32, n int, t *team, f *Footprint, args []Arg) bool {
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
func (d *division) touches(p *part, dim int, from, to uint32, f *Footprint, n int) {
	p.origin = origin{blocks: d.blocks}
	p.origin.first[dim] = from
	count := d.blocks
	count[dim] = to - from
	p.size = float64(to-from) / float64(d.blocks[dim])
	p.grid = layer.Owned(gridOf(count, d.block), d.owner)
	var box Box
	for e := range 3 {
		box.Block[e] = int(d.block[e])
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

// apart reports whether no part writes to a span that another one uses. The elements may differ, but a device gets, and makes stale
// elsewhere, the span.
func (d *division) apart(args []Arg) bool {
	meet := func(a, b buffer.Range) bool { return max(a.Lo, b.Lo) < min(a.Hi, b.Hi) }
	for n := range buffersOf(args) {
		for j := range d.parts {
			for _, other := range d.parts[:j] {
				a, b := &d.parts[j].touch[n], &other.touch[n]
				if meet(a.Write, b.Write) || meet(a.Write, b.Read) || meet(a.Read, b.Write) {
					return false
				}
			}
		}
	}
	return true
}

// crossings is how many launches in a row have to copy elements before await waits for the devices.
const crossings = 4

// await waits until the devices have done what they were given, if they cannot wait for each other and each of the last launches of the
// kernel copied elements. The caller then makes these copies at once. Otherwise a stream waits for a gate, which another goroutine
// opens after it has found out that the other device is done: these wake-ups come late when all processors are busy.
func (d *division) await(ctx context.Context) {
	if d.on[0].crossed.Load() < crossings || d.linked() {
		return
	}
	for i := range d.parts {
		if !layer.EndsByItself(d.parts[i].stream) {
			return
		}
	}
	for i := range d.parts {
		_ = layer.Drain(d.parts[i].stream, ctx) // the launch itself finds out if ctx has ended
	}
}

// linked reports whether the devices of the parts can wait for each other's events.
func (d *division) linked() bool {
	first := d.parts[0].stream.Device()
	return !slices.ContainsFunc(d.parts[1:], func(p part) bool { return !first.CanAccessPeer(p.stream.Device()) })
}

// launch takes leases on all buffers, on the devices of all parts, and enqueues the parts. A launch that is refused changes no element.
func (d *division) launch(ctx context.Context, args []Arg) (err error) {
	d.await(ctx)
	if d.cover, err = parts.Cover(ctx, d.wants); err != nil {
		return d.on[0].unleased("launch", err, args, d.wants)
	}
	enqueued := false
	defer func() { err = cmp.Or(err, d.end(ctx, 0, enqueued)) }()
	copied := false
	for i := range d.parts {
		if err = d.parts[i].prepare(ctx, d.cover, args); err != nil {
			return err
		}
		copied = copied || parts.Copied(d.parts[i].leases)
	}
	if n := &d.on[0].crossed; !copied {
		n.Store(0)
	} else if n.Load() < crossings {
		n.Add(1)
	}
	for i := 1; i < len(d.parts); i++ { // the launch of the first part checks its arguments itself
		p := &d.parts[i]
		if err = p.stream.Launch(p.on.kernel, layer.None(p.grid), p.args...); err != nil {
			return err
		}
	}
	for i := range d.parts {
		p := &d.parts[i]
		if err != nil && !enqueued {
			break
		}
		d.trial.before(p.device, p.size, p.stream)
		if p.err = p.stream.Launch(p.on.kernel, layer.Keyed(p.grid, parts.Key(p.leases)), p.args...); p.err != nil {
			err = cmp.Or(err, p.err)
			continue
		}
		p.done, enqueued = true, true
		d.trial.after(p.device, p.stream)
	}
	return err
}

// end ends the leases of the parts from i on, and then the cover. If an observer of a buffer panics, the others end all the same.
func (d *division) end(ctx context.Context, i int, enqueued bool) (err error) {
	if i == len(d.parts) {
		return d.cover.Release()
	}
	defer func() { err = cmp.Or(err, d.end(ctx, i+1, enqueued)) }()
	return d.parts[i].end(ctx, enqueued)
}

// prepare takes the leases of a part, and makes its arguments.
func (p *part) prepare(ctx context.Context, cover buffer.Leases, args []Arg) (err error) {
	for n, i := range buffersOf(args) {
		p.first = append(p.first, len(p.wants))
		p.want(cover, n, args[i].mode)
	}
	if p.leases, err = buffer.ReserveAll(ctx, p.stream, p.wants...); err != nil {
		return err
	}
	p.regions = p.leases.Regions(p.regions)
	n := 0
	for i := range args {
		if !args[i].buffer {
			p.args = append(p.args, args[i].arg)
			continue
		}
		p.args = append(p.args, hal.At(p.regions[p.first[n]]))
		n++
	}
	if p.faults, err = p.on.faultsOn(p.stream); err != nil {
		return err
	}
	if p.faults != nil {
		p.args = append(p.args, hal.At(p.faults.mem.All()))
	}
	p.args = append(p.args, hal.Struct(&p.origin))
	return nil
}

// want appends the wants of a part for buffer n: what it writes, and what it reads before and behind that. There is always one, because the
// kernel needs the memory.
func (p *part) want(cover buffer.Leases, n int, mode coherence.Mode) {
	r, w := p.touch[n].Read, p.touch[n].Write
	if mode == coherence.Read {
		p.wants = append(p.wants, parts.Of(cover, n, r.Lo, r.Hi, coherence.Read))
		return
	}
	mode = coherence.ReadWrite
	if p.touch[n].Whole {
		mode = coherence.Overwrite
	}
	p.wants = append(p.wants, parts.Of(cover, n, w.Lo, w.Hi, mode))
	if w.Hi <= w.Lo {
		w = buffer.Range{Lo: r.Hi, Hi: r.Hi}
	}
	if r.Lo < min(r.Hi, w.Lo) {
		p.wants = append(p.wants, parts.Of(cover, n, r.Lo, min(r.Hi, w.Lo), coherence.Read))
	}
	if max(r.Lo, w.Hi) < r.Hi {
		p.wants = append(p.wants, parts.Of(cover, n, max(r.Lo, w.Hi), r.Hi, coherence.Read))
	}
}

// end ends the leases of a part. enqueued says that a part of the launch has been enqueued, perhaps another one.
func (p *part) end(ctx context.Context, enqueued bool) (err error) {
	if p.faults != nil {
		if p.done {
			err, p.err = p.faults.inspect(ctx, p.stream)
		}
		p.faults.close()
	}
	switch {
	case p.leases == buffer.Leases{}:
		return err
	case !enqueued:
		return cmp.Or(err, p.leases.Release())
	}
	err = cmp.Or(err, p.leases.Commit())
	if e := release(p.leases, p.err); p.done {
		err = cmp.Or(err, e)
	}
	return err
}
