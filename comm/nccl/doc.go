// Package nccl has the collective operations of NCCL, NVIDIA's library for communication between GPUs, on buffers and streams. With AMD's
// devices the library is RCCL, which has the same calls. It is found while the program runs, so the program is built without cgo and
// without headers.
//
//	c, err := nccl.New(ctx, world, dev)            // ranks of an MPI job, or
//	c, err := nccl.Join(ctx, id, rank, size, dev) // ranks to which the program has sent the id of NewID
//	err = nccl.Allreduce(ctx, c, stream, b, b, comm.Sum)
//	err = c.Sync(ctx, stream)
//
// # Stream order
//
// A call puts work on a stream, and returns once the work is there. Until then it holds leases on its buffers for that stream. So the work
// runs after the kernels that compute the data to send, and later uses of the received data wait for it. Nothing is copied to
// the host. [Comm.Sync] waits for the work itself.
//
// All ranks make the same calls on a communicator in the same order. A rank makes one call at a time; other goroutines wait. Every stream
// that is used with a communicator is of the communicator's device. Each rank has a device of its own. (Newer versions of NCCL let ranks
// share a device if NCCL_MULTI_RANK_GPU_ENABLE is 1, which is for tests.)
//
// # Failures
//
// Communicators are not blocking (ncclConfig_t.blocking = 0): every wait has a context. When a rank is lost, or NCCL reports an error, or a
// context ends while an operation is under way, the communicator is aborted (ncclCommAbort). Streams that wait for other ranks then go on,
// all later calls are refused with an error of the same kind, and [Comm.Err] returns the first one. The elements that an aborted operation
// should have written are unspecified, and the buffers do not report that. So a program calls Sync or Err before it uses what it received.
//
// NCCL does not always notice that a rank is lost: between ranks of one machine, which share memory, ncclCommGetAsyncError keeps reporting
// success. Then only the deadline of a context finds it, so give Sync one.
//
// The first operation of a communicator makes NCCL connect the ranks, and waits for them, while its buffers are leased. If ranks may come
// late, let them meet before that operation, for example in comm.Barrier. If a program uses several communicators on one device, all ranks
// must start the operations of all these communicators in one order. Otherwise kernels of two communicators may fill the devices and wait
// for each other for ever.
//
// Errors have the kinds of package comm. Errors of buffers, such as conflicts, are those of package buffer.
//
// # What to know
//
// NVIDIA does not promise that NCCL and an MPI library that accepts device memory can use the same devices at once. Package comm/mpi
// gives MPI host memory only, so the two do not meet.
//
// NCCL has no reductions of 16-bit integers, no bitwise ones, and of complex numbers only sums. The others are refused with
// hal.ErrUnsupported. Elements of every type can be moved.
//
// # Environment
//
//	HALYARD_NCCL_LIBRARY  the library to load, instead of libnccl.so.2 or librccl.so.1
//
// The library also reads NCCL's own variables. The most useful are NCCL_DEBUG=INFO and NCCL_SOCKET_IFNAME.
package nccl
