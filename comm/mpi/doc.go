// Package mpi is the engine of package comm on an MPI library, which is found while the program runs. One binary, built without cgo,
// works with Open MPI, with MPICH and libraries that share its ABI (Intel MPI, Cray MPICH, MVAPICH), and with libraries of the standard ABI
// (MPI 5.0, chapter 20).
//
//	func main() {
//		mpi.Run(func(ctx context.Context, e comm.Engine) error {
//			fmt.Println("rank", e.World().Rank(), "of", e.World().Size())
//			return nil
//		})
//	}
//
// # Leaving
//
// After [Start] a process must not call os.Exit, and main must not return. Newer versions of MPICH report a normal end to the launcher in a
// handler that C's exit runs and os.Exit does not. Without that report the launcher takes the process for crashed and kills the others.
// [Run] and [Exit] end the process through C's exit. With MPICH's launcher, a job in which one rank called os.Exit(0) even looks
// successful; MPI has no means to prevent that.
//
// # Memory
//
// MPI may use an address after the call that it was passed to has returned. Addresses must not point into Go's heap, which the collector
// frees, or to a stack, which moves. So requests and statuses are in mapped memory, and data is in memory of the engine's Alloc or in
// page-locked memory.
//
// # Environment
//
//	HALYARD_MPI_LIBRARY  the library to load, instead of the usual names
//	HALYARD_MPI_PRELOAD  libraries to load before it, separated by colons (Cray's libmpi_gtl_cuda.so)
//	HALYARD_MPI_ALONE    "1": each process is a job of one rank, whatever has started it
//	HALYARD_MPI_THREADS  "serialized": ask for that level of thread support, and make one call at a time
//
// # Known problems
//
// If a message of more than about 4 KiB is longer than the memory for it, Open MPI 4 and 5 write all of it, also to the bytes after that
// memory. C programs see the same. So with Open MPI this package chooses the message of each receive itself: it asks for messages
// (MPI_Improbe), and gives MPI the memory only once the length is known (MPI_Imrecv). A message that is too long gives ErrTruncated, and
// changes nothing after the memory. The price is a fraction of a microsecond for each message. In collective operations MPI receives by
// itself: if ranks give one operation different lengths, Open MPI may write beyond the memory of the shorter one, as in C programs. The
// engine of conformance/commtest finds such calls.
//
// If Debian's Open MPI 4.1.4 finds libfabric, long sends may never end. OMPI_MCA_pml=ob1 avoids that.
//
// On processors with AVX, Open MPI's sum of integers of one or two bytes does not wrap around: a sum that does not fit becomes the largest
// value (its issue 8045). So with Open MPI a function of this package computes such sums, which wrap around as they do elsewhere. MPICH
// 4.0.2 compares unsigned integers as if they were signed; Start finds that out, and a function of this package computes Min and Max.
//
// # Tables
//
// The three ABIs give constants different values. tables.go has them side by side. A test compares them with the libraries' header files,
// and Start compares some of them with the library's answers.
package mpi
