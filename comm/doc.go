// Package comm sends coherent buffers between processes.
//
// A [Comm] is a communicator as in MPI: ranks 0 to Size-1, which exchange messages ([Send], [Recv], [Isend], [Irecv], [Sendrecv]) and
// take part in collective operations ([Bcast], [Allreduce] and others). What carries the messages is an engine, a
// driver.Engine of package comm/driver, and [New] makes a communicator of one. Package comm/commtest has an engine for tests, whose ranks are
// goroutines of one process.
//
// # Buffers
//
// A buffer, or a slice of one, is sent from wherever its newest elements are: a device's work on them is waited for, and what is stale on
// the host is copied there first. So a message never leaves before the kernel that computes it has ended, and never arrives under a kernel that still reads.
// What was received is stale on the devices, which copy it when they use it next.
//
// While an operation is under way it holds leases on the host ([buffer.Buffer.AcquireHost]): for reading what it sends, for writing what it
// receives. Other accesses wait, or fail with a conflict that names this one. A call that needs two buffers takes the lease on what it sends first.
// Two goroutines whose calls need the same two buffers in opposite roles may therefore wait for each other until a context ends.
//
// An engine never sees Go's heap, because the libraries of fast networks keep memory registered and do not notice when Go gives pages back to the
// system. Elements are copied through memory of the engine, which is kept for later operations until the last communicator of
// the engine is closed. Buffers of [NewBuffer] have memory of the engine themselves, so that nothing is copied. [Direct] avoids the copy for all buffers, where that
// danger does not exist.
//
// # In the order of a stream
//
// [SendOn] and [RecvOn] take their place in the work of a stream, as a kernel does: what is sent is what the stream has made before, what it does later
// finds what was received, and the program waits for nothing in between. One goroutine for each engine goes on with all of them.
//
// # Waiting and failures
//
// Every call that waits takes a context. The calling goroutine asks the engine again and again, first at once, and after a millisecond with
// short sleeps, so waiting costs little. If the context ends first, the error is of kind [ErrTimeout]. A receive is then cancelled. Other
// operations cannot be, and the engine's memory for them is given up.
//
// The first operation that fails after it has begun makes its communicator refuse all others with an error of the same kind, because ranks may no longer
// agree on which messages belong together. [Comm.Err] returns that first error. The elements of buffers that a failed operation was to write are lost:
// every access that reads one of them fails with an error that has the operation's as its cause, until they are written anew or reset.
// Slices of Go's are as they were. Arguments that are refused change nothing.
//
// Ranks that start different collective operations, or the same with different lengths, get wrong elements or wait for ever, as in MPI. With
// the word comm in HALYARD_DEBUG they are compared first, and all are told with an error of kind [ErrMismatch].
//
// All functions are safe for concurrent use. As in MPI, all ranks start the collective operations of a communicator in the same order,
// so goroutines that do so at the same time need a communicator each ([Comm.Dup]).
package comm
