//go:build !race && !msan && !asan

package memcopy

import "unsafe"

// canStream says whether the processor can run streamBlocks.
var canStream = hasAVX()

// hasAVX reports whether the processor and the system have 32-byte vectors.
func hasAVX() bool

// streamBlocks copies blocks of streamBlock bytes. dst is aligned to 32 bytes.
//
//go:noescape
func streamBlocks(dst, src unsafe.Pointer, blocks uint64)
