// Package peer makes the calls with which Halyard's calls are compared: a vendor's calls through the loader alone,
// or on the host what Go itself offers. There are no checks, locks or bookkeeping in between, and the peer makes its own
// streams and events.
//
// Memory is passed as the vendor's handle: an address, or a cl_mem. The handle of a hal.Memory can be used, so that both
// sides of a measurement work on the same bytes.
package peer
