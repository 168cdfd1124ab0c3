//go:build !amd64 || race || msan || asan

package memcopy

import "unsafe"

// canStream is false where there is no such copy, and under tools that watch memory, such as the
// race detector, because they do not see which bytes assembly reads and writes.
const canStream = false

func streamBlocks(dst, src unsafe.Pointer, blocks uint64) { move(dst, src, blocks*streamBlock) }

func repeatMove(dst, src unsafe.Pointer, n uint64) { move(dst, src, n) }
