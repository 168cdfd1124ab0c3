// Package mpi is the engine of package comm on an MPI library, which is found while the program runs. One binary, built without cgo,
// works with Open MPI, with MPICH and what shares its ABI (Intel MPI, Cray MPICH, MVAPICH), and with libraries of the standard ABI (MPI 5.0, chapter 20).
//
//	func main() {
//		mpi.Run(func(ctx context.Context, e driver.Engine) error {
//			fmt.Println("rank", e.World().Rank(), "of", e.World().Size())
//			return nil
//		})
//	}
//
// # Leaving
//
// A process of a job must not leave by os.Exit, and main must not return, after [Start]: newer MPICH tells its launcher of a good end in a handler that C's exit
// runs and Go's does not. The launcher then takes the process for crashed and kills the others. [Run] leaves in the right way, and so does [Exit].
// os.Exit(0) in one rank of a job of MPICH's launcher even looks like success: MPI has no means to prevent that.
//
// # Memory
//
// MPI keeps addresses after a call returned. None of it may be in Go's heap, where the collector frees it, or on a stack, which moves. Requests,
// statuses and arrays of counts are in mapped memory here; data is in memory from the engine's Alloc, in page-locked memory, or on a device.
//
// # Environment
//
//	HALYARD_MPI_LIBRARY  the library to load, instead of the usual names
//	HALYARD_MPI_PRELOAD  libraries to load before it, separated by colons (Cray's libmpi_gtl_cuda.so)
//	HALYARD_MPI_THREADS  "serialized": ask for that level of thread support, and take turns
//	HALYARD_MPI_GPU      "1": addresses of devices are given to a library that says it takes them
//
// # Known problems
//
// Open MPI 5.0.11 shortens a small message that a rank sends to itself, if it is longer than the memory for it, and reports no error; C programs see the same. Messages
// between ranks, and long ones, give ErrTruncated.
//
// Open MPI 5.0.11 writes a message of more than some 4 KiB that is longer than the memory for it to the end, behind that memory, and then reports the error;
// C programs see the same. Over shared memory, OMPI_MCA_smsc=^cma in the environment avoids it, and copies long messages twice.
//
// Open MPI's sum of integers of one or two bytes gives the largest value in place of one that does not fit, on processors with AVX (its issue 8045). With Open MPI
// such sums are made by a function of this package, and wrap around as they do elsewhere.
//
// # Tables
//
// The three ABIs give constants different values. tables.go has them side by side. A test compares them with the header files of the libraries, and
// Start compares what it can with the library's answers.
package mpi
