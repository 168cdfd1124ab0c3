// Package driver is the narrow interface that a Halyard backend implements.
//
// Programs do not use this package: they use package hal, whose concrete types
// wrap these interfaces and check every argument first. A backend may therefore
// rely on the following, for every call it receives:
//
//   - No handle is used after its Close or Free has been called, and no Close or
//     Free is called twice. Memory is freed, and streams and events are closed,
//     only once the work that uses them has finished.
//   - Memory, streams and events belong to the device that they are used on, or
//     to another device whose objects that device can use ([Peering]).
//   - Every [Region] lies inside its memory, offset + length does not overflow,
//     and the length is greater than zero. Only the region of an [Arg] may have
//     length zero.
//   - Copies within one memory do not overlap.
//   - A fill pattern is 1, 2, 4 or 8 bytes wide, and the region's offset and
//     length are multiples of that width.
//   - Sizes of memory are greater than zero, because package hal makes memory of
//     0 bytes itself. Those given to Alloc are at most Info.MaxAlloc;
//     alignments are a power of two, at most Info.MaxAlign.
//   - What needs a capability is asked only of a device whose Info.Caps has it.
//   - Functions are not nil, and ranges of host memory do not exceed the address space.
//
// Everything else is the backend's to check. All sizes and offsets are in bytes.
//
// Methods are safe for concurrent use by many goroutines unless a comment says
// otherwise. No method may depend on which OS thread calls it: a backend whose
// vendor keeps the current device or context per thread locks the thread for the
// length of the call. It need not restore the device or context that was current
// before.
//
// A backend reports errors as *[Error], whose Kind is one of the sentinel errors
// of this package, so that errors.Is works across backends.
package driver
