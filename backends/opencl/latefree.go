//go:build opencl

package opencl

import (
	"slices"
	"sync"
	"time"
)

// lateFrees frees memory of PoCL some time after the backend has freed it.
//
// PoCL 7.1 lists the addresses of its memory, and an assertion ends the process if an allocation gets an address that is still in the
// list. It removes an address from the list after it has freed the bytes (clMemFreeINTEL), and only when no command holds the memory. A
// thread of PoCL ends this hold some time after the program can see that the command has ended, and no call waits for that thread. So
// freed memory is kept until the thread has had time to pass, and no allocation runs beside a free.
type lateFrees struct {
	free func(base uintptr) // the driver's call

	mu    sync.Mutex // held during calls that allocate or free; locked before a context's mu
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

// Memory is kept for keepFreed. It is freed sooner, but not before keepFreedLeast, if an allocation needs it, or if more than a number of
// blocks or bytes are kept. The last block is kept whatever its size.
const (
	keepFreed       = 100 * time.Millisecond
	keepFreedLeast  = 2 * time.Millisecond
	keepFreedBlocks = 256 // PoCL searches its list from one end to the other at each free
	keepFreedBytes  = 64 << 20
)

// lateFreesOn returns the lateFrees for memory of a tier, or nil if that memory may be freed at once. Versions of PoCL without
// unified shared memory and without addresses of buffers have no such list.
func lateFreesOn(h *hardware, t tier, cl uintptr) *lateFrees {
	switch {
	case h.platformText != pocl || !h.tiers.has(tierUSM) && !h.deviceAddress || t == tierBuffer:
		return nil
	case t == tierUSM:
		return &lateFrees{free: func(base uintptr) { _ = h.usm.free(cl, base) }} // fails only for unknown addresses
	}
	return &lateFrees{free: func(base uintptr) { h.t.svmFree(cl, base) }}
}

// allocate makes an allocation by try, which reports whether it succeeded. total is the size of the device's memory, and held how much
// of it is in use once the allocation is made, without kept memory. If kept memory leaves too little for the allocation, it is freed
// first. If the allocation fails, kept memory is freed, and the allocation is tried once more.
func (l *lateFrees) allocate(held, total uint64, try func() bool) {
	if l == nil {
		try()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if total != 0 && held+l.bytes > total {
		l.freeAll()
	}
	if !try() && len(l.kept) > 0 {
		l.freeAll()
		try()
	}
}

// keeps reports whether the memory that begins at base has been freed by the backend and is kept here. l is locked.
func (l *lateFrees) keeps(base uintptr) bool {
	return slices.ContainsFunc(l.kept, func(f lateFree) bool { return f.base == base })
}

// put takes memory that is to be freed.
func (l *lateFrees) put(base uintptr, size uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.freeThrough(now.Add(-keepFreed))
	l.kept = append(l.kept, lateFree{base, size, now})
	l.bytes += size
	for len(l.kept) > 1 && (len(l.kept) > keepFreedBlocks || l.bytes > keepFreedBytes) {
		l.ripen(l.kept[0])
		l.freeFirst()
	}
	if l.timer == nil {
		l.timer = time.AfterFunc(keepFreed, l.expire)
	}
}

// expire frees the memory that has been kept long enough, and sets the timer for the rest.
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

// trim frees what is kept now, once it has been kept long enough.
func (l *lateFrees) trim() {
	if l == nil {
		return
	}
	var last time.Time
	l.mu.Lock()
	if n := len(l.kept); n > 0 {
		last = l.kept[n-1].at
	}
	l.mu.Unlock()
	time.Sleep(time.Until(last.Add(keepFreed)))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.freeThrough(last)
}

// close frees everything. The context has no memory then, and makes none.
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

// freeAll frees everything once the last block has been kept for keepFreedLeast.
func (l *lateFrees) freeAll() {
	if n := len(l.kept); n > 0 {
		l.ripen(l.kept[n-1])
		l.freeThrough(time.Now())
	}
}

// ripen waits until a block has been kept for keepFreedLeast.
func (l *lateFrees) ripen(f lateFree) { time.Sleep(keepFreedLeast - time.Since(f.at)) }

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
