// Package cudahip contains what the CUDA and HIP backends have in common: devices, memory, streams
// and events over a vendor's library. The calls of both libraries have the same shapes.
//
// A vendor package describes itself with a [Vendor]: the names of its library, the numbers of its
// attributes, the meaning of its status codes. The calls of the library are an [API]. Most of its
// methods are [Calls]: they pass their arguments as they are. The vendor package has the C prototypes of
// these calls in a list, calls.txt, from which the methods are generated. They call functions at the
// addresses that a [Table] holds.
//
// What only one vendor has stays in that vendor's package.
//
// # Files
//
// backend.go loads the library and lists its devices, which describe.go queries; device.go opens one. memory.go
// allocates, and import.go takes over what others allocated. stream.go orders work and says how a
// program learns that work is done, copy.go copies and fills, through staging.go where a vendor's copy would block, and
// gate.go makes work wait for the program. module.go, launch.go, sequence.go and compile.go are about kernels. api.go is the
// interface of the vendors' libraries, table.go calls them by address.
//
// # Threads
//
// Both vendors keep the current context, or device, per OS thread, and a goroutine moves between
// threads. Each call of an API therefore takes its context as an argument. While the goroutine
// cannot leave its thread, the call makes this context current and then calls the library. Callers
// need not lock their threads, and no thread is reserved for a device, so a blocking call blocks
// only its caller.
//
// # Pageable host memory
//
// With both vendors a copy from or to pageable memory may block its caller until the stream reaches
// the copy. On a busy stream such a copy is therefore staged through page-locked memory of the
// stream: host functions in the stream move the pieces, and the caller does not wait. On an idle
// stream, and for page-locked memory, the vendor's own copy does not block; it is used unless
// staging is faster.
package cudahip
