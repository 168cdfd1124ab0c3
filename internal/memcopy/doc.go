// Package memcopy copies and fills large ranges of host memory as fast as the
// machine allows.
//
// What is fastest differs between machines and sizes. One core may or may not
// saturate the memory. From 1 MiB on the Go runtime for amd64 writes around the
// caches (the large branch of runtime/memmove_amd64.s): on some machines that is half
// as fast as the same bytes in smaller pieces, on others twice as fast once the data
// outgrows the last cache. One stream of addresses does not keep a core's fetches busy
// either: on amd64 there is also a copy that takes eight pages side by side and writes
// around the caches. So a large range is cut into pieces, which a few goroutines
// take in turn, and the way to copy, the length of a piece and the number of goroutines are measured:
// the first copies of each size class are the trials, so that measuring costs no work
// and no memory of its own, and looks at the sizes that the program really copies.
// [Calibration] tells what came out.
//
// All goroutines of the process that copy at the same time share one allowance of
// GOMAXPROCS - 1 extra goroutines. They end with the copy that they help: an idle
// process owns none. Nothing here allocates in the steady state.
//
// Sizes are in bytes. All functions may be called by many goroutines at once.
package memcopy
