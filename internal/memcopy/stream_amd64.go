//go:build !race && !msan && !asan

package memcopy

import "unsafe"

// canStream says whether the processor can run streamBlocks. Every processor can run repeatMove.
var canStream = hasAVX()

// hasAVX reports whether the processor and the system have 32-byte vectors.
func hasAVX() bool

// streamBlocks copies blocks of streamBlock bytes. dst is aligned to 32 bytes.
//
//go:noescape
func streamBlocks(dst, src unsafe.Pointer, blocks uint64)

// repeatMove copies n bytes by REP MOVSB. C's memcpy does the same for large ranges, on processors that are fast at it.
//
//go:noescape
func repeatMove(dst, src unsafe.Pointer, n uint64)
