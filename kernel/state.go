package kernel

import (
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/parts"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// This file has what a launch, its parts and a recorded step hold. The heads of launch.go and step.go name the files that use it.

// launch is one launch. It is used again for later ones.
type launch struct {
	parts  []part
	failed func(error)   // parts.OnQueue.Failed
	team   []*hal.Stream // of a Split, else nil
	division
}

// part is what one device does of a launch: one kernel, or those of a recorded step.
type part struct {
	stream *hal.Stream
	on     *onDevice
	grid   hal.Grid
	step   *launches // of a recorded step, else nil; on and grid are not set
	slice            // of a launch that was divided

	wants    []buffer.Want // if the part is all of a launch, one for each buffer among the arguments, else at least one
	leases   buffer.Leases // zero if there are no wants
	regions  []hal.Region
	args     []hal.Arg
	faults   *faults
	enqueued int   // kernels
	err      error // why what the part writes is lost, if that is known
}

// slice is what one device does of a launch that is divided.
type slice struct {
	device int // index in the team
	origin origin
	size   float64         // of the whole grid
	touch  []gridgen.Touch // of each buffer among the arguments; there may be more
	first  []int           // of each buffer: the index of its first want
}

// share is the blocks along a dimension that a rank runs of a launch.
type share struct {
	dim    int
	lo, hi uint32
}

// division is what is known of a launch that is divided. Its slices keep their memory.
type division struct {
	divided bool          // there is a part for each device; else one part has all threads
	wants   []buffer.Want // one for each buffer among the arguments, with all its elements
	cover   buffer.Leases // on wants
	on      []*onDevice   // of each device of the team
	values  []int64
	blocks  [3]uint32 // of the whole grid
	block   [3]uint32 // threads
	timed   bool      // the launch is to be timed: each device gets a block at least
	trial   *trial    // nil if the launch is not timed

	// For launches among ranks (ranks.go):
	one    team        // of a rank with one device
	bounds []uint32    // of the ranks' parts, in blocks, and the end
	uses   []parts.Use // of each buffer among the arguments
	what   []uint64
}

// origin is the last argument of a kernel that runs a part of a grid. Its threads ask for their places as in a launch of the whole grid.
type origin struct {
	first  [3]uint32 // the part's first block
	blocks [3]uint32 // of the whole grid
}

var pooled = sync.Pool{New: func() any { return &launch{parts: make([]part, 1)} }}

// give returns the launch to the pool, with one part.
func (l *launch) give() {
	for i := range l.parts[:cap(l.parts)] {
		p := &l.parts[:cap(l.parts)][i]
		if p.stream == nil {
			continue
		}
		clear(p.wants)
		clear(p.regions)
		clear(p.args)
		*p = part{wants: p.wants[:0], regions: p.regions[:0], args: p.args[:0], slice: slice{touch: p.touch, first: p.first[:0]}}
	}
	if len(l.on) > 0 {
		l.division.clear()
	}
	l.parts, l.failed, l.team, l.cover = l.parts[:1], nil, nil, buffer.Leases{}
	pooled.Put(l)
}

func (d *division) clear() {
	clear(d.wants)
	clear(d.on)
	clear(d.one.streams)
	for i := range d.uses {
		d.uses[i] = parts.Use{By: d.uses[i].By}
	}
	d.wants, d.on, d.trial, d.cover, d.timed, d.divided = d.wants[:0], d.on[:0], nil, buffer.Leases{}, false, false
}

// team is the devices that work, and how they share.
type team struct {
	streams []*hal.Stream
	shares  []float64 // positive
	gone    error     // why there is no device
}

// trial is a launch whose parts are timed.
type trial struct {
	team  *team
	times []timing // of the devices, in the order of the team
}

// timing is the events around the kernel of one part, and the part's share of the whole grid. The events are nil if the device has no part.
type timing struct {
	from, to *hal.Event
	part     float64
}

// launches is what a step does, or what one device does in a segment of it.
type launches struct {
	list  []recorded
	plain bool          // Run launches each by itself
	wants []buffer.Want // one for each buffer

	mu       sync.Mutex          // held while the launches are enqueued
	regions  []hal.Region        // of wants in the last run
	prepared bool                // for these regions, if that is possible
	run      func() (int, error) // enqueues what was prepared; nil if nothing was
	end      func() error        // frees it, or nil
	closed   bool
	plan     *plan // on a Split, and among ranks

	// Of a step among ranks:
	exchanges []parts.Exchange
	alone     *team // of a rank with one device

	// Of a segment's part (stepsplit.go):
	stream  *hal.Stream
	of      []int        // of each launch: the index in the list of the step
	under   []int        // of each want: the index in the wants of the step
	crossed atomic.Int32 // of the first part: as onDevice.crossed
}

// recorded is a launch of a step.
type recorded struct {
	k     *Kernel
	on    *onDevice // when it was recorded
	grid  hal.Grid
	whole hal.Grid // the grid that the program gave; grid may be a part of it
	args  []Arg
	wants []buffer.Want // one for each buffer among the arguments
	which []int         // of these: the index in launches.wants
	place []hal.Region  // of these: the place in the region of that want
	uses  []use         // while a plan is made

	// Of a step among ranks:
	share    share
	exchange int     // the index of the one before it
	among    *launch // what it uses, while the step is recorded

	// launches.mu guards these.
	now   *onDevice // in the last run
	ready []hal.Arg // the arguments, with the regions of the last run
}

// use is elements that a launch uses.
type use struct {
	arg    int // among the buffers
	want   buffer.Want
	writes bool
}

// plan is how a step runs on the devices of a Split, or a rank's share of it on the rank's devices.
type plan struct {
	team     *team // for which it was made
	segments []segment
	timed    int  // launches that may be timed: those divided among the whole team
	runs     int  // since one was timed; guarded by launches.mu
	plain    bool // a kernel reports what is wrong, and its launch waits for that
}

// segment is launches in a row.
type segment struct {
	first int         // index in launches.list of its first launch
	parts []*launches // of one device each
}
