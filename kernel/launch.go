package kernel

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/parts"
)

// scratch has the slices that a launch needs. They are used again for later launches.
type scratch struct {
	wants   []buffer.Want
	regions []hal.Region
	args    []hal.Arg
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (s *scratch) clear() {
	clear(s.wants)
	clear(s.regions)
	clear(s.args)
	s.wants, s.regions, s.args = s.wants[:0], s.regions[:0], s.args[:0]
}

func (s *scratch) give() {
	s.clear()
	scratches.Put(s)
}

// Launch runs the kernel on the stream, once for each thread of the grid, and does not wait for it. First it takes leases on all buffers
// among the arguments, and waits for them until ctx ends. Then it enqueues the copies that make them current on the stream's device. The
// program is compiled if this is its first launch there.
//
// Launch checks number, kinds and sizes of the arguments as [hal.Stream.Launch] does, and refuses InOut and Out for a parameter that is
// declared const. A launch that is refused, for whatever reason, changes no element. If the grid is empty nothing is launched.
//
// With a grid of [Split.Grid] the launch is divided among devices, and with one of [Step.Grid] it is recorded; stream is not used.
func (k *Kernel) Launch(ctx context.Context, stream *hal.Stream, grid hal.Grid, args ...Arg) error {
	const op = "launch"
	switch among := layer.Among(grid).(type) {
	case *Split:
		return among.launch(ctx, k, grid, args)
	case parts.Ranks:
		return k.launchAmong(ctx, stream, among, grid, args)
	case recorder:
		return among.launch(ctx, k, grid, args)
	}
	if stream == nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "nil stream")
	}
	if err := layer.Err(stream); err != nil {
		return err
	}
	d, err := k.within(ctx, stream.Device(), grid, args)
	if err != nil {
		return err
	}
	if err := d.covers(grid); err != nil {
		return err
	}
	s := scratches.Get().(*scratch)
	defer s.give()
	if err := d.wants(k.call, s, args); err != nil {
		return err
	}
	var leases buffer.Leases
	if len(s.wants) > 0 {
		if leases, err = buffer.ReserveAll(ctx, stream, s.wants...); err != nil {
			return d.unleased(op, err, args, s.wants)
		}
		s.regions = leases.Regions(s.regions)
	}
	n := 0
	for i := range args {
		if !args[i].buffer {
			s.args = append(s.args, args[i].arg)
			continue
		}
		s.args = append(s.args, hal.At(s.regions[n]))
		n++
	}
	faults, err := d.faultsOn(stream)
	if err != nil {
		if len(s.wants) > 0 {
			err = errors.Join(err, leases.Release())
		}
		return err
	}
	defer faults.close()
	if faults != nil {
		s.args = append(s.args, hal.At(faults.mem.All()))
	}
	if checking.Load() && len(s.wants) > 0 && !layer.Empty(grid) {
		return d.launchChecked(ctx, stream, grid, args, s, leases, faults)
	}
	err = stream.Launch(d.kernel, layer.Keyed(grid, parts.Key(leases)), s.args...)
	enqueued := err == nil && !layer.Empty(grid)
	var bad error // why what the kernel wrote is lost, if it is known
	if enqueued && faults != nil {
		err, bad = faults.inspect(ctx, stream)
	}
	if len(s.wants) > 0 {
		if enqueued {
			err = cmp.Or(err, leases.Commit())
		}
		if e := release(leases, bad); !enqueued { // else it only says that the stream was closed since, but the launch counts
			err = cmp.Or(err, e)
		}
	}
	return err
}

// release ends the leases of a launch. If bad is not nil, what the kernel wrote is lost. The stream has told that error, so its events do
// not tell it again.
func release(leases buffer.Leases, bad error) error {
	if bad == nil {
		return leases.Release()
	}
	return leases.ReleaseChecked(func() error { return bad })
}
