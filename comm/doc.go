// Package comm sends coherent buffers between processes.
//
// A [Comm] is a communicator as in MPI: ranks 0 to Size-1, which exchange messages ([Send], [Recv], [Isend], [Irecv], [Sendrecv],
// [Probe]) and take part in collective operations ([Bcast], [Allreduce] and others). An [Engine] carries the
// messages, and [New] makes a communicator of an engine's ranks. Package conformance/commtest has an engine for tests, whose ranks are
// goroutines of one process.
//
// # Buffers
//
// A send waits for the devices that write the buffer, or the slice of one, and copies to the host what is stale there. So a message never
// leaves before the kernel that computes it has ended, and a received one never replaces elements that a kernel still reads.
// After a receive the elements are stale on the devices, which copy them when they use them next.
//
// An operation holds leases on the host ([buffer.Buffer.AcquireHost]) until it has ended: for reading what it sends, for writing what it
// receives. Accesses that conflict with a lease wait, or fail with an error that names the lease. A call that needs two buffers first
// leases the one that it sends. So two goroutines whose calls use the same two buffers in opposite roles may wait for each other until a
// context ends.
//
// An engine never sees Go's heap, because the libraries of fast networks keep memory registered and do not notice when Go gives pages back
// to the system. Elements are copied through memory of the engine, which is kept for later operations until the last communicator of
// the engine is closed. Buffers of [NewBuffer] have memory of the engine themselves, so that nothing is copied.
//
// # Waiting and failures
//
// Every call that waits takes a context. The calling goroutine polls the engine: for a millisecond without a pause, and then with sleeps of
// about a hundredth of the time that it has waited so far. If the context ends first, the error is of kind [ErrTimeout]. A receive is then
// cancelled. Other operations cannot be cancelled, so the engine's memory for them is not used again.
//
// The first operation that fails after it has begun makes its communicator refuse all others with an error of the same kind, because ranks
// may no longer agree on which messages belong together. [Comm.Err] returns that first error. The elements of buffers that a failed
// operation was to write are lost: until they are written anew or reset, every access that reads one of them fails with an error whose
// cause is the operation's error. Go slices are unchanged. A call whose arguments are refused changes nothing.
//
// Ranks that start different collective operations, or the same with different lengths, get wrong elements or wait for ever, as in MPI, and
// with some libraries write beyond the memory of a rank whose length is shorter. The
// engine of conformance/commtest compares them: with that engine a program's tests get an error of kind [ErrMismatch]. No engine notices
// that the elements of a message have another type than the memory that receives them.
//
// All functions are safe for concurrent use. As in MPI, all ranks start the collective operations of a communicator in the same order,
// so goroutines that start some at the same time need a communicator each ([Comm.Dup]).
//
// The head of message.go says how a message goes through this package.
package comm
