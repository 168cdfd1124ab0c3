// Package slot is how package hal gives package layer access to functions that hal does not export. Package layer imports hal, so hal
// cannot import layer, and stores the value here. Package buffer does the same for package internal/parts.
package slot

import "context"

// Hal has the functions by name. Package hal sets it when it is initialised, and nothing changes it later.
var Hal map[string]any

// How says of a launch what is not the program's: see layer.Launch.
type How struct {
	Check  bool        // the launch makes all checks and then does nothing
	Key    uint64      // by which FailureOf finds its failure
	Failed func(error) // is told if the kernel fails, in place of the stream and its events; nil for none
}

// Buffer is the functions of package buffer for package internal/parts, which describes them. Its types are those of package buffer, which
// this package cannot import.
type Buffer[Want, Leases, Bytes, Mode, Region any] struct {
	Cover   func(ctx context.Context, wants []Want) (Leases, error)
	Of      func(cover Leases, i, lo, hi int, mode Mode) Want
	Sub     func(w Want, lo, hi int, mode Mode) Want
	Under   func(cover Leases, i int, w Want) Want
	InTurn  func(launches [][]Want) (all []Want, which []int, place []Region)
	Key     func(Leases) uint64
	Mark    func(Leases)
	Copied  func(Leases) bool
	Watched func(w Want, attach func(all Bytes, elem uint64) Watcher) (by Watcher, lo, hi, elem uint64)
}

// OfBuffer is a Buffer. Package buffer sets it when it is initialised.
var OfBuffer any

// Watcher is called for accesses of one buffer. Ranges are in bytes. Its methods are called with the buffer locked, so they must not use
// the buffer.
type Watcher interface {
	// Reads is called before an access reads [lo, hi). An error refuses the access, which then changes nothing and fails with that
	// error. It may be called several times for one access.
	Reads(lo, hi uint64) error
	// Writes is called when an access that writes [lo, hi) has begun, and for MarkModified and Reset. Other accesses of the bytes wait
	// until that access has ended.
	Writes(lo, hi uint64)
}
