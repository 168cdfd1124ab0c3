package parts

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer/slot"
)

// Target is the same as kernel.Target.
type Target interface{ Device() *hal.Device }

// OnQueue is the target of a queue's launches.
type OnQueue struct {
	Target             // a *hal.Stream, or a *kernel.Split of several devices
	Failed func(error) // is told if the kernel of a launch fails (layer.How)
}

// Ranks is the processes among which launches are divided. Package comm/part makes it, and package kernel divides launches on it. Each rank
// makes every launch, and finds out by itself what the parts of all ranks use.
type Ranks struct {
	*OnQueue   // what this rank's part is launched on
	Rank, Size int
	Bounds     []float64 // rank r has the share of the blocks from Bounds[r] to Bounds[r+1]; all blocks are Bounds[Size]
	Exchanger
}

// Begins returns the first of n blocks that the rank has. For rank = Size it returns n.
func (r *Ranks) Begins(rank, n int) int {
	// the conversion keeps Go from fusing the product and the sum: results would differ between machines
	return int(float64(r.Bounds[rank]/r.Bounds[r.Size]*float64(n)) + 0.5)
}

// Exchanger brings the elements of launches from rank to rank. The calls are the same on all ranks.
type Exchanger interface {
	// Enter waits until no other launch of this rank is under way. Leave follows.
	Enter(ctx context.Context) error
	// Exchange brings the elements that this rank's part reads, and sends those that others read. what has the numbers of a launch; it
	// is an error if they differ between ranks. After Exchange the elements that other ranks' parts write are stale here.
	Exchange(ctx context.Context, what []uint64, uses []Use) error
	// Leave ends the launch. err is an error of this rank alone, so Leave tells the other ranks.
	Leave(err error)
	// Record plans the exchanges of a step, whose launches are made in this order again and again. Between Enter and Leave each run of the
	// step makes all of them, in this order.
	Record(launches []Launch) ([]Exchange, error)
}

// Launch is what Exchange is given for a launch.
type Launch struct {
	What []uint64
	Uses []Use
}

// Exchange is one exchange of a step.
type Exchange struct {
	First, End int                         // of the launches: those from First up to End are made after it
	Make       func(context.Context) error // as Exchanger.Exchange
}

// Use is what the parts of a launch use of one argument.
type Use struct {
	Want buffer.Want
	By   []Touch // of each rank, in elements of the want
}

// Touch is a gridgen.Touch.
type Touch struct {
	Read, Write buffer.Range
	Whole       bool
}

// Watcher learns what accesses of a buffer read and write.
type Watcher = slot.Watcher

// Watched returns the watcher of a want's buffer, and where the want's elements lie in it, in bytes. If there is no watcher, attach returns
// one. It is given all bytes of the buffer, and must not use them before Watched has returned.
var Watched = functions.Watched
