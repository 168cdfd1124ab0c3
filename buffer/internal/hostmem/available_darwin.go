package hostmem

import "github.com/go-halyard/halyard/internal/pages"

// available reports whether n bytes fit into the machine's memory. Unlike on other Unix systems a trial mmap is of no use on macOS,
// because it reserves more addresses than there is memory. If the size of the memory is not known, available returns true.
func available(n uint64) bool {
	total := pages.Memory()
	return total == 0 || n <= total
}
