package host

import (
	"os"
	"sync"

	"github.com/go-halyard/halyard/internal/span"
)

// locks is the set of ranges that this process has page-locked. The system does not count
// locks per page, so a page is unlocked only when no other range includes it.
var locks = pageLocks{system: lockPages, undo: unlockPages}

type pageLocks struct {
	system, undo func(span.Range) error // lock and unlock pages

	mu   sync.Mutex
	held cover // of whole pages
}

// wholePages widens a range to whole pages.
func wholePages(from, to uintptr) span.Range {
	mask := uintptr(os.Getpagesize()) - 1
	return addresses(from&^mask, (to+mask)&^mask)
}

// lock locks the pages of a range and reports whether it succeeded.
func (l *pageLocks) lock(from, to uintptr) bool {
	s := wholePages(from, to)
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.Hi < s.Lo {
		return false
	}
	if l.system(s) != nil {
		for _, p := range l.held.free(s) { // the lock may have failed half-way
			_ = l.undo(p)
		}
		return false
	}
	l.held.add(s)
	return true
}

// unlock undoes one lock of the same range. Errors are ignored: pages that are unmapped are not locked any more.
func (l *pageLocks) unlock(from, to uintptr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.held.remove(wholePages(from, to)) {
		_ = l.undo(p)
	}
}
