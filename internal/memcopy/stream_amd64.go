//go:build !race && !msan && !asan

package memcopy

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// canStream says that streamBlocks works here.
var canStream = cpu.X86.HasAVX

// streamBlocks copies blocks of streamBlock bytes. dst is aligned to 32 bytes.
//
//go:noescape
func streamBlocks(dst, src unsafe.Pointer, blocks uint64)
