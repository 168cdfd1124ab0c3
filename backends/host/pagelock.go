package host

import (
	"cmp"
	"os"
	"slices"
	"sync"
)

// locks is the set of ranges that this process has page-locked. The system does not count
// locks per page, so a page is unlocked only when no other range includes it.
var locks = pageLocks{system: lockPages}

type pageLocks struct {
	system func(span) error // locks pages

	mu    sync.Mutex
	spans []span // of whole pages; they may overlap
}

// pages widens a range to whole pages.
func pages(from, to uintptr) span {
	mask := uintptr(os.Getpagesize()) - 1
	return span{from &^ mask, (to + mask) &^ mask}
}

// lock locks the pages of a range and reports whether it succeeded.
func (l *pageLocks) lock(from, to uintptr) bool {
	s := pages(from, to)
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.to < s.from || l.system(s) != nil {
		// A lock may have failed half-way.
		l.release(s)
		return false
	}
	l.spans = append(l.spans, s)
	return true
}

// unlock undoes one lock of the same range.
func (l *pageLocks) unlock(from, to uintptr) {
	s := pages(from, to)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spans = without(l.spans, s)
	l.release(s)
}

// release unlocks the pages of s that no other lock includes. Errors are ignored: pages
// that are unmapped are not locked any more.
func (l *pageLocks) release(s span) {
	for _, p := range l.loose(s) {
		_ = unlockPages(p)
	}
}

// loose returns the pages of s that are in no span of l, in order.
func (l *pageLocks) loose(s span) []span {
	held := slices.Clone(l.spans)
	slices.SortFunc(held, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var loose []span
	for _, h := range held {
		if h.from > s.from && s.from < s.to {
			loose = append(loose, span{s.from, min(h.from, s.to)})
		}
		s.from = max(s.from, min(h.to, s.to))
	}
	if s.from < s.to {
		loose = append(loose, s)
	}
	return loose
}
