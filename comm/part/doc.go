// Package part divides the work of a program among the ranks of a communicator.
//
// [Among] does it for programs with kernels in Go: all ranks run the program that one device runs, and each launch is divided. Which
// elements move between ranks is read from the kernels.
//
//	q := part.Among(ctx, halyard.Open(ctx, "all"), c)
//	now, next := halyard.From(q.Queue, plate), halyard.New[float32](q.Queue, len(plate))
//	for range steps {
//		Spread(q, now.InRows(width), next.InRows(width))
//		now, next = next, now
//	}
//	q.Gather(0, now)
//
// [New] makes a buffer that is divided: each rank stores a part of the elements, so the ranks together can have more than fits into the
// memory of one. It is for other kernels too. Each rank owns a part, and has ghosts: copies of elements that other ranks own and that its
// kernels read. A [Halo] says which, by widths around the owned part or by lists of needs. [Buffer.Exchange] makes ghosts current, and
// sends only what was written since the last exchange.
//
//	u, err := part.New[float64](ctx, c, part.Grid([]int{1000, 1000}, []int{2, 2}), part.Width(1, 1))
//	for range steps {
//		_, err = u.Exchange(ctx)
//		... // kernels read u.Local(), and write the owned elements
//	}
//
// What follows is about these buffers.
//
// # Numberings
//
// Shapes, widths and ranges count elements; [Moved] counts bytes. The global numbering is that of the whole grid, in row-major order: the
// last dimension varies fastest. The local numbering is that of one rank's elements, owned and ghosts, as they lie in [Buffer.Local].
// With widths they are a box, again in row-major order: the owned box with the ghosts around it. A grid that is not periodic has no ghosts
// beyond its border, so local boxes at the border are smaller. With needs the ghosts follow the owned elements.
//
// # Who writes what
//
// Local is a [buffer.Buffer] like any other: kernels, leases, slices and functions on the host use it, on any device. The buffer tells this
// package of every access, so a program declares nothing. An access for writing counts as a write of its whole range. So
// take the owned elements for writing, with [Buffer.Owned] or with AcquireRanges and [Buffer.OwnedRanges], and not all of Local.
// An exchange sends the newest owned elements, wherever they are, after the work on them.
//
// Before the next exchange a rank does not learn what other ranks write. But all ranks take the same steps. So when a rank writes owned
// elements, it assumes that the others write theirs, and its ghosts become stale. A rank that writes nothing in a step in which others
// write calls [Buffer.Expire]. An access that reads a stale ghost fails with an error of kind [ErrStale], whose text names the elements. An
// exchange sends only elements that have changed. A method that uses its neighbours' elements of an earlier step keeps them in a buffer of
// its own.
//
// What is written to a ghost is this rank's contribution to the element. This rank can read it, and [Buffer.Accumulate] combines it with
// the owner's element. An exchange replaces it with the owner's element if the owner has written that. If it has not, the contribution is
// lost, the ghost is stale, and the next exchange makes it current.
//
// # Calls of all ranks
//
// New, Exchange, Begin and End, Accumulate, Save, Load and Close are collective: all ranks call them, in the same order.
// While one such call of a buffer is under way, others are refused. All other methods are safe for concurrent use, and so is Local. A
// collective call waits for accesses that conflict with its own. So a lease for writing on owned elements must be released before Exchange.
//
// # Messages and memory
//
// An exchange sends one message to each neighbour, which begins with the ranges that were written. What to send follows from the protocol
// of package coherence, with the owner and the neighbours as its two places. For each neighbour a rank keeps memory for two messages of the
// greatest length. Close frees everything.
//
// With widths, each rank finds its neighbours and what to send to them from the layout alone. The memory and time for that grow with the
// rank's own elements and neighbours, and not with the number of ranks, except with [Starts], which has a number for each rank. With needs,
// New also sends each rank the list of its elements that are needed (comm.Alltoallv), and its length.
//
// # Errors
//
// Errors of collective calls are those of package comm; a call that is refused has changed nothing. If ranks give different arguments, or
// the call fails on another rank, the kind is comm.ErrMismatch. If stale ghosts are read, it is [ErrStale]. After any other error of a call
// that has sent or received, the buffer refuses further collective calls except Close. comm.Comm.Err of the communicator given to New knows
// nothing of it, because New makes one of its own for the buffer.
package part
