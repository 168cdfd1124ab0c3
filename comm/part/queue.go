package part

import (
	"context"
	"math"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
	launches "github.com/go-halyard/halyard/internal/parts"
	"github.com/go-halyard/halyard/internal/protocol"
	"github.com/go-halyard/halyard/kernel"
)

// Queue is a queue whose launches are divided among the ranks of a communicator, and each rank's part among the queue's devices. [Among]
// makes one.
//
// All ranks run the same program: they make the same buffers, fill them alike, and make the same launches on the Queue, in the same order.
// Each rank runs a part of each launch. The threads of the part have the indexes that they have in a launch on one device. What the part
// reads and writes is known from the kernel's text ([gridgen.Footprint]). Elements that the part reads, and that another rank has written
// since, are received before. So the result has the same bits as on one rank. A step of a stencil, for example, sends to each neighbour
// the rows at the boundary, and nothing else. Launches of one block, which cannot be cut, run on rank 0. Since the order counts, one
// goroutine of a rank makes these calls, and a buffer takes part in the launches of one Queue.
//
// After a launch a rank has only some of the elements. To read others on the host, or by a kernel that is not launched on the Queue, is an
// error of kind [ErrStale] on the queue, until [Queue.Gather] or [Queue.Allgather] has brought them.
//
// A launch is refused, with an error of kind hal.ErrUnsupported, if its kernel cannot be cut. The error has the reason, which "halyard
// kernels -v" prints too. If a call fails on one rank, the others' next launch or Gather that needs elements of that rank fails as well,
// with an error of kind comm.ErrMismatch; so does such a call if the two ranks made different calls before it. A rank that waits for
// another gives up when the context of the queue ends.
//
// Each rank reserves memory for all elements of a buffer, on the host and on each device that uses it. On the host the system provides only
// the pages that the rank reads or writes, but a GPU's memory is taken as a whole. Arrays that are too large for that can be in buffers that
// are divided among the ranks: see [New]. For launches that repeat there is [Queue.Record].
type Queue struct {
	*halyard.Queue
	ranks   *ranks          // nil if there is one rank
	records *launches.Ranks // on which Record records, or nil
}

// Among returns a queue that divides launches among the ranks of c. With a nil communicator, or one of a single rank, it does what q does.
// All ranks call it, and it waits for the others until ctx ends. The queue keeps the error, as it keeps those of all calls. The ranks'
// parts are of the same size, unless shares are given: a positive number for each rank, the same on all ranks. Closing the result closes q.
//
// There may be up to 64 ranks.
func Among(ctx context.Context, q *halyard.Queue, c *comm.Comm, shares ...float64) *Queue {
	const op = "Among"
	if c == nil || c.Size() == 1 {
		return &Queue{Queue: q}
	}
	r := &ranks{turn: make(chan struct{}, 1)}
	r.Size, r.Rank, r.Exchanger, r.attach = c.Size(), c.Rank(), r, r.watch
	r.OnQueue, _ = q.On().(*launches.OnQueue)
	err := q.Err()
	if err == nil && r.OnQueue == nil {
		err = driver.Errorf(op, driver.ErrInvalidArgument, "a step that is recorded; it cannot be divided")
	}
	if err == nil && r.Size > protocol.MaxPlaces {
		err = driver.Errorf(op, driver.ErrUnsupported, "%d ranks; there may be up to %d", r.Size, protocol.MaxPlaces)
	}
	if err == nil {
		err = r.share(op, shares)
	}
	if r.c, err = join(ctx, c, op, err); err == nil {
		err = r.prepare(ctx)
	}
	if err != nil {
		q.Fail(err)
	}
	return &Queue{Queue: q, ranks: r}
}

