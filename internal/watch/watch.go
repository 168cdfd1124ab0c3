// Package watch lets packages of this module learn what accesses of a buffer read and write. Package comm/part attaches one by
// parts.Watched. No program needs it, so package buffer does not export it.
package watch

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
