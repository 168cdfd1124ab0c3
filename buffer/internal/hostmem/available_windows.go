package hostmem

import "github.com/go-halyard/halyard/internal/pages"

// available reports whether the system can allocate n bytes of memory now. Windows commits no more memory than it has, so n is compared
// with the memory that it can still commit. Possible growth of the page file is not counted. If the call fails, available returns true.
func available(n uint64) bool {
	s, ok := pages.Memory()
	return !ok || n <= min(s.AvailCommit, s.AvailVirtual)
}
