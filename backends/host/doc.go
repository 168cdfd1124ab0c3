// Package host is the backend that is always linked: devices whose memory is memory of
// this process and whose streams run on its processors.
//
// Importing the package registers a backend named "host". Its device 0 is unified: it works on host memory in place, all three kinds of
// memory are visible to the host, and nothing ever needs to be copied to it. The environment variable HALYARD_HOST_DEVICES, a number up to
// 62, adds that many discrete devices, numbered from
// 1. Their KindDevice memory has no host address, as on most graphics cards, and is
// a separate allocation, so that a missing copy shows as wrong bytes. A program for several devices can thus be written and tested on any
// machine. Discrete devices are reported as simulated. [New] makes further backends, for tests.
//
// # Streams
//
// A stream is a queue that one goroutine at a time works through, in order. The goroutine exists only while there is work to do: an idle
// stream, one behind a shut gate and one that waits for another stream have none. Copies and fills of up to 32 KiB on an idle stream are
// done at once on the caller's goroutine, which is cheaper than starting another one and has the same effect. A launch that takes some
// microseconds is done there too, if the kernel's work is bounded (driver.Function.Steps). Larger copies, and launches of several blocks,
// use several processors; the goroutines of a launch look for the next one for 10 us before they end. Enqueueing allocates nothing once the
// queue has grown to its final size.
//
// An event is a stream and a sequence number, so recording one costs no work in the
// queue, unless it asks for a time stamp. Time stamps are the host's monotonic clock.
//
// # Memory
//
// Memory of less than 256 KiB comes from the Go heap; other memory and all of KindHost is mapped from the operating system and given back
// by Free. From 4 MiB on it is aligned to 2 MiB and asks for huge pages where the system has them. On discrete devices KindHost memory and
// registered memory are page-locked as far as the limit of the process (on Linux RLIMIT_MEMLOCK) allows; beyond that they work the same but
// may be swapped. Info.Driver names the limit if it is known; PageLocked, a method of the memory, reports whether one allocation is
// page-locked. New memory is filled with the byte 0xA5, so that code which expects zeros in new memory fails soon. On the unified device
// nothing is page-locked, and an allocation of more than 8 MiB is filled only in its first and last MiB: the system provides the other pages
// when they are first used.
//
// If memory runs out, Alloc returns ErrOutOfMemory, even where Go's own allocator would end the process. For that, large requests on Linux
// and Windows are compared with the memory that the system and, on Linux, the control group report as available.
//
// All devices of all backends made by this package can wait for one another's events and copy from one another's memory.
package host
