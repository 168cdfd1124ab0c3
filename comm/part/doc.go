// Package part divides buffers among the ranks of a communicator. Each rank owns a part of the elements, and has ghosts: copies of
// elements that other ranks own and that its kernels read. [Buffer.Exchange] makes ghosts current, and sends what was written since the last
// exchange, and nothing else.
//
//	u, err := part.New[float64](ctx, c, part.Grid([]int{1000, 1000}, []int{2, 2}), part.Width(1, 1))
//	for range steps {
//		_, err = u.Exchange(ctx)
//		... // kernels read u.Local(), and write the owned elements
//	}
//
// # Numberings
//
// Shapes, widths and ranges count elements; [Moved] counts bytes. The global numbering is that of the whole grid, in row-major order: the
// last dimension varies fastest. The local numbering is that of one rank's elements, owned and ghosts, as they lie in [Buffer.Local].
// There it is a box, again in row-major order: the owned box with the ghosts around it. A grid that is not periodic has no ghosts beyond its
// border, so local boxes at the border are smaller. Ghosts of needs follow the owned elements.
//
// # Who writes what
//
// Local is a [buffer.Buffer] like any other: kernels, leases, slices and functions on the host use it, on any device. The buffer tells this
// package of every access, so a program declares nothing. Elements count as written as announced: an access for writing writes all of its range. So
// take the owned elements for writing, with [Buffer.Owned] or with AcquireRanges and [Buffer.OwnedRanges], and not all of Local.
// An exchange sends the newest owned elements, wherever they are, after the work on them.
//
// A rank does not hear of writes elsewhere before the next exchange. Ranks do the same steps at the same time, though. So a ghost becomes stale when its rank
// writes owned elements: the others then write theirs. A rank that writes nothing in a step which others write in calls [Buffer.Expire]. To
// read a stale ghost is a [StaleError], which names the elements; no access gives old ones. The exchange finds out what has changed, and where
// nothing has, no elements are sent. [Lagged] is for methods that want elements of earlier steps.
//
// What is written to a ghost is this rank's contribution to the element. It can be read here, and [Buffer.Accumulate] combines it with
// the owner's element. An exchange forgets it, and brings the owner's.
//
// # Calls of all ranks
//
// New, Exchange, Begin and End, Accumulate, Redistribute, Save, Load and Close are collective: all ranks call them, in the same order. A buffer has one such call under
// way at a time; others are refused. All other methods are safe for concurrent use, and so is Local. A collective
// call waits for accesses that exclude it, as package buffer says. So a lease for writing on owned elements must be released before Exchange.
//
// # Messages and memory
//
// An exchange sends one message to each neighbour, which begins with the ranges that were written; a second one follows only if the neighbour
// had written over ghosts. Messages come from the ranks' maps of package coherence's protocol, with owner and neighbour as the places. For each neighbour a rank
// keeps memory for two messages of the greatest length. A buffer is closed by Close, which frees everything.
//
// With widths, each rank finds its neighbours and what goes to them from the layout alone. What it keeps and looks at for that grows with its
// own elements and neighbours, and not with the number of ranks, unless the layout is explicit: [Starts] has a number for each rank. With
// needs, New exchanges a number for each rank as well, and two messages with each neighbour. [PlanExchange] and [PlanRedistribute] say what ranks
// would send without a communicator, so that a program can plan for more ranks than there are.
//
// # Errors
//
// Errors of collective calls are those of package comm; a call that is refused has changed nothing. Where ranks differ, the kind is
// comm.ErrMismatch. Reading stale ghosts is of kind [ErrStale]. After any other error of a call that has begun the communicator may refuse further calls.
package part
