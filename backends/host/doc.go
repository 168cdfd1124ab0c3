// Package host is the backend that is always there: devices whose memory is memory of
// this process and whose streams run on its processors.
//
// Importing the package registers a backend named "host". Its device 0 is unified: it
// works on host memory in place, all three kinds of memory are visible to the host, and
// nothing ever needs to be copied to it. The environment variable
// HALYARD_HOST_DEVICES, a number up to 62, adds as many discrete devices, numbered from
// 1. Their KindDevice memory has no host address, as on most graphics cards, and is
// a separate allocation indeed: what was not copied is not there. So a program for
// several devices can be written and tested on any machine. Discrete devices are
// reported as simulated. [New] makes further backends, for tests.
//
// # Streams
//
// A stream is a queue that one goroutine at a time works through, in order. The
// goroutine exists only while there is something to do: an idle stream, one behind a
// shut gate and one that waits for another stream own none. Copies and fills of up to
// 32 KiB on a stream that has nothing to do are done at once on the caller's goroutine,
// which is cheaper than handing them over and looks the same. Larger copies
// use several processors, see [Calibration]. Enqueueing allocates nothing once the
// queue has grown to what is needed.
//
// An event is a stream and a sequence number, so recording one costs no work in the
// queue, unless it asks for a time stamp. Time stamps are the host's monotonic clock.
//
// # Memory
//
// Memory of up to 256 KiB comes from the Go heap; larger memory and all of KindHost is
// mapped from the operating system and given back by Free. From 4 MiB on it is aligned
// to 2 MiB and asks for huge pages where the system has them. KindHost
// memory and registered memory are page-locked as far as the limit of the
// process (RLIMIT_MEMLOCK) allows; beyond that they work the same but may be swapped.
// Info.Driver names the limit and PageLocked, a method of the memory, tells
// what became of one allocation. New memory holds the byte 0xA5 throughout
// (on the unified device, beyond 8 MiB, only in its first and last MiB),
// so that code which takes fresh memory for zeros fails soon.
//
// Too little memory is ErrOutOfMemory, also where Go's own allocator would end the
// process: large requests are compared with what the system and the control group
// say is available, where they say so (Linux, Windows).
//
// All devices of all backends made by this package can wait for one another's events
// and copy from one another's memory.
package host
