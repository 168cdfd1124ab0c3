//go:build opencl

package opencl

import (
	"sync"
	"time"
)

// lateFrees frees memory of PoCL some time after the backend has freed it.
//
// PoCL 7.1 lists the addresses of its memory, and an assertion ends the process if an allocation gets an address that is still in the list. It takes
// an address out after it has freed the bytes (clMemFreeINTEL), and only when no command holds the memory, which a thread of PoCL lets go after
// the program can see that the command has ended. No call waits for that thread. So freed memory is kept until the thread must have passed, and no
// allocation runs beside a free.
type lateFrees struct {
	free func(base uintptr) // the driver's call

	mu    sync.Mutex // held during calls that allocate or free
	kept  []lateFree // in the order of their frees
	bytes uint64     // of them
	timer *time.Timer
}

// lateFree is memory that is to be freed.
type lateFree struct {
	base uintptr
	size uint64
	at   time.Time // when the backend freed it
}

// Memory is kept for keepFreed at least, but for what exceeds a number of blocks or bytes. The last block is kept whatever its size.
const (
	keepFreed       = 50 * time.Millisecond
	keepFreedBlocks = 4096
	keepFreedBytes  = 64 << 20
)

// lateFreesOn returns what frees memory on a device in a tier, or nil where memory may be freed at once.
func lateFreesOn(h *hardware, t tier, cl uintptr) *lateFrees {
	switch {
	case h.platformText != pocl || !h.tiers.has(tierUSM) || t == tierBuffer: // older versions have no such list
		return nil
	case t == tierUSM:
		return &lateFrees{free: func(base uintptr) { _ = h.usm.free(cl, base) }} // fails for unknown addresses alone
	}
	return &lateFrees{free: func(base uintptr) { h.t.svmFree(cl, base) }}
}

// allocate makes an allocation by try, which reports whether it succeeded. A failed one is tried again when all freed memory is free.
func (l *lateFrees) allocate(try func() bool) {
	if l == nil {
		try()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !try() && len(l.kept) > 0 {
		l.freeThrough(time.Now())
		try()
	}
}

// put takes memory that is to be freed.
func (l *lateFrees) put(base uintptr, size uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.kept = append(l.kept, lateFree{base, size, now})
	l.bytes += size
	for len(l.kept) > 1 && (len(l.kept) > keepFreedBlocks || l.bytes > keepFreedBytes) {
		l.freeFirst()
	}
	l.freeThrough(now.Add(-keepFreed))
	if l.timer == nil {
		l.timer = time.AfterFunc(keepFreed, l.expire)
	}
}

// expire frees what has been kept long enough, and comes again for the rest.
func (l *lateFrees) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.freeThrough(now.Add(-keepFreed))
	if len(l.kept) == 0 {
		l.timer = nil
		return
	}
	l.timer.Reset(keepFreed - now.Sub(l.kept[0].at))
}

// close frees everything. The context has no memory then.
func (l *lateFrees) close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
	l.freeThrough(time.Now())
}

// freeThrough frees what the backend freed at the time end or before.
func (l *lateFrees) freeThrough(end time.Time) {
	for len(l.kept) > 0 && !l.kept[0].at.After(end) {
		l.freeFirst()
	}
}

func (l *lateFrees) freeFirst() {
	f := l.kept[0]
	l.kept = l.kept[1:]
	l.bytes -= f.size
	l.free(f.base)
}