// share notes where the ranks' parts begin.
func (r *ranks) share(op string, shares []float64) error {
	if len(shares) == 0 {
		for range r.Size {
			shares = append(shares, 1)
		}
	}
	if len(shares) != r.Size {
		return driver.Errorf(op, driver.ErrInvalidArgument, "%d shares for %d ranks", len(shares), r.Size)
	}
	sum := 0.0
	r.Bounds = []float64{0}
	for _, s := range shares {
		if !(s > 0) || math.IsInf(s, 0) {
			return driver.Errorf(op, driver.ErrInvalidArgument, "a share of %v; it must be positive", s)
		}
		sum += s
		r.Bounds = append(r.Bounds, sum)
	}
	return nil
}

// Over is [halyard.Queue.Over].
func (q *Queue) Over(n ...int) *Queue { return q.Grid(hal.Over(n...)) }

// Grid is [halyard.Queue.Grid].
func (q *Queue) Grid(g hal.Grid) *Queue { return &Queue{q.Queue.Grid(g), q.ranks, q.records} }

// Launching is called by generated launchers.
func (q *Queue) Launching(kernel string, over hal.Grid) (ctx context.Context, stream *hal.Stream, grid hal.Grid, ok bool) {
	ctx, stream, grid, ok = q.Queue.Launching(kernel, over)
	if !ok && q.ranks != nil {
		q.ranks.giveUp(q.Err())
	}
	if q.records != nil {
		stream = nil
	}
	return ctx, stream, grid, ok
}

// On is called by generated launchers, too.
func (q *Queue) On() kernel.Target {
	switch {
	case q.ranks == nil:
		return q.Queue.On()
	case q.records != nil:
		return q.records
	}
	return &q.ranks.Ranks
}

// Gather brings the newest elements of x to one rank, where the host can then read all of them. All ranks call it.
func (q *Queue) Gather(root int, x kernel.Operand) { q.gather("Gather", root, x) }

// Allgather brings the newest elements of x to all ranks. All ranks call it.
func (q *Queue) Allgather(x kernel.Operand) { q.gather("Allgather", anyone, x) }

func (q *Queue) gather(op string, root int, x kernel.Operand) {
	if q.ranks == nil {
		return
	}
	ctx, _, _, ok := q.Launching(op, hal.Over(1))
	if ok {
		err := kernel.ErrUnfinished
		defer func() { q.Launched(err) }()
		if q.records != nil {
			err = driver.Errorf(op, driver.ErrInvalidArgument, "the function of Record only launches; call %s before Record, or after Run", op)
			return
		}
		err = q.ranks.gather(ctx, op, root, x)
	}
}

func (r *ranks) gather(ctx context.Context, op string, root int, x kernel.Operand) (err error) {
	if x == nil || root != anyone && (root < 0 || root >= r.Size) {
		return driver.Errorf(op, driver.ErrInvalidArgument, "nil elements, or rank %d of %d", root, r.Size)
	}
	u := launches.Use{Want: x.Want(coherence.Read), By: make([]launches.Touch, r.Size)}
	if err := u.Want.Err(); err != nil {
		return err
	}
	for i := range u.By {
		if root == anyone || root == i {
			u.By[i].Read.Hi = math.MaxInt
		}
	}
	if err := r.Enter(ctx); err != nil {
		return err
	}
	defer func() { r.Leave(err) }()
	return r.exchange(ctx, op, []uint64{uint64(root + 1)}, []launches.Use{u})
}

// Moved returns what this rank has sent so far.
func (q *Queue) Moved() Moved {
	if q.ranks == nil {
		return Moved{}
	}
	q.ranks.turn <- struct{}{}
	defer func() { <-q.ranks.turn }()
	return q.ranks.moved
}

// Close is [halyard.Queue.Close], and ends the division. All ranks call it.
func (q *Queue) Close() error {
	if r := q.ranks; r != nil {
		if ctx, _, _, ok := q.Launching("Close", hal.Over(1)); ok {
			q.Launched(r.part(ctx))
		}
		q.Fail(r.close())
	}
	return q.Queue.Close()
}
