// Package cudahip is what the CUDA and HIP backends have in common: devices, memory,
// streams and events over a vendor's library whose calls have the same shapes on
// both sides.
//
// A vendor package describes itself with a [Vendor]: the names of its library and of
// its calls, the numbers of its attributes, the meaning of its status codes. The
// calls themselves are an [API]. [Table] is the API of a library that was found while
// the program runs; a vendor embeds it and replaces the calls whose arguments differ,
// or binds them in another way altogether.
//
// Nothing here names a vendor. What only one of them has stays in its own package.
//
// # Threads
//
// Both vendors keep the current context, or device, per OS thread, and a goroutine
// moves between threads. Each call of an API therefore takes the context it is meant
// for and makes it current on the thread that it runs on, in the same section that
// holds the goroutine to the thread. No goroutine needs to lock its thread, and no
// thread is set aside for a device, so a blocking call holds up nobody else.
//
// # Pageable host memory
//
// Both vendors let a copy from or to pageable memory block its caller until the
// stream has come that far. A copy that finds its stream busy is therefore passed
// through page-locked memory of the stream, in pieces that are moved by functions
// which the stream calls on the host, and the caller goes on. On an idle stream, and
// for memory that is page-locked, the vendor's own copy is as good and is used.
package cudahip
