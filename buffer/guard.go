package buffer

import (
	"os"
	"slices"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/debug"
)

// guardAll says whether every buffer is guarded.
var guardAll = debug.Has("guard")

// WithGuard helps to find two mistakes: using a slice after its access has ended (a slice kept from [Buffer.View] would
// read stale bytes, and writes to it would be lost), and writing to a slice of an access for reading. The host's replica then has pages
// of memory of its own. The program can read them only while an access of the host is open or a copy uses them, and write them only while
// such an access or copy writes. A wrong use ends the program with "unexpected fault address" and its stack. The word guard in
// HALYARD_DEBUG guards every buffer of the process.
//
// A guarded buffer is for tests: devices that share the host's memory get a copy of their own, accesses of the host make
// two system calls, and the addresses of the last thousand host replicas stay reserved after Close, so that a use after Close is
// found too. WithGuard has no effect on memory from [Adopt], [AdoptSlice] or [WithPinnedHost]. It works only on
// Linux; on other systems every use of the host's replica fails with an error of kind ErrUnsupported.
func WithGuard() Option { return func(s *storage) { s.guarded = true } }

// guard is memory for the host's replica that can be made inaccessible. The storage is locked for all of its methods.
type guard struct {
	s        *storage
	pages    []byte
	level    level
	watching bool // settle will be called when work has ended
}

// level says how the memory can be accessed.
type level uint8

const (
	shut level = iota
	readable
	writable
)

// newGuard allocates zeroed pages for n bytes from the system.
func newGuard(s *storage, n uint64) (*guard, error) {
	page := uint64(os.Getpagesize())
	pages, err := mapPages(int((n + page - 1) / page * page))
	if err != nil {
		return nil, guardError(err)
	}
	return &guard{s: s, pages: pages, level: writable}, nil
}

func guardError(err error) error {
	return &hal.Error{Op: "host replica", Device: -1, Kind: guardKind(err), Err: err, Detail: "guarded memory"}
}

func (g *guard) pointer() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(g.pages)) }

// permit makes the host's replica accessible, until settle finds that no access and no work needs it.
func (h *hostReplica) permit(write bool) error {
	g := h.guard
	if g == nil {
		return nil
	}
	want := levelOf(write)
	if g.level < want {
		if err := protect(g.pages, want); err != nil {
			return guardError(err)
		}
		g.level = want
	}
	return nil
}

// watch calls settle when the work, which uses the memory, has ended.
func (g *guard) watch(w *order.Work) {
	if g.watching {
		return
	}
	g.watching = true
	w.OnEnd(func() {
		g.s.mu.Lock()
		defer g.s.mu.Unlock()
		g.watching = false
		if g.s.host.guard == g {
			g.settle()
		}
	})
}

// settleGuard makes guarded memory inaccessible that nothing uses any more.
func (h *hostReplica) settleGuard() {
	if h.guard != nil {
		h.guard.settle()
	}
}

// settle makes the memory as inaccessible as open accesses and unfinished work allow. If the system refuses, the memory stays accessible.
func (g *guard) settle() {
	want := shut
	g.s.find(func(x *access) bool {
		if x.stream == nil {
			want = max(want, levelOf(x.writes))
		}
		return false
	})
	g.s.host.order.Works(func(w *order.Work, writes bool) {
		if done, _ := w.End(); !done {
			want = max(want, levelOf(writes))
			g.watch(w)
		}
	})
	if want < g.level && protect(g.pages, want) == nil {
		g.level = want
	}
}

func levelOf(write bool) level {
	if write {
		return writable
	}
	return readable
}

// retired are the pages of the guards that were dropped last. Their addresses stay reserved.
var retired struct {
	sync.Mutex
	list [][]byte
}

const mostRetired = 1000

// retire frees the memory and keeps the addresses reserved.
func retire(pages []byte) {
	discard(pages)
	retired.Lock()
	defer retired.Unlock()
	if retired.list = append(retired.list, pages); len(retired.list) > mostRetired {
		unmapPages(retired.list[0])
		retired.list = slices.Delete(retired.list, 0, 1)
	}
}
