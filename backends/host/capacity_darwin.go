package host

import (
	"syscall"

	"github.com/go-halyard/halyard/internal/pages"
)

func adviseHuge([]byte) {}

// lockLimit returns false: the limit is not known.
func lockLimit() (uint64, bool) { return 0, false }

// memoryNow returns the total bytes of memory; how much is free is not known.
func memoryNow() (free, total uint64, ok bool) { return 0, pages.Memory(), false }

// processorName returns the kernel's name of the processor, or "".
func processorName() string {
	name, err := syscall.Sysctl("machdep.cpu.brand_string")
	if err != nil {
		return ""
	}
	return name
}
