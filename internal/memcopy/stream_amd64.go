//go:build !race && !msan && !asan

package memcopy

import "unsafe"

// canStream says that streamBlocks works here.
var canStream = hasAVX()

// hasAVX reports whether the processor and the system have 32-byte vectors.
func hasAVX() bool

// streamBlocks copies blocks of streamBlock bytes. dst is aligned to 32 bytes.
//
//go:noescape
func streamBlocks(dst, src unsafe.Pointer, blocks uint64)
