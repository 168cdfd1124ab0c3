// Package memcopy copies and fills large ranges of host memory as fast as the machine allows.
//
// What is fastest differs between machines and sizes. One core may or may not saturate the memory. From 1 MiB on the Go runtime for amd64
// writes around the caches (the large branch of runtime/memmove_amd64.s): on some machines that is half as fast as the same bytes in
// smaller pieces, on others twice as fast once the data is larger than the last cache. A copy that reads one address after the other may
// also wait for memory more than necessary. So on amd64 there are two more ways to copy. One reads eight pages side by side, so that more
// reads are under way at once, and writes around the caches. The other is the instruction by which C's memcpy copies large ranges: Go uses it
// only on some processors, and only where the destination is a multiple of 16 bytes.
//
// A large range is therefore cut into pieces, and each of a few goroutines copies one piece after the other. The way to copy, the length of
// a piece and the number of goroutines together are a plan. The plan is chosen by measuring. The first copies of each size class are the
// trials, so measuring needs no extra copies and no memory, and uses the sizes that the program really copies. Each plan is tried several
// times in a row, and the first time does not count. A part of what a plan costs shows only in the next copy of the same data, which either
// finds the data in the caches or must wait for the memory.
//
// All copies that run at the same time in the process share an allowance of GOMAXPROCS - 1 extra goroutines. These end with the copy that
// they help: an idle process has none. In the steady state nothing here allocates.
//
// Sizes are in bytes. All functions may be called by many goroutines at once.
package memcopy
