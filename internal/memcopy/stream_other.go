//go:build !amd64 || race || msan || asan

package memcopy

import "unsafe"

// canStream is false where there is no such copy, and where a tool watches memory that
// does not see what assembly reads and writes.
const canStream = false

func streamBlocks(dst, src unsafe.Pointer, blocks uint64) { move(dst, src, blocks*streamBlock) }
