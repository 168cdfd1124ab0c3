package parts

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
)

// Target is as kernel.Target.
type Target interface{ Device() *hal.Device }

// OnQueue is the target of a queue's launches.
type OnQueue struct {
	Target             // a *hal.Stream, or a *kernel.Split of several devices
	Failed func(error) // is told if the kernel of a launch fails (layer.How)
}

// Ranks is the processes among which launches are divided. Package comm/part implements it, and package kernel calls it for launches on it.
// Each rank makes every launch, and finds out by itself what the parts of all ranks use; so the calls below are the same on all ranks.
type Ranks interface {
	Target
	// Ranks returns the number of this rank, and of all.
	Ranks() (rank, size int)
	// On returns what this rank's part is launched on: the target of its queue.
	On() Target
	// Begins returns where the part of a rank begins, of so many blocks in order. For the number of all ranks it returns n.
	Begins(rank, n int) int
	// Enter waits until no other launch of this rank is under way. Leave follows.
	Enter(ctx context.Context) error
	// Exchange brings the elements that this rank's part reads, and sends those that others read. what is a number that stands for the
	// launch: it is an error if it differs between ranks. Then the elements that other ranks' parts write are stale here.
	Exchange(ctx context.Context, what uint64, uses []Use) error
	// Leave ends the launch. An error is one of this rank alone, so the others are told.
	Leave(err error)
}

// Use is what the parts of a launch use of one argument.
type Use struct {
	Want buffer.Want
	By   []Touch // of each rank, in elements of the want
}

// Touch is what one part reads and writes, each from one element up to but not including another. Whole says that every element from
// Write[0] to Write[1] is written and that what it held is not read.
type Touch struct {
	Read, Write [2]int
	Whole       bool
}

// Watched returns the watcher of a want's buffer, and where the want's elements lie in it, in bytes. If there is no watcher, attach returns
// one. It is given all bytes of the buffer, and must not use them before Watched has returned.
var Watched = functions.Watched
