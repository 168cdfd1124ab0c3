// Package peer makes the calls that Halyard's own are measured beside: the vendor's, through the loader and nothing else,
// or on the host what Go offers. There is no check, no lock and no bookkeeping in between, and streams and
// events are the peer's own.
//
// Memory is given as the vendor's handle: an address, or a cl_mem. That of a hal.Memory serves, so that both sides of a
// measurement work on the same bytes.
package peer
