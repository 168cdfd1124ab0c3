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
// On both vendors a copy from or to pageable memory may block its caller until the
// stream reaches the copy. On a busy stream such a copy is therefore staged through
// page-locked memory of the stream: functions that the stream calls on the host move
// the pieces, and the caller does not wait. On an idle stream, and for page-locked
// memory, the vendor's own copy does not block and is used.
package cudahip
