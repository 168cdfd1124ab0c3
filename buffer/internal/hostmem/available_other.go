//go:build !darwin && !windows

package hostmem

import "github.com/go-halyard/halyard/internal/pages"

// available reports whether the system can allocate n bytes of memory. A system without
// mmap cannot be asked: there available returns true.
func available(n uint64) bool {
	if !pages.Maps {
		return true
	}
	b, err := pages.Map(n)
	if err != nil {
		return false
	}
	_ = pages.Unmap(b)
	return true
}
