// Package driver is the narrow interface that an engine of package comm implements: a library such as MPI, or ranks within one process.
//
// Programs do not use this package. Package comm checks every argument first, so an engine may rely on the following, for every call
// that it receives:
//
//   - Memory is given as an address and a number of bytes, and is never on Go's heap. It is memory from [Engine.Alloc], page-locked
//     memory of package hal, or device memory if Info.Memory names its kind. It stays valid, and stays where it is, until the request
//     that uses it is done, or for ever if that never happens. An address may be nil only if there are no bytes.
//   - Before a request is done, memory that it reads is not written, and memory that it writes is not accessed at all.
//   - Ranks, roots and tags are in range: 0 <= rank < Size, 0 <= tag <= Info.MaxTag. [AnySource] and [AnyTag] are given only to Irecv and
//     Iprobe.
//   - A request is tested on the engine that made it, by one goroutine at a time, and never used after it is done. A request that package
//     comm has given up may not be tested again.
//   - A communicator is not used after its Free was called, and nothing after the engine's Close.
//   - The ranks of a communicator make its collective calls, Dup, Split, SplitShared and Free included, in the same order, and each rank
//     makes them from one goroutine at a time. The program promises this, and package comm does not compare the calls of ranks. An engine
//     that notices a different order returns [ErrMismatch].
//
// Methods are safe for concurrent use unless a comment says otherwise. If an engine's library is not, the engine takes a lock. No method
// may depend on which OS thread calls it. All sizes and offsets are in bytes, unless a comment says elements.
//
// No method waits for another rank, apart from Dup, Split, SplitShared, Free and Close. All other work is a [Request], which the caller
// tests, so that every wait can end with a context. An engine need not progress outside of Test.
//
// Engines report errors as *[Error], whose Kind is one of the sentinel errors of this package. A call that returns an error has started
// nothing. What goes wrong later is in the [Status] of the request.
package driver
