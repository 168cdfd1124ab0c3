package kernel

import (
	"context"
	"errors"
	"slices"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/parts"
)

// This file is what a step does with the list of its launches: Record calls check and combine, Run calls enqueue and what it needs, and
// Close calls close. See the head of step.go.

// check has the driver check a launch, by a launch that does nothing, with memory of no bytes for each buffer. more are arguments that the
// program does not give.
func (one *recorded) check(stream *hal.Stream, more ...hal.Arg) error {
	none, err := stream.Device().Alloc(hal.KindDevice, 0, 0)
	if err != nil {
		return err
	}
	for i := range one.args {
		if a := &one.args[i]; a.buffer {
			one.ready = append(one.ready, hal.At(none.All()))
		} else {
			one.ready = append(one.ready, a.arg)
		}
	}
	one.ready = one.on.sized(one.ready, one.args)
	if one.on.sites != nil {
		one.ready = append(one.ready, hal.At(none.All()))
	}
	one.ready = append(one.ready, more...)
	return errors.Join(layer.Launch(stream, one.on.kernel, one.grid, layer.How{Check: true}, one.ready), none.Close())
}

// combine makes one want for each buffer. Launches of empty grids are left out.
func (l *launches) combine() {
	var all [][]buffer.Want
	kept := l.list[:0]
	for _, one := range l.list {
		if !layer.Empty(one.grid) {
			kept = append(kept, one)
			all = append(all, one.wants)
		}
	}
	l.list = kept
	which, place := []int(nil), []hal.Region(nil)
	l.wants, which, place = parts.InTurn(all)
	for i := range l.list {
		one := &l.list[i]
		n := len(one.wants)
		one.which, one.place = which[:n], place[:n]
		which, place = which[n:], place[n:]
	}
}

// enqueue enqueues the launches on the stream of p, which has their leases. n is how many were enqueued.
func (l *launches) enqueue(ctx context.Context, p *part, how layer.How) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stream := p.stream
	same, err := l.renew(ctx, stream, p.regions)
	switch {
	case err != nil:
		return 0, err
	case same && !l.prepared && !l.closed: // memory that moves in each run is not worth it
		l.prepare(stream, how)
	}
	if l.run != nil {
		return l.run()
	}
	each := !layer.KeepsFailures(stream)
	for i := range l.list {
		if i > 0 && each {
			parts.Mark(p.leases)
		}
		one := &l.list[i]
		if err := layer.Launch(stream, one.now.kernel, one.grid, how, one.ready); err != nil {
			return i, err
		}
	}
	return len(l.list), nil
}

// renew finds kernels again whose program was closed, and writes the arguments again if memory is not where it was. same says that all is
// as in the last run.
func (l *launches) renew(ctx context.Context, stream *hal.Stream, regions []hal.Region) (same bool, err error) {
	same = slices.Equal(l.regions, regions)
	for i := range l.list {
		one := &l.list[i]
		if one.now.round != one.now.p.round.Load() {
			on, err := one.k.within(ctx, stream.Device(), one.whole, one.args)
			if err != nil {
				return false, err
			}
			one.now, same = on, false
		}
	}
	if same {
		return true, nil
	}
	for i := range l.list {
		one := &l.list[i]
		for n, j := range buffersOf(one.args) {
			r, at := regions[one.which[n]], one.place[n]
			one.ready[j] = hal.At(hal.Region{Mem: r.Mem, Off: r.Off + at.Off, Len: at.Len})
		}
	}
	l.regions = append(l.regions[:0], regions...)
	return false, l.forget()
}

// prepare has the driver prepare the launches. If it cannot, each is launched, and what is wrong with it is the error of that.
func (l *launches) prepare(stream *hal.Stream, how layer.How) {
	var kernels []*hal.Kernel
	var grids []hal.Grid
	var args [][]hal.Arg
	for i := range l.list {
		one := &l.list[i]
		kernels, grids, args = append(kernels, one.now.kernel), append(grids, one.grid), append(args, one.ready)
	}
	l.prepared = true
	l.run, l.end, _ = layer.Prepare(stream, kernels, grids, how, args)
}

// unleased returns the error of a run whose leases were refused, with the argument that is the reason. It does not wait for other runs, as
// the context may have ended.
func (l *launches) unleased(err error) error {
	for i := range l.list {
		one := &l.list[i]
		for j := range one.wants {
			if one.wants[j].Err() != nil {
				return one.on.unleased("run", err, one.args, one.wants)
			}
		}
	}
	return err
}

// forget frees what was prepared.
func (l *launches) forget() (err error) {
	if l.end != nil {
		err = l.end()
	}
	l.prepared, l.run, l.end = false, nil, nil
	return err
}

func (l *launches) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return errors.Join(l.forget(), l.plan.close())
}

// close frees what was prepared for the devices.
func (p *plan) close() (err error) {
	if p == nil {
		return nil
	}
	for i := range p.segments {
		for _, l := range p.segments[i].parts {
			err = errors.Join(err, l.close())
		}
	}
	return err
}
